"""What other noise would do, where none was named, and what a plan protects, in lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# The slowest chain, by q + r, for which the searches below take about a second each.
SLOWEST = 0.02
GUESSES = (
    "the reports tell next to nothing: repeating the commonest state would be wrong no more often. "
    "A larger budget, or --objective share, tells more"
)


@dataclass(frozen=True)
class Instead:
    """Shares of wrong reports of other noise for the same budget; None: too slow to look for."""

    shares: dict[str, float] | None

    @property
    def facts(self) -> Any:
        """For machines."""
        return self.shares

    def __str__(self) -> str:
        if self.shares is None:
            return "--every auto and --mechanism tracking may do better; looking would take long"
        words = [f"{name}: {share:.4%} changed points" for name, share in self.shares.items()]
        return "; ".join(words)


def instead(plan: Any) -> Instead | None:
    """What rare reports and tracking noise would give in place of the usual noise of a plan."""
    if not plan.noise.holds or plan.noise.every > 1 or plan.noise.sees != "last report":
        return None
    chain = plan.chain
    if chain.order != 1:
        return None
    slow = float(chain.transition[0, 1] + chain.transition[1, 0]) < SLOWEST
    usual = plan.loss.length is None and plan.unit == "point" and not plan.earlier
    if slow or not usual or plan.objective != "wrong-reports" or plan.loss.adversary != "any":
        return Instead(None)
    return _looked_for(chain, plan.epsilon, plan.gaps)


@lru_cache(maxsize=64)
def _looked_for(chain: Any, epsilon: float, gaps: bool) -> Instead:
    from chainveil.calibration import calibrate

    rare = calibrate(chain, epsilon, mechanism="sticky", every="auto", gaps=gaps)
    tracking = calibrate(chain, epsilon, mechanism="tracking", gaps=gaps)
    often = f"--every auto (one point in {rare.noise.every})"
    return Instead({often: rare.expected_flips, "--mechanism tracking": tracking.expected_flips})


def guesses(plan: Any) -> bool:
    """Whether a search for few wrong reports has ended at hardly any report but the commonest."""
    from chainveil.calibration import only_guesses

    searched = plan.noise.holds or plan.noise.every > 1 or plan.unit != "point"
    return bool(searched and plan.objective == "wrong-reports" and only_guesses(plan))


def tells_nothing(certificate: Any) -> bool:
    """:func:`guesses`, of a release."""
    from chainveil.calibration import LITTLE
    from chainveil.model.chain import MarkovChain
    from chainveil.noise.base import noise_class

    often = certificate["noise.every"] == 1 and certificate["promise.unit"] == "point"
    searched = noise_class(certificate["noise.mechanism"]).holds or not often
    searched = searched and certificate["noise.objective"] == "wrong-reports"
    if not searched or certificate.model is not None:
        return False
    commonest = float(MarkovChain(certificate["chain.transition"]).stationary.max())
    return bool(certificate["noise.expected_flips"] >= (1 - LITTLE) * (1 - commonest))


def secrets(plan: Any) -> list[tuple[str, str]]:
    """What is one secret, and whether gaps are covered, where that is not as ever."""
    lines = []
    if plan.unit != "point":
        lines.append(("protects", f"the values of any {plan.unit} consecutive points together"))
    if plan.noise.holds:
        words = "covered" if plan.gaps else "not covered: --gaps covers them"
        lines.append(("missing points", words))
    return lines
