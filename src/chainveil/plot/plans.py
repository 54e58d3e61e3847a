"""What the noise of a plan does, on a series that is drawn from its chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chainveil import checks
from chainveil.inference import smoothed
from chainveil.mechanism import seeded
from chainveil.plan import NoisePlan
from chainveil.plot.release_figure import release_figure
from chainveil.privacy.rounding import exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plan_figure(plan: NoisePlan, points: int = 240, seed: int = 0) -> Figure:
    """Draw a simulated series, its release by a plan, and what the release says about it.

    Parameters
    ----------
    plan : NoisePlan
        Of a region the likeliest chain is drawn from.
    points : int
        Length of the series; no longer than the plan is for.
    seed : int
        Of the series and of the noise: nothing here is private, and nothing is for release.
    """
    points = checks.whole("points", points, 1)
    limit = plan.loss.length
    x = plan.chain.sample(points if limit is None else min(points, limit), rng=seed)
    z = plan.sanitize(x, rng=seeded(seed))
    chances = smoothed(plan.chain, plan.noise, z)
    title = f"A simulated series under {plan.mechanism} noise, ε = {exact(plan.epsilon)}"
    return release_figure(x, z, chances[:, 1] if plan.chain.states == 2 else None, title)
