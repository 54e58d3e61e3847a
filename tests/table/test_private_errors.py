"""Errors say where and what kind of problem; no value of the data is in them."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.attack.simulation import sample_given
from chainveil.mechanism import Stream, sanitize
from chainveil.table.files import file_sink
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.request import Layout
from tests.table.samples import CHAIN, asked

SECRET = "SECRET72"
# A number that stands in no message of its own accord.
NUMBER = 72913


def _told(error: BaseException) -> str:
    """Whatever of an error could reach a screen or a log."""
    parts = [str(error), repr(error), "".join(traceback.format_exception(error))]
    if isinstance(error, cv.InvalidInput):
        parts += [
            repr(error.found),
            repr(error.args),
            repr(pickle.loads(pickle.dumps(error)).found),
        ]
    return "\n".join(parts)


def _fails(work: Callable[[], Any]) -> str:
    with pytest.raises(cv.ChainveilError) as caught:
        work()
    # Lines of the source are no values; the tests name theirs in them.
    return "\n".join(line for line in _told(caught.value).splitlines() if "SECRET}" not in line)


def _release(path: Path, goal: str, **more: Any) -> Callable[[], Any]:
    how: dict[str, Any] = {"threshold": 60.0, "epsilon": 1.0, "chain": CHAIN}
    layout = Layout("bpm", "person", **{k: more.pop(k) for k in ("time", "step") if k in more})
    table = open_source(path, text=goal.endswith(("csv", "txt", "tsv")))
    where = file_sink(str(path.parent / goal), table, None, False)
    return lambda: release_table(table, where, asked(layout, **{**how, **more}))


FILES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a word for a number": (f"p,1,55,x\np,2,{SECRET},x\n", "r.csv", {}),
    "a word for a state": (f"p,1,55,x\np,2,{SECRET},x\n", "r.csv",
                           {"threshold": None, "states": ["55", "56"]}),
    "a number for a state": (f"p,1,55,x\np,2,{NUMBER},x\n", "r.parquet",
                             {"threshold": None, "states": ["55", "56"]}),
    "a line with a cell too few": (f"p,1,55,x\n{SECRET},{SECRET},{SECRET}\n", "r.csv", {}),
    "a line with a cell too many": (f"p,1,55,x\n{SECRET},1,2,3,4\n", "r.parquet", {}),
    "a cell of another type": ("p,1,55,x\n" * 9 + f"p,2,{SECRET},x\n", "r.parquet", {}),
    "a broken quote": (f'p,1,55,"{SECRET}\np,2,56,x\n', "r.csv", {}),
    "text after a quote": (f'p,1,55,"{SECRET}"{SECRET}\np,2,56,x\n', "r.csv", {}),
    "a word for a time": (f"p,1,55,x\np,{SECRET},56,x\n", "r.csv", {"time": "time"}),
    "a long step": (f"p,1,55,x\np,{NUMBER},56,x\n", "r.csv", {"time": "time", "step": 1.0}),
    "a short step": (f"p,0,55,x\np,0.{NUMBER},56,x\n", "r.csv", {"time": "time", "step": 1.0}),
    "a step back": (f"p,{NUMBER},55,x\np,2,56,x\n", "r.csv", {"time": "time"}),
    "no text": (f"p,1,55,x\np,2,{SECRET}\udcff,x\n", "r.csv", {}),
    "a cell with a blank": (f"p,1,55,x\n{SECRET} {SECRET},2,56,x\n", "r.txt", {}),
    "a cell with a tab": (f"p,1,55,x\n{SECRET}\t{SECRET},2,56,x\n", "r.tsv", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FILES))
def test_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Types are taken from the first rows alone.
    monkeypatch.setattr("chainveil.table.read.reading.BLOCK_BYTES", 32)
    content, goal, more = FILES[name]
    path = tmp_path / "a.csv"
    path.write_bytes(f"person,time,bpm,note\n{content}".encode(errors="surrogateescape"))
    told = _fails(_release(path, goal, **more))
    assert SECRET not in told
    assert str(NUMBER) not in told
    assert "row" in told or "line" in told
    assert list(tmp_path.iterdir()) == [path]


def test_a_first_row_is_not_taken_for_names(tmp_path: Path) -> None:
    rows = [f"{NUMBER},55\n3,56\n", f"{NUMBER},{NUMBER}\n3,56\n", f"55;{SECRET}\n56;a\n"]
    for content in rows:
        (tmp_path / "a.csv").write_text(content)
        told = _fails(lambda: Layout("bpm").check(open_source(tmp_path / "a.csv")))
        assert "--no-header" in told
        assert str(NUMBER) not in told
        assert SECRET not in told


def test_typed_files(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    column = pa.array(["55", SECRET])
    pq.write_table(pa.table({"person": ["p", "p"], "bpm": column}), path)
    assert SECRET not in _fails(_release(path, "r.parquet"))
    states = {"threshold": None, "states": ["55", "56"]}
    assert SECRET not in _fails(_release(path, "r.parquet", **states))
    coded = pa.table({"person": ["p", "p"], "bpm": column.dictionary_encode()})
    pq.write_table(coded, path)
    assert SECRET not in _fails(_release(path, "r.parquet", **states))


ARRAYS: dict[str, Callable[[], Any]] = {
    "sanitize": lambda: sanitize(np.array([0, NUMBER]), cv.Channel.binary(0.3, 0.3)),
    "sanitize, below": lambda: sanitize(np.array([0, -NUMBER]), cv.Channel.binary(0.3, 0.3)),
    "sanitize, fractions": lambda: sanitize([0, NUMBER + 0.5], cv.Channel.binary(0.3, 0.3)),
    "sanitize, no array": lambda: sanitize([[[0, NUMBER], [1]]], cv.Channel.binary(0.3, 0.3)),
    "sanitize, words": lambda: sanitize([SECRET], cv.Channel.binary(0.3, 0.3)),
    "a stream": lambda: Stream(cv.Channel.binary(0.3, 0.3)).push(NUMBER),
    "a stream of words": lambda: Stream(cv.Channel.binary(0.3, 0.3)).push([SECRET]),
    "a saved stream": lambda: Stream.restore({"format": SECRET}),
    "fit": lambda: cv.MarkovChain.fit([0, 1, -NUMBER]),
    "fit, fractions": lambda: cv.MarkovChain.fit([0, 1, NUMBER + 0.5]),
    "known points": lambda: cv.inference.smoothed(
        CHAIN, cv.Channel.binary(0.3, 0.3), [0, 1], {0: NUMBER}
    ),
    "known points together": lambda: sample_given(
        cv.MarkovChain.binary(1.0, 1.0), {0: 1, 1: 1}, 2, 1
    ),
    "a frame": lambda: cv.sanitize_table(
        pa.table({"x": [SECRET, "1"]}), "x", 1.0, threshold=1, chain=CHAIN
    ),
    "a frame of states": lambda: cv.sanitize_table(
        pa.table({"x": [NUMBER, 1]}), "x", 1.0, states=[0, 1], chain=CHAIN
    ),
    "a frame of numbers and words": lambda: cv.sanitize_table(
        pd.DataFrame({"x": [NUMBER, SECRET]}), "x", 1.0, threshold=1, chain=CHAIN
    ),
    "a frame of huge numbers": lambda: cv.sanitize_table(
        pd.DataFrame({"x": [NUMBER, 10**30]}), "x", 1.0, threshold=1, chain=CHAIN
    ),
    "a frame of lone surrogates": lambda: cv.sanitize_table(
        pd.DataFrame({"x": pd.Series(["1", "\ud800" + SECRET], dtype=object)}),
        "x",
        1.0,
        threshold=1,
        chain=CHAIN,
    ),
    "an infinite number": lambda: cv.sanitize_table(
        pa.table({"x": [NUMBER, float("-inf")]}), "x", 1.0, threshold=1, chain=CHAIN
    ),
}


@pytest.mark.parametrize("name", list(ARRAYS))
def test_arrays_and_frames(name: str) -> None:
    with pytest.raises(cv.ChainveilError) as caught:
        ARRAYS[name]()
    error = caught.value
    told = [str(error), repr(error), repr(getattr(error, "found", ""))]
    # No exception that came before it is shown with it, either.
    shown = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    told.append(repr(shown))
    assert SECRET not in "\n".join(told)
    assert str(NUMBER) not in "\n".join(told)
    assert "{0: 1, 1: 1}" not in "\n".join(told)
