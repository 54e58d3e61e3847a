"""``chainveil plan``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.estimate import NUMBERS
from chainveil.cli.output import show, warn
from chainveil.privacy.rounding import exact, upper

# Budgets of a picture, and points of the release that its attacker looks at around one.
BUDGETS, WINDOW = 24, 25
PROMISE = ("max_length", "adversary", "objective", "mechanism", "every", "unit", "gaps")


@click.command()
@click.option("--question", type=click.Choice(NUMBERS), default="frequency", show_default=True,
              help="What an analyst will ask; the last one point later.")  # fmt: skip
@click.option("--error", type=float, help="The standard error to reach.")
@click.option("--rows", type=click.IntRange(min=2), help="How many points will be released.")
@click.option("--epsilon", type=float, help="The privacy budget, in nats.")
@options.chain_options
@click.option("--covers", type=click.Choice(["noise", "sampling"]), default="noise",
              show_default=True, help="Error about the series as it was, or also about the chain "
              "it was drawn from.")  # fmt: skip
@options.promise_options
@options.objective
@options.mechanism
@options.timing_options
@options.gaps
@click.option("--plot", "picture", type=options.FILE, help="Draw the error, and the success of the "
              "best attacker, against the budget to this file.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.as_json
def plan(
    question: str, error: float | None, rows: int | None, epsilon: float | None, **given: Any
) -> None:
    """Find the budget, the rows or the error of a question, from the other two.

    \b
    Example:
      chainveil plan --question frequency --error 0.01 --rows 100000 --q 0.0893 --r 0.1092
    """
    from chainveil.estimate import epsilon_for, error_at, rows_for
    from chainveil.estimate.planning import LEAST_BUDGET

    chain, _ = options.need_chain(given)
    if sum(part is None for part in (error, rows, epsilon)) != 1:
        raise click.UsageError("Give two of --error, --rows and --epsilon; the third is found.")
    _check_picture(given)
    promise: dict[str, Any] = {name: given[name] for name in PROMISE}
    covers = given["covers"]
    if epsilon is None:
        found = epsilon_for(chain, error, rows, question, covers, **promise)  # type: ignore[arg-type]
    else:
        found = _plan(chain, epsilon, promise)
    if rows is None:
        rows = rows_for(found, error, question, covers)  # type: ignore[arg-type]
    expected = error_at(found, rows, question, covers)  # type: ignore[arg-type]
    if expected.refused:
        warn(f"estimate will refuse {question} from {rows:,} points: under this noise it asks for "
             f"{expected.needed:,}")  # fmt: skip
    if epsilon is None and found.epsilon <= LEAST_BUDGET:
        warn(f"budgets below {LEAST_BUDGET:g} are not tried")
    facts = {
        "question": question,
        "epsilon": found.epsilon,
        "rows": rows,
        "error": expected.largest,
        "covers": covers,
        "value": expected.value,
        "standard_error": expected.standard_error,
        "expected_flips": found.expected_flips,
        "mechanism": found.mechanism,
    }
    if given["picture"] is not None:
        _draw(found, expected, promise, given)
    budget = upper(found.epsilon, 4) if epsilon is None else exact(epsilon)
    show(facts, _lines(found, expected, budget), given["as_json"])


def _plan(chain: Any, epsilon: float, promise: dict[str, Any]) -> Any:
    """The plan for a budget, with the usual noise where none is named."""
    from chainveil.calibration import calibrate, usual_plan

    if promise["mechanism"] is not None:
        return calibrate(chain, epsilon, **promise)
    rest = {name: value for name, value in promise.items() if name != "mechanism"}
    return usual_plan(chain, epsilon, **rest)


def _check_picture(given: dict[str, Any]) -> None:
    """An error for a picture that cannot be written, before the work for it."""
    from pathlib import Path

    if given["picture"] is None:
        return
    from chainveil import plot
    from chainveil.table.write.atomic import check_goal

    check_goal(Path(given["picture"]), given["force"], "plot")
    plot.check_ending("plot", given["picture"])


def _draw(found: Any, expected: Any, promise: dict[str, Any], given: dict[str, Any]) -> None:
    """Error and success at budgets around the one that was found."""
    from chainveil import plot
    from chainveil.attack import expected_success
    from chainveil.estimate import error_at
    from chainveil.progress import showing

    chain, budgets = found.chain, [part * max(8.0, 2 * found.epsilon) / BUDGETS
                                   for part in range(1, BUDGETS + 1)]  # fmt: skip
    errors, success = [], []
    with showing(BUDGETS, not given["as_json"], "budgets") as tell:
        for epsilon in budgets:
            # A region is judged by its likeliest chain, as error_at does.
            one = _plan(found.model, epsilon, promise)
            at = error_at(one, expected.length, expected.question, expected.covers)
            errors.append(at.largest)
            success.append(expected_success(chain, one.noise, WINDOW, rng=0).value)
            if tell is not None:
                tell("calibrating", 1)
    asked = f"{expected.question} of {expected.length:,} points, {found.mechanism} noise"
    figure = plot.budget(
        budgets, errors, success, guess=float(chain.stationary.max()), chosen=found.epsilon,
        title=f"What a budget buys: {asked}\n{chain.describe()}",
        ylabel=f"standard error, {expected.question}",
    )  # fmt: skip
    plot.save(figure, given["picture"])


def _lines(found: Any, expected: Any, budget: str) -> list[tuple[str, str]]:
    from chainveil.estimate.results import MEANING
    from chainveil.privacy.adversary import describe

    return [
        ("question", expected.question),
        ("budget", f"epsilon {budget}, against {describe(found.loss.adversary)}"),
        ("noise", found.mechanism),
        ("rows", f"{expected.length:,}"),
        ("error", f"{expected.largest:.4g} at most, one standard error"),
        ("covers", MEANING[expected.covers]),
        ("changed points", f"{found.expected_flips:.4%} on average"),
    ]
