"""Tables with columns that give the states away, and columns that do not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chainveil import MarkovChain

HONEST = ("constant", "random", "clock")
LEAKS = ("copy", "noisy", "beats")


def planted(
    seed: int, series: int = 4, points: int = 1000, chain: MarkovChain | None = None
) -> pa.Table:
    """Series of states ``x`` with a copy, one that is right in 80%, and honest columns."""
    rng = np.random.default_rng(seed)
    chain = MarkovChain.binary(0.0893, 0.1092) if chain is None else chain
    x = np.asarray(chain.sample(points, series, rng=seed)).reshape(-1).astype(np.int64)
    rows = len(x)
    return pa.table({
        "series": np.repeat(np.arange(series), points),
        "x": x,
        "constant": np.ones(rows, np.int64),
        "random": rng.normal(size=rows).round(2),
        "clock": np.tile(np.arange(points) * 60, series),
        "copy": x,
        "noisy": np.where(rng.random(rows) < 0.8, x, 1 - x),
    })  # fmt: skip


def beats(table: pa.Table, seed: int = 0) -> pa.Table:
    """The table with the time of each beat, whose differences are the rates."""
    rng = np.random.default_rng(seed)
    x = table["x"].to_numpy()
    rates = np.where(x == 1, 62 + rng.gamma(2, 2, len(x)), 60 - rng.gamma(2, 2, len(x)))
    return table.append_column("beats", pa.array(np.cumsum(60 / rates).round(3)))
