"""The law of every output of a short series, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.attack.outputs import Outputs, meet
from chainveil.checks import FloatArray
from chainveil.noise.base import Noise


def output_law(model: Any, noise: Noise, points: int, target: int, value: int) -> FloatArray:
    """``Pr[z | X_target = value]`` for every z of ``points`` points, shape (outputs ** reports,).

    ``z`` is read as a number, its first report first.
    """
    outputs = Outputs.of(model, noise, points)
    pinned = np.asarray(model.hidden_chain()[2] == value, dtype=float)
    law = meet(outputs.before(target)[-1], outputs.after(target)[0], pinned)
    return np.asarray(law / law.sum())
