"""``chainveil attack``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import show
from chainveil.privacy.rounding import upper


@click.command()
@click.argument("release")
@click.option("--original", required=True, help="The private table that was released.")
@click.option("--certificate", type=options.FILE, help="Its certificate; default: beside RELEASE.")
@options.format_options
@options.as_json
def attack(release: str, original: str, certificate: str | None, **given: Any) -> None:
    """Attack a RELEASE and compare with the original.

    The attackers know the chain and the noise from the certificate. What they achieve is
    no measure of privacy: a better attacker may come. The bound holds for whoever knows no
    point beforehand, however clever.

    \b
    Example:
      chainveil attack release.parquet --original heart.csv
    """
    from chainveil.attack import score
    from chainveil.certificate import Certificate
    from chainveil.privacy.baselines import success_bound
    from chainveil.table.comparing import compare
    from chainveil.table.flow import certificate_path

    document = Certificate.read(certificate or certificate_path(release))
    held = compare(document, _table(original, given), _table(release, given))
    plan = document.plan()
    chain = plan.chain
    guesses = _guesses(plan, held.seen, held.known is not None)
    scores = {name: score(held.truth, guess, held.known) for name, guess in guesses.items()}
    bound = success_bound(chain, document["loss.epsilon"])
    facts = {
        "attackers": {
            name: {"right": score.rate, "low": score.low, "high": score.high,
                   "guesses": score.trials}
            for name, score in scores.items()
        },
        "guess_without_release": float(chain.stationary.max()),
        "bound": bound,
    }  # fmt: skip
    lines = [(name, str(score)) for name, score in scores.items()]
    lines.append(("no release", f"right in {chain.stationary.max():.4f} by guessing the same"))
    lines.append(
        ("bound", f"nobody who knows no point beforehand is right in more than {upper(bound)}")
    )
    show(facts, lines, given["as_json"])


def _table(path: str, given: dict[str, Any]) -> Any:
    """A table; --format is for the one of the two whose name does not tell."""
    from chainveil.table import formats

    told = path != "-" and formats.told_by(path)
    return options.read_source(path, {**given, "form": None} if told else given)


def _guesses(plan: Any, seen: Any, gaps: bool) -> dict[str, Any]:
    """What each attacker takes the original for."""
    from chainveil.attack import Posterior, SingleBit, Viterbi

    attackers = {
        "single bit": SingleBit(plan.noise, gaps),
        "posterior": Posterior(plan.chain, plan.noise, gaps),
        "Viterbi": Viterbi(plan.chain, plan.noise, gaps),
    }
    return {name: attacker.reconstruct(seen) for name, attacker in attackers.items()}
