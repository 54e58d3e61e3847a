"""The program for devices draws, bit for bit, what the library draws from the same bytes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainveil as cv
from chainveil.device import device_program, sanitizer
from chainveil.mechanism import Stream, reports, sanitize, seeded
from chainveil.noise.base import Noise
from tests.device.feeding import Fed
from tests.mechanism.remembering import STICKY, TRACKING

# A program of its own, without types.
Sanitizer: Any = sanitizer.Sanitizer

CHAIN = cv.MarkovChain.binary(0.0893, 0.1092)
# Points of the long comparison; CHAINVEIL_POINTS=10000000 takes some 25 seconds for each noise.
POINTS = int(os.environ.get("CHAINVEIL_POINTS", "1000000"))
INDEPENDENT = cv.Channel.binary(0.31, 0.27)
CORRELATED = cv.CorrelatedNoise(0.15, 0.4)
FOUR = {"independent": INDEPENDENT, "correlated": CORRELATED, "sticky": STICKY,
        "tracking": TRACKING}  # fmt: skip


def _channel(states: int, outputs: int) -> cv.Channel:
    rows = np.random.default_rng(states).random((states, outputs)) + 0.1
    return cv.Channel(rows / rows.sum(axis=1, keepdims=True))


OTHERS = {
    "independent, one in five": INDEPENDENT.thinned(5),
    "sticky, one in four": STICKY.thinned(4),
    "three states": _channel(3, 3),
    "more reports than states": _channel(2, 5),
    "symbols of two bytes": _channel(11, 9),
    "certain": cv.Channel([[0.0, 1.0], [1.0, 0.0]]),
}


def _held(noise: Noise, gaps: bool = True, length: int | None = None) -> dict[str, Any]:
    """What a program holds of a plan with this noise."""
    realised = noise.on_grid().to_json()
    return {"promise": "", "noise": realised, "length": length, "gaps": gaps, "limits": []}


def _series(noise: Noise, points: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).integers(0, noise.states, points, np.uint8)


def _compare(noise: Noise, points: int) -> None:
    """Every report of a series, against the compiled loops for whole arrays."""
    series = _series(noise, points)
    wanted: Any = reports(series, noise, seeded(7))
    push = Sanitizer(_held(noise), source=Fed(7)).push
    made = (push(state) for state in series.tolist())
    found = np.fromiter((report for report in made if report is not None), np.uint8)
    assert np.array_equal(found, wanted.values)


@pytest.mark.parametrize("noise", (FOUR | OTHERS).values(), ids=(FOUR | OTHERS).keys())
def test_equal_to_the_library(noise: Noise) -> None:
    """8,000 points: some 30 ties, which a byte alone does not decide."""
    _compare(noise, 8000)


@pytest.mark.slow
@pytest.mark.parametrize("noise", FOUR.values(), ids=FOUR.keys())
def test_equal_to_the_library_at_length(noise: Noise) -> None:
    _compare(noise, POINTS)


@pytest.mark.parametrize("noise", (FOUR | OTHERS).values(), ids=(FOUR | OTHERS).keys())
def test_gaps_and_what_is_saved_are_those_of_a_stream(noise: Noise) -> None:
    """Saved and restored at every point, through JSON; gaps anywhere, also first."""
    series = _series(noise, 300).tolist()
    points = [None if n % 7 in (0, 3) else state for n, state in enumerate(series)]
    stream = Stream(noise.on_grid(), seeded(7), missing="keep")
    plan, source = _held(noise), Fed(7)
    device = Sanitizer(plan, "keep", source)
    for point in points:
        assert device.push(point) == stream.push(point)
        saved = device.save()
        assert {**saved, "source": None} == {**stream.save(), "source": None}
        assert device.next_report == stream.next_report
        device = Sanitizer.restore(json.loads(json.dumps(saved)), plan, source)


@pytest.mark.parametrize("noise", FOUR.values(), ids=FOUR.keys())
def test_the_library_goes_on_where_a_device_stopped(noise: Noise) -> None:
    device = Sanitizer(_held(noise))
    for point in (0, 1, 1):
        device.push(point)
    stream = Stream.restore(device.save())
    assert stream.report.for_release
    assert stream.position == 3
    back = Sanitizer.restore({**stream.save(), "source": {"kind": "secure"}}, _held(noise))
    assert back.save() == device.save()


def test_without_a_source_the_operating_system_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(size)

    monkeypatch.setattr("os.urandom", urandom)
    device = Sanitizer(_held(INDEPENDENT))
    # Zero bytes tie, and further zeros are below every chance: the point is flipped.
    assert device.push(0) == 1
    assert asked == [1, 8]


def test_two_sanitizers_differ() -> None:
    """They agree on 400 points with a chance below 2^-200."""
    one, two = (Sanitizer(_held(cv.Channel.binary(0.5, 0.5))) for _ in range(2))
    assert [one.push(0) for _ in range(400)] != [two.push(0) for _ in range(400)]


@pytest.mark.parametrize("wrong", [2, -1, 0.5, "1", float("nan"), None, [0]])
def test_what_is_no_state_is_refused_without_a_word_on_it(wrong: Any) -> None:
    device = Sanitizer(_held(STICKY))
    device.push(1)
    before = device.save()
    with pytest.raises((ValueError, TypeError)) as error:
        device.push(wrong)
    assert str(wrong) not in str(error.value).replace("0 … 1", "")
    assert device.save() == before


def test_limits_of_the_plan_are_kept() -> None:
    with pytest.raises(ValueError, match="calibrate with --gaps"):
        Sanitizer(_held(STICKY, gaps=False), "keep")
    with pytest.raises(ValueError, match="allowed are"):
        Sanitizer(_held(STICKY), "drop")
    device = Sanitizer(_held(STICKY, length=2))
    assert [device.push(0) is None, device.push(1) is None] == [False, False]
    with pytest.raises(ValueError, match="covers 2 points"):
        device.push(1)
    with pytest.raises(ValueError, match="no limits"):
        device.state(61.0)


@given(field=st.sampled_from(sorted({*sanitizer.FIELDS} - {"source"})),
       value=st.sampled_from([None, "keep", -1, 0, 2, 3.5, True, [], [0, 0], [9], {"kind": "x"}]),
       kind=st.sampled_from(sorted(FOUR)))  # fmt: skip
def test_a_state_is_refused_wherever_the_library_refuses_it(
    field: str, value: Any, kind: str
) -> None:
    noise = FOUR[kind].on_grid()
    device = Sanitizer(_held(noise))
    device.push(1)
    changed = {**device.save(), field: value}
    try:
        Stream.restore(changed)
    except cv.ChainveilError:
        with pytest.raises((ValueError, TypeError, KeyError)):
            Sanitizer.restore(changed, _held(noise))


def _exported(tmp_path: Path, plan: cv.NoisePlan, **more: Any) -> str:
    text = device_program(plan, **more)
    (tmp_path / "sanitizer.py").write_text(text, encoding="utf-8")
    return text


@pytest.mark.parametrize("mechanism", sorted(FOUR))
def test_the_program_needs_nothing_else(mechanism: str, tmp_path: Path) -> None:
    plan = replace(cv.calibrate(CHAIN, 4.0), noise=FOUR[mechanism].on_grid())
    text = _exported(tmp_path, plan, limits=(60.0,), labels=("low", "high"), seal="ab" * 32)
    imported = {
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert imported <= set(sys.stdlib_module_names)
    code = (
        "import sys, sanitizer; s = sanitizer.Sanitizer();"
        "print([s.push(s.state(v)) in (0, 1) for v in (59.9, 60.0, 61)], s.position);"
        "print(s.state(59.9), s.state(60), s.plan['noise']['kind'],"
        " {'numpy', 'chainveil'} & set(sys.modules))"
    )
    # Isolated: nothing that is installed can be imported.
    command = [sys.executable, "-S", "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"[True, True, True] 3\n0 1 {mechanism} set()\n"


def test_the_program_says_what_it_promises(tmp_path: Path) -> None:
    plan = replace(cv.calibrate(CHAIN, 4.0), noise=STICKY.on_grid().thinned(3), gaps=True)
    names: dict[str, Any] = {"__name__": "sanitizer"}
    exec(_exported(tmp_path, plan, seal="cd" * 32), names)
    held = names["PLAN"]
    assert held["promise"].startswith("loss at most ")
    assert "Bayesian differential privacy" in held["promise"]
    assert held["gaps"]
    assert held["certificate"] == "cd" * 32
    assert held["noise"] == plan.noise.to_json()
    series = CHAIN.sample(900, rng=3)
    device = names["Sanitizer"](source=Fed(7))
    made = [device.push(int(state)) for state in series]
    wanted = sanitize(series, plan.noise, rng=seeded(7))
    assert made[1::3] == wanted[1::3].tolist()
    assert made.count(None) == 600


class Strange(cv.Channel):
    """Noise that an installed package might bring."""

    kind = "strange"


def test_other_kinds_of_noise_are_refused() -> None:
    plan = cv.calibrate(CHAIN, 4.0)
    other = replace(plan, noise=Strange(plan.noise.to_matrix()))
    with pytest.raises(cv.NotSupported, match="strange noise on a device"):
        device_program(other)
