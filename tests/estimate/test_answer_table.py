"""Answers as frames, in a few lines, and as figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from chainveil import Channel, InvalidInput, MarkovChain, estimate
from chainveil.mechanism import sanitize, seeded

CHAIN, CHANNEL = MarkovChain.binary(0.1, 0.15), Channel.binary(0.1, 0.1)
Z = sanitize(CHAIN.sample(2000, 3, rng=1), CHANNEL, rng=seeded(1))
ASK: dict[str, Any] = {
    "frequency": lambda **how: estimate.frequency(Z, CHANNEL, **how),
    "pairs": lambda **how: estimate.pairs(Z, CHANNEL, **how),
    "transitions": lambda **how: estimate.transitions(Z, CHANNEL, **how),
    "durations": lambda **how: estimate.durations(Z, CHANNEL, **how),
    "autocorrelation": lambda **how: estimate.autocorrelation(Z, CHANNEL, [1, 2, 7], **how),
}
every_question = pytest.mark.parametrize("question", ASK)
LAST = ["estimate", "low", "high", "unit", "points"]


@every_question
@pytest.mark.parametrize("by", [None, "series"])
def test_frames(question: str, by: str | None) -> None:
    found = ASK[question](by=by)
    frame = found.to_frame("pandas", labels=["low", "high"])
    assert frame.columns[-len(LAST) :].tolist() == LAST
    assert ("group" in frame.columns) == (by is not None)
    assert np.all(frame["low"] <= frame["estimate"])
    assert np.all(frame["estimate"] <= frame["high"])
    rows = {"frequency": 2, "durations": 2, "autocorrelation": 3}.get(question, 4)
    assert len(frame) == rows * (3 if by else 1)


def test_kinds() -> None:
    found = ASK["frequency"]()
    assert isinstance(found.to_frame(), pd.DataFrame)
    assert isinstance(found.to_frame("polars"), pl.DataFrame)
    assert isinstance(found.to_frame("arrow"), pa.Table)
    with pytest.raises(InvalidInput, match="kind"):
        found.to_frame("excel")


def test_values_off_the_scale_are_shown_as_what_the_interval_leaves() -> None:
    found = estimate.frequency([0] * 400, Channel.binary(0.3, 0.3))
    assert found.value[1] < 0
    frame = found.to_frame("pandas")
    assert frame["estimate"].tolist() == pytest.approx([1, 0])
    assert frame["low"][1] == 0
    assert 0 < frame["high"][1] < 0.2


@every_question
def test_short_texts(question: str) -> None:
    text = repr(ASK[question](by="series"))
    assert len(text.splitlines()) <= 11
    assert "array" not in text
    assert "3 groups" in text


def test_of_two_states_one_is_told() -> None:
    assert len(repr(ASK["frequency"]()).splitlines()) == 2
    assert "0 -> 1" in repr(ASK["transitions"]())
    assert "0 -> 0" not in repr(ASK["transitions"]())
    assert repr(ASK["autocorrelation"]()).count("lag") == 3


@every_question
@pytest.mark.parametrize("by", [None, "series"])
def test_figures(question: str, by: str | None) -> None:
    figure = ASK[question](by=by).plot(["low", "high"], title="Shares")
    assert figure.axes[0].get_title() == "Shares"
