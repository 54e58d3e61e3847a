"""Small tables with awkward columns, for every test of tables."""

from __future__ import annotations

import datetime as dt
from dataclasses import fields
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from chainveil import MarkovChain
from chainveil.table.request.kept import Kept
from chainveil.table.request.request import Layout, Promise, Request, StateRules

CHAIN = MarkovChain.binary(0.0893, 0.1092)
SERIES, POINTS = 6, 40
ROWS = SERIES * POINTS


def states() -> Any:
    """States of all series, one after the other."""
    return CHAIN.sample(POINTS, SERIES, rng=5).reshape(-1)


def awkward() -> pa.Table:
    """Long form, with columns that are easily damaged on the way."""
    rows = range(ROWS)
    start = dt.datetime(2026, 3, 29, tzinfo=dt.UTC)
    times = [start + dt.timedelta(minutes=i % POINTS) for i in rows]
    return pa.table(
        {
            "person": pa.array([f"p{i // POINTS}" for i in rows]),
            "time": pa.array(times, pa.timestamp("us", "Europe/Vienna")),
            "bpm": pa.array(50.0 + 20.0 * states()),
            "amount": pa.array([Decimal(i) / 100 for i in rows], pa.decimal128(12, 2)),
            "maybe": pa.array([None if i % 3 else i for i in rows], pa.int16()),
            "kind": pa.array([("b", "a", None)[i % 3] for i in rows]).dictionary_encode(),
            "nested": pa.array([[i, None] if i % 2 else None for i in rows]),
            "word": pa.array(['say "hi", you', "two\nlines", "", "ünï"] * (ROWS // 4)),
            "flag": pa.array([i % 2 == 0 for i in rows]),
        }
    )


# Everything else that the two tables hold; lists cannot be tested for what they say.
KEEP_AWKWARD = Kept(
    ("time", "amount", "maybe", "kind", "nested", "word", "flag"), allow_leak=("nested",)
)
KEEP_FLAT = Kept(("word", "flag", "minute"))


def flat() -> pa.Table:
    """The columns that a text file can hold without loss."""
    plain = awkward().select(["person", "bpm", "word", "flag"])
    words = pa.array(['say "hi", you', '5" of rain', "", "ünï"] * (ROWS // 4))
    plain = plain.set_column(2, "word", words)
    return plain.append_column("minute", pa.array(np.arange(ROWS) % POINTS))


def asked(layout: Layout, **how: Any) -> Request:
    """A request in the words of ``sanitize_table``, each given to the noun that knows it."""
    nouns = [
        kind(**{part.name: how.pop(part.name) for part in fields(kind) if part.name in how})
        for kind in (StateRules, Promise)
    ]
    return Request(layout, *nouns, **how)  # type: ignore[arg-type]
