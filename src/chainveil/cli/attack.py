"""``chainveil attack``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import show, warn
from chainveil.privacy.rounding import upper


@click.command()
@click.argument("release")
@click.option("--original", required=True, help="The private table that was released.")
@click.option("--certificate", type=options.FILE, help="Its certificate; default: beside RELEASE.")
@options.format_options
@options.max_seconds
@options.as_json
def attack(release: str, original: str, certificate: str | None, **given: Any) -> None:
    """Attack a RELEASE and compare with the original.

    The attackers know the chain and the noise from the certificate. What they achieve is
    no measure of privacy: a better attacker may come. The bound holds for whoever knows no
    point beforehand, however clever, where the data follow the chain; it is said where they
    beat it.

    \b
    Example:
      chainveil attack release.parquet --original heart.csv
    """
    from chainveil.attack import score
    from chainveil.certificate import Certificate
    from chainveil.table.files import certificate_path
    from chainveil.table.released.comparing import compare

    document = Certificate.read(certificate or certificate_path(release))
    # A release names its columns, whether or not the table did.
    named = read_table(release, {**given, "no_header": False})
    held = compare(document, read_table(original, given), named)
    plan = document.plan()
    guesses = _guesses(plan, held.seen)
    scores = {name: score(held.truth, guess, held.known) for name, guess in guesses.items()}
    majority = _majority(held.truth, held.known)
    bound = _bound(plan)
    beaten = _beaten(scores, majority, bound)
    facts = {
        "attackers": {
            name: {"right": score.rate, "low": score.low, "high": score.high,
                   "guesses": score.trials}
            for name, score in scores.items()
        },
        "guess_without_release": majority,
        "bound": bound,
        "bound_beaten_by": beaten,
    }  # fmt: skip
    lines = [(name, str(score)) for name, score in scores.items()]
    lines.append(("no release", f"right in {majority:.4f} by guessing the commonest state"))
    lines.append(
        ("bound", f"nobody who knows no point beforehand is right in more than {upper(bound)}, "
         "if the data follow the chain")
    )  # fmt: skip
    show(facts, lines, given["as_json"])
    if beaten:
        warn(f"{' and '.join(beaten)} beat the bound: the data do not follow the chain of the "
             "certificate, and its promise is not for such data")  # fmt: skip


def _bound(plan: Any) -> float:
    """Largest chance of a right guess, from the loss against who knows nothing beforehand."""
    from chainveil.privacy.baselines import success_bound
    from chainveil.privacy.loss import privacy_loss

    shown = [*plan.spent, plan.noise] if plan.spent else plan.noise
    return success_bound(
        plan.chain,
        privacy_loss(plan.chain, shown, plan.loss.length, "ignorant", gaps=plan.gaps).epsilon,
    )


def _majority(truth: Any, known: Any) -> float:
    """Share of the commonest state among the points that had to be guessed."""
    import numpy as np

    states = np.concatenate(truth) if isinstance(truth, list) else truth
    if known is not None:
        marks = np.concatenate(known) if isinstance(known, list) else known
        states = states[marks < 0]
    return float(np.bincount(states).max() / len(states))


def _beaten(scores: dict[str, Any], majority: float, bound: float) -> list[str]:
    """Who is right more often than the bound allows, by more than chance explains."""
    from chainveil.counts import wilson

    names = [name for name, score in scores.items() if score.low > bound]
    trials = min(score.effective_trials for score in scores.values())
    if wilson(majority, trials)[0] > bound:
        names.append("guessing the commonest state")
    return names


def read_table(path: str, given: dict[str, Any]) -> Any:
    """A table; --format and --delimiter are for the one of the two that they fit."""
    from chainveil.table.read import formats

    if path == "-" or not formats.told_by(path):
        return options.read_source(path, given)
    is_csv = formats.by_path(path).name == "csv"
    other = {"form": None, "delimiter": given["delimiter"] if is_csv else None}
    return options.read_source(path, {**given, **other})


def _guesses(plan: Any, seen: Any) -> dict[str, Any]:
    """What each attacker takes the original for."""
    from chainveil.attack import Posterior, SingleBit, Viterbi

    return {
        "single bit": SingleBit(plan.noise).reconstruct(seen),
        "posterior": Posterior(plan.chain, plan.noise).reconstruct(seen),
        "Viterbi": Viterbi(plan.chain, plan.noise).reconstruct(seen),
    }
