"""One line of a comparison: a setting at a budget, and its figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chainveil.comparison.figures import Expected, Figures
from chainveil.comparison.settings import Setting
from chainveil.noise.base import Sees
from chainveil.plan import NoisePlan


@dataclass(frozen=True)
class Row:
    """A setting at one budget.

    Attributes
    ----------
    setting : Setting
        As it was asked for.
    figures : Figures
    plan : NoisePlan
        The noise itself; :meth:`chainveil.NoisePlan.sanitize` applies it.
    """

    setting: Setting
    figures: Figures
    plan: NoisePlan = field(repr=False)

    @property
    def epsilon(self) -> float:
        """The budget."""
        return self.plan.epsilon

    @property
    def every(self) -> int:
        """One point in so many reports, as was found."""
        return self.plan.noise.every

    @property
    def loss(self) -> float:
        """Certified upper bound."""
        return self.plan.loss.epsilon

    @property
    def sees(self) -> Sees:
        """What a report looks at."""
        return self.plan.noise.sees

    @property
    def needs(self) -> str:
        """Who must see what."""
        return self.plan.noise.needs

    @property
    def name(self) -> str:
        """The setting in words, with the number that was found."""
        often = "" if self.every == 1 else f", 1 in {self.every}"
        return f"{self.setting.mechanism}{often}, {self.setting.objective}"

    @property
    def facts(self) -> dict[str, Any]:
        """All figures as one line of a frame; None where there is none."""
        told, setting = self.figures, self.setting
        return {
            "epsilon": self.epsilon,
            "mechanism": setting.mechanism,
            "every": self.every,
            "objective": setting.objective,
            "loss": self.loss,
            "wrong_reports": told.wrong,
            "smoothed_wrong": told.smoothed,
            "smoothed_wrong_error": told.smoothed_error,
            **_expected("share", told.share),
            **_expected("share_by_series", told.by_series),
            **_expected("transitions", told.transitions),
            **_expected("sojourns", told.sojourns),
            "attacker_success": told.attacked.success,
            "attacker_success_error": told.attacked.error,
            "attacker_guess": told.attacked.guess,
            "attacker_bound": told.attacked.bound,
            "own_loss_worst": told.own.worst,
            "own_loss_median": told.own.median,
            "needs": self.needs,
        }


def _expected(name: str, found: Expected | None) -> dict[str, float | None]:
    error, reach = (None, None) if found is None else (found.error, found.half_width)
    return {f"{name}_error": error, f"{name}_half_width": reach}
