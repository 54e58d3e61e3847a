"""``chainveil audit``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import FAILED, progress, show
from chainveil.privacy.rounding import exact


@click.command()
@click.argument("release", required=False)
@click.option("--original", help="The private table that was released; with RELEASE.")
@click.option("--certificate", type=options.FILE, help="Certificate of RELEASE; default: beside "
              "it.")  # fmt: skip
@click.option("--plan", "plan_file", type=options.FILE, help="Plan written by chainveil "
              "calibrate, or a certificate: play against its noise, in place of one "
              "release.")  # fmt: skip
@click.option("--length", type=click.IntRange(min=1), help="Points of the series that are played; "
              "default: for a plan what promises the best bound, for a release 5.")  # fmt: skip
@click.option("--adversary", type=click.Choice(["any", "ignorant", "informed"]), help="Whom to "
              "choose the worst case among.  [default: that of the plan; ignorant for a "
              "release]")  # fmt: skip
@click.option("--trials", type=click.IntRange(min=100), default=400_000, show_default=True,
              help="Series drawn with each of the two values; with --plan.")  # fmt: skip
@click.option("--confidence", type=float, default=0.99, show_default=True, help="Probability with "
              "which the bound holds.")  # fmt: skip
@click.option("--seed", type=int, help="Draw the same series again; the noise stays fresh.")
@options.format_options
@options.max_seconds
@options.as_json
def audit(release: str | None, **given: Any) -> int:
    """Bound what noise gives away from below, by experiment.

    Plays the worst case that the exact loss names. With --plan the noise is drawn anew for
    many series with either value of a point; with RELEASE and --original one release is
    looked through. The bound can show that more is given away than was promised; it cannot
    show that no more is. Ends with 1 where it shows more.

    \b
    Example:
      chainveil audit --plan plan.json --trials 20000
      chainveil audit release.parquet --original heart.csv
    """
    if (release is None) == (given["plan_file"] is None):
        raise click.UsageError("Give a RELEASE with --original, or --plan.")
    if release is not None and given["original"] is None:
        raise click.UsageError("RELEASE takes --original, the table that was released.")
    found, plan = _of_plan(given) if release is None else _of_release(release, given)
    facts = {
        "lower_bound": found.lower_bound, "confidence": found.confidence, "promise": plan.epsilon,
        "exceeds_promise": found.exceeds_nominal, "attack": str(found.witness),
        "value_hits": found.value_hits, "value_trials": found.value_trials,
        "other_hits": found.other_hits, "other_trials": found.other_trials,
    }  # fmt: skip
    show(facts, _lines(found, plan), given["as_json"])
    return FAILED if found.exceeds_nominal else 0


def _of_plan(given: dict[str, Any]) -> tuple[Any, Any]:
    """Play against the noise of a plan."""
    from chainveil.attack import audit_sanitizer

    plan = options.read_certificate("plan", given["plan_file"]).plan()
    who: dict[str, Any] = {"adversary": given["adversary"] or _model(plan)}
    with progress(2 * given["trials"], given["as_json"], "series") as tell:
        return audit_sanitizer(
            plan.sanitize, _played(plan), plan.noise, length=given["length"],
            trials=given["trials"], confidence=given["confidence"], nominal=plan.epsilon,
            rng=given["seed"], progress=tell, **who,
        ), plan  # fmt: skip


def _of_release(release: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """Look one release through."""
    from chainveil.attack import audit_release
    from chainveil.errors import NotSupported
    from chainveil.table.files import certificate_path
    from chainveil.table.released.comparing import compare

    path = given["certificate"] or str(certificate_path(release))
    document = options.read_certificate("certificate", path)
    named = options.read_beside(release, {**given, "no_header": False})
    held = compare(document, options.read_beside(given["original"], given), named)
    if held.known is not None:
        raise NotSupported("audits of releases with missing points; audit the plan: --plan")
    plan = document.plan()
    return audit_release(
        held.truth, held.seen, _played(plan), plan.noise, length=given["length"] or 5,
        adversary=given["adversary"] or "ignorant", confidence=given["confidence"],
        nominal=plan.epsilon,
    ), plan  # fmt: skip


def _model(plan: Any) -> Any:
    """The adversaries of the promise, where they are a model and not one of them."""
    who = plan.loss.adversary
    return who if isinstance(who, str) else "any"


def _played(plan: Any) -> Any:
    """The chain to draw series from: of a set of chains the one that loses most."""
    return plan.loss.chain or plan.chain


def _lines(found: Any, plan: Any) -> list[tuple[str, str]]:
    hits = (
        f"{found.value_hits:,} of {found.value_trials:,} with the value, {found.other_hits:,} of "
        f"{found.other_trials:,} with the other"
    )
    return [
        ("promise", f"epsilon {exact(plan.epsilon)}"),
        ("noise", plan.noise.describe()),
        ("attack", str(found.witness)),
        ("hits", hits),
        ("audit", str(found)),
    ]
