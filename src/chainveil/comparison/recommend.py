"""Which setting answers a question best, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from chainveil import checks
from chainveil.comparison.figures import Expected
from chainveil.comparison.rows import Row
from chainveil.comparison.settings import OBJECTIVES
from chainveil.noise.base import NEEDS
from chainveil.privacy.rounding import exact

For = Literal["share", "episodes", "points"]
FOR: tuple[For, ...] = get_args(For)
ASKS: dict[For, str] = {
    "share": "how much of the time a state takes",
    "episodes": "how long a state lasts",
    "points": "which state each point is in",
}
# Errors that are this close, as a share of the least, are taken for the same: then the narrower
# interval decides, and then who must see what.
SAME: dict[For, float] = {"share": 0.01, "episodes": 0.01, "points": 0.003}


@dataclass(frozen=True)
class Recommendation:
    """The setting to take for a question at one budget.

    Attributes
    ----------
    epsilon : float
    row : Row or None
        None where no setting answers the question at this budget.
    reason : str
    warning : str
        What speaks against it; empty where nothing does.
    """

    epsilon: float
    row: Row | None
    reason: str
    warning: str = ""


def read_for(question: str) -> For:
    """A question that can be recommended for."""
    checks.one_of("for_", question, FOR)
    return question  # type: ignore[return-value]


def answer(row: Row, question: For) -> Expected | None:
    """The error of a question under a row's noise; None where it does not answer."""
    told = row.figures
    if question == "points":
        return Expected(told.smoothed, told.smoothed)
    return told.share if question == "share" else told.sojourns


def recommend(rows: Sequence[Row], question: For, epsilon: float) -> Recommendation:
    """The best of the rows of one budget."""
    answers = [(row, found) for row in rows if (found := answer(row, question)) is not None]
    if not answers:
        return Recommendation(
            epsilon, None, f"no setting tells {ASKS[question]} from these data at this budget: "
            "take a larger one, or more points",
        )  # fmt: skip
    near = _near(answers, [found.error for _, found in answers], SAME[question])
    near = _near(near, [found.half_width for _, found in near], SAME[question])
    row, best = min(near, key=lambda pair: _privileges(pair[0]))
    return Recommendation(
        epsilon, row, _reason(row, best, answers, question), _warning(row, best, question)
    )


def _near(
    answers: list[tuple[Row, Expected]], values: list[float], same: float
) -> list[tuple[Row, Expected]]:
    """Those whose value is the least, or as good as the least."""
    most = min(values) * (1 + same)
    return [pair for pair, value in zip(answers, values, strict=True) if value <= most]


def _privileges(row: Row) -> tuple[int, int]:
    """Settings that need less come first, and of these the plainest."""
    order = (*OBJECTIVES, "distance")
    return list(NEEDS).index(row.sees), order.index(row.setting.objective)


def _reason(row: Row, best: Expected, answers: list[tuple[Row, Expected]], question: For) -> str:
    """What is least, and what the baselines would do."""
    words = f"least error of {len(answers)} settings for {ASKS[question]}: {_words(best, question)}"
    for name, every in (("on every point", False), ("on one point in several", True)):
        others = [
            found
            for other, found in answers
            if other.sees == "point" and (other.every > 1) == every and other is not row
        ]
        if others:
            other = min(others, key=lambda found: found.error)
            words += f"; independent noise {name}: {_words(other, question)}"
    return words


def _words(found: Expected, question: For) -> str:
    if question == "points":
        return f"{found.error:.1%} of the points wrong after smoothing"
    if question == "episodes":
        return f"±{found.half_width:.1%} of a spell"
    return f"±{found.half_width:.4f} (error {found.error:.4f})"


def _warning(row: Row, best: Expected, question: For) -> str:
    """That it tells nothing, or that series lose more than the budget."""
    attacked, own = row.figures.attacked, row.figures.own
    words = []
    if question == "points" and best.error >= 0.99 * (1 - attacked.guess):
        words.append("it tells hardly more than guessing the commonest state would")
    if question != "points" and best.half_width >= 0.5:
        words.append("the interval is so wide that it tells next to nothing")
    if own.above:
        words.append(
            f"{own.above:,} of {own.looked:,} series contradict the model of the plan, and on the "
            f"chain that fits them best it loses more than {exact(row.epsilon)}"
        )
    return "; ".join(words)
