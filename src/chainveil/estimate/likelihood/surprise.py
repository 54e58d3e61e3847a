"""How sure a chain is of each point from other reports, less what the point's own report says.

Under the chain the weights phi of a report (``estimate.counts``) have the mean p(a) for every state
a, given the other reports, where p is what these make of the point: all others under noise that
looks at its own point alone, those before it under noise that looks back at the last report. A
chain that does not fit is surer than it is right: ``phi(a) - p(a)`` at its likeliest state a is
then below zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import inference
from chainveil.checks import FloatArray
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.last_report import look_back
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.report_weights import report_weights
from chainveil.model.chain import MarkovChain


def surprise(cells: Cells, noise: NoiseLaw, chain: MarkovChain) -> FloatArray | None:
    """The mean of ``phi(a) - p(a)`` at the likeliest state of each point, a number a group.

    None where reports do not tell a point apart from others. Groups are of one size.
    """
    alone = noise.looks_back or not noise.source.ordered
    if not alone or not noise.from_counts or np.any(reports_after(noise)[0] <= 0):
        return None
    kernels, weights = reports_after(noise)
    code, there = codes(cells, noise)
    post = inference.filtered if noise.looks_back else inference.smoothed
    belief = _flat(post(chain, noise.source, _series(cells)), noise.states)
    code = np.maximum(code, 0)
    # A row for each last report and own one.
    without = (1 / kernels).transpose(0, 2, 1).reshape(-1, noise.states)
    # State by state in rows: there are few of them, and many points.
    others = np.ascontiguousarray(belief.T) * np.ascontiguousarray(without.T)[:, code]
    likeliest = np.argmax(others, axis=0)
    sure = others.max(axis=0) / others.sum(axis=0)
    apart = weights.reshape(-1, noise.states)[code, likeliest] - sure
    apart = np.where(there, apart, 0.0).reshape(cells.groups, -1)
    return np.asarray(apart.sum(axis=1) / there.reshape(cells.groups, -1).sum(axis=1))


def reports_after(noise: NoiseLaw) -> tuple[FloatArray, FloatArray]:
    """``K(z' | z, x)`` and the weights of z' after z, (last, k, m) and (last, m, k).

    There is one last report where reports do not look back.
    """
    if noise.looks_back:
        kernels = np.asarray(noise.source.step_law()[:, 0])
        return kernels, report_weights(noise.source).reshape(-1, noise.outputs, noise.states)
    return noise.joint((0,))[None], noise.inverse((0,))[None]


def codes(cells: Cells, noise: NoiseLaw) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Last report and own one of each point as one number, and which points have both."""
    if noise.looks_back:
        code = look_back(cells, noise)
        return code, code >= 0
    there = ~cells.gaps if len(cells.gaps) else np.ones(cells.size, np.bool_)
    return cells.symbols.astype(np.int64), there


def _series(cells: Cells) -> Any:
    """The release as inference reads it."""
    flat: Any = np.ma.MaskedArray(cells.symbols, cells.gaps) if len(cells.gaps) else cells.symbols
    if len(cells.owner) == cells.groups and cells.size > cells.groups:
        return flat.reshape(cells.groups, -1)
    return np.split(flat, cells.borders[1:-1])


def _flat(chances: Any, states: int) -> FloatArray:
    parts = chances if isinstance(chances, list) else [chances]
    return np.concatenate([np.asarray(part).reshape(-1, states) for part in parts])
