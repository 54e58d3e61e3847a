"""``chainveil calibrate``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.instead import GUESSES, guesses, instead, secrets
from chainveil.cli.output import CLOSED, open_loss, show, warn, working
from chainveil.privacy.rounding import exact, upper

# Options that go to the search as they are.
ASKED = ("objective", "shape", "every", "unit", "gaps", "max_length", "adversary")


@click.command()
@options.chain_options
@click.option("--epsilon", type=float, required=True, help="The privacy budget, in nats.")
@options.promise_options
@options.objective
@options.mechanism
@options.timing_options
@options.gaps
@options.search_options
@click.option("-o", "--output", type=options.FILE, help="Write the plan to this file.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.max_seconds
@options.as_json
def calibrate(
    epsilon: float, output: str | None, force: bool, mechanism: Any, **given: Any
) -> None:
    """Find the least noise that meets a budget.

    The plan is written as a certificate without a release; chainveil verify checks it.

    \b
    Example:
      chainveil calibrate --q 0.0893 --r 0.1092 --epsilon 3 -o plan.json
    """
    from chainveil.calibration import calibrate as find
    from chainveil.calibration import usual_plan
    from chainveil.certificate import certify
    from chainveil.privacy.baselines import compare
    from chainveil.table.write.atomic import drafts

    chain, file = options.need_chain(given)
    earlier = options.read_earlier(given["earlier"])
    asked = {name: given[name] for name in ASKED} | {"earlier": earlier}
    with working("calibrating …", given["as_json"]):
        named = mechanism is not None
        plan = find(chain, epsilon, mechanism=mechanism, **asked) if named else (
            usual_plan(chain, epsilon, **asked)
        )  # fmt: skip
        hints = None if mechanism else instead(plan)
    described = None if file is None else file.discretizer.described
    certificate = certify(plan, None, described)
    if plan.origin == "private":
        warn(certificate["chain.meaning"])
    if guesses(plan):
        warn(GUESSES)
    if output is not None:
        with drafts([output], force) as (draft,):
            draft.file.write(certificate.to_json().encode())
    # Of the chain of the plan: that of the file may hold more than may be published.
    others = compare(plan.chain, epsilon, plan.loss.length)
    facts = {
        "plan": certificate.document,
        "others": [
            {"method": other.method, "flip_probability": other.rho, "reason": other.reason}
            for other in others
        ],
        "needs": plan.noise.needs,
        **({} if hints is None else {"instead": hints.facts}),
    }
    labels = range(chain.states) if file is None else file.discretizer.labels
    told = [] if hints is None else [("instead", str(hints))]
    show(facts, [*_lines(plan, others, labels), *told], given["as_json"])


def _lines(plan: Any, others: list[Any], labels: Any) -> list[tuple[str, str]]:
    from chainveil.privacy.adversary import describe

    lines = [
        ("budget", f"epsilon {exact(plan.epsilon)}"),
        ("loss", f"at most {upper(plan.loss.epsilon, 10)}"),
        ("against", describe(plan.loss.adversary)),
        ("noise", _noise(plan, labels)),
        ("made by", plan.noise.needs),
        ("changed points", f"{plan.expected_flips:.4%} on average"),
    ]
    lines += secrets(plan)
    if plan.loss.witness is not None:
        lines.append(("worst attack", str(plan.loss.attack_in_words)))
    if plan.loss.gap > CLOSED:
        lines.insert(2, ("not closed", open_loss(plan.loss)))
    for other in others:
        found = other.reason.removeprefix(other.method).strip()
        if other.rho is not None:
            found = f"{other.rho:.4%} changed points"
        lines.append((other.method, found))
    return lines


def _noise(plan: Any, labels: Any) -> str:
    if plan.noise.ordered:
        return str(plan.noise.describe())
    flips = plan.channel.flip_probabilities
    often = f", on one point in {plan.noise.every}" if plan.noise.every > 1 else ""
    if len(flips) == 2:
        both = (f"state {x} changes with {float(rho)!r}" for x, rho in enumerate(flips))
        return ", ".join(both) + often
    return ", ".join(f"{x} changes with {rho:.6f}" for x, rho in zip(labels, flips, strict=True))
