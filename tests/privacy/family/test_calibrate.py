"""Noise for a family keeps the budget for each member."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import (
    Channel,
    MarkovChain,
    ModelFamily,
    NotSupported,
    UnreachableBudget,
    calibrate,
    privacy_loss,
)
from chainveil.model.base import DataModel
from tests.oracle.enumeration import enumerated_loss
from tests.privacy.family.families import box, family, inside, second_order


def _keeps(models: ModelFamily, epsilon: float, **asked: Any) -> float:
    """The share of wrong reports, having checked each member."""
    plan = calibrate(models, epsilon, **asked)
    assert plan.loss.epsilon <= epsilon
    assert plan.family == models
    keys = {"length", "adversary", "event", "gaps"} & set(asked)
    releases = [*asked.get("spent", ()), plan.noise]
    for member in models.members:
        found = privacy_loss(member, releases, **{key: asked[key] for key in keys}, tolerance=1e-3)
        assert found.lower <= plan.loss.epsilon
    return plan.expected_flips
