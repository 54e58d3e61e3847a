"""Bad questions get an error from the one tree that names argument, value and way out."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import chainveil as cv

CHAIN, CHANNEL = cv.MarkovChain.binary(0.1, 0.2), cv.Channel.binary(0.3, 0.2)
THREE = cv.MarkovChain(np.full((3, 3), 1 / 3))


@pytest.mark.parametrize("epsilon", [0, -1, np.inf, -np.inf, np.nan, "1", None, True, 701, [1, -1]])
def test_budgets(epsilon: Any) -> None:
    with pytest.raises(cv.InvalidInput, match="epsilon: found"):
        cv.calibrate(CHAIN, epsilon)


@pytest.mark.parametrize("length", [0, -3, 2.5, "10", np.nan, np.inf, True])
def test_lengths(length: Any) -> None:
    with pytest.raises(cv.InvalidInput, match="length: found"):
        cv.privacy_loss(CHAIN, CHANNEL, length=length)
    with pytest.raises(cv.InvalidInput, match="length: found"):
        cv.calibrate(CHAIN, 1.0, max_length=length)


@pytest.mark.parametrize("adversary", ["all", "", None, 3, ("any",)])
def test_adversaries(adversary: Any) -> None:
    with pytest.raises(cv.InvalidInput, match='adversary: found .*"informed"'):
        cv.privacy_loss(CHAIN, CHANNEL, length=5, adversary=adversary)
    with pytest.raises(cv.InvalidInput, match="adversary: found"):
        cv.calibrate(CHAIN, 1.0, max_length=5, adversary=adversary)


def test_named_adversaries() -> None:
    with pytest.raises(cv.InvalidInput, match="target: found 5.*0 … 4"):
        cv.privacy_loss(CHAIN, CHANNEL, length=5, adversary=cv.Adversary(5))
    with pytest.raises(cv.InvalidInput, match="known: found 7.*0 … 4"):
        cv.privacy_loss(CHAIN, CHANNEL, length=5, adversary=cv.Adversary(1, {7}))
    with pytest.raises(cv.InvalidInput, match="known.*other than the target 2"):
        cv.Adversary(2, {1, 2})
    for target in (-1, 1.5, "x"):
        with pytest.raises(cv.InvalidInput, match="target: found"):
            cv.Adversary(target)  # type: ignore[arg-type]
    for known in ({-1}, {0.5}, 3, "12"):
        with pytest.raises(cv.InvalidInput, match="known: found"):
            cv.Adversary(2, known)  # type: ignore[arg-type]


def test_wrong_kinds() -> None:
    with pytest.raises(cv.InvalidInput, match="model: found"):
        cv.privacy_loss([[0.9, 0.1], [0.1, 0.9]], CHANNEL)  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="noise: found"):
        cv.privacy_loss(CHAIN, 0.1)  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="model: found"):
        cv.calibrate(0.1, 1.0)  # type: ignore[call-overload]
    with pytest.raises(cv.InvalidInput, match="noise: found 2 states"):
        cv.privacy_loss(THREE, CHANNEL)


def test_objectives_and_limits() -> None:
    with pytest.raises(cv.InvalidInput, match='objective.*"wrong-reports" or "share"'):
        cv.calibrate(CHAIN, 1.0, objective="least")  # type: ignore[call-overload]
    for unit in (0, -1, 1.5, "two", np.nan):
        with pytest.raises(cv.InvalidInput, match="unit: found"):
            cv.calibrate(CHAIN, 1.0, unit=unit)  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="unit: found 3"):
        cv.privacy_loss(CHAIN, CHANNEL, unit=3, length=2)


def test_errors_travel_and_share_one_root() -> None:
    for error in (
        cv.InvalidInput("q", 2, "a probability", "Try less."),
        cv.MissingExtra("torch", "lstm", "the LSTM attack"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert str(copy) == str(error)
    for kind in (cv.InvalidInput, cv.MissingExtra, cv.NotSupported, cv.UnreachableBudget):
        assert issubclass(kind, cv.ChainveilError)
    assert "pip install 'chainveil[lstm]'" in str(cv.MissingExtra("torch", "lstm", "the attack"))
