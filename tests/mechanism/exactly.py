"""What the tables of a sampler realise, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from chainveil.mechanism.thresholds import GRID_BITS, FlipTable, ReportTable


def realised(table: ReportTable | FlipTable) -> list[list[Fraction]]:
    """The probabilities a table realises, row by row, exactly."""
    if isinstance(table, FlipTable):
        unit = 1 << (GRID_BITS - 8)
        pairs = zip(table.high, table.low, strict=True)
        rho = [Fraction(high * unit + low, 1 << 53) for high, low in pairs]
        return [[1 - rho[0], rho[0]], [rho[1], 1 - rho[1]]]
    result = []
    unit = 1 << table.rest
    for last, tied in zip(table.last.tolist(), table.tied.tolist(), strict=True):
        symbols = np.diff([table.reserved - 1, *last, (1 << table.bits) - 1]).tolist()
        edges = [0, *tied, table.reserved * unit]
        ties = [high - low for low, high in pairwise(edges)]
        weights = [whole * unit + tie for whole, tie in zip(symbols, ties, strict=True)]
        result.append([Fraction(weight, 1 << 53) for weight in weights])
    return result
