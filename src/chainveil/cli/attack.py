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
    from chainveil.noise.channel import Channel

    if plan.mechanism == "correlated":
        rate = plan.noise.flip_rate
        single = Channel.binary(rate, rate)
        posterior, path = _through_memory(plan, seen, gaps)
    else:
        single = plan.channel
        shown = _with_gaps(single) if gaps else single
        posterior = Posterior(plan.chain, shown).reconstruct(seen)
        path = Viterbi(plan.chain, shown).reconstruct(seen)
    alone = SingleBit(_with_gaps(single) if gaps else single)
    return {"single bit": alone.reconstruct(seen), "posterior": posterior, "Viterbi": path}


def _through_memory(plan: Any, seen: Any, gaps: bool) -> tuple[Any, Any]:
    """Posterior and Viterbi where the noise has a memory: state and flip guessed together."""
    from chainveil.attack import Posterior, Viterbi
    from chainveil.estimate.denoise import paired

    pairs, channel = paired(plan.noise, plan.chain)
    shown = _with_gaps(channel) if gaps else channel
    found = Posterior(pairs, shown).probabilities(seen)
    path = Viterbi(pairs, shown).reconstruct(seen)
    if not isinstance(found, list):
        return _likelier(found), path >> 1
    return [_likelier(part) for part in found], [part >> 1 for part in path]


def _likelier(found: Any) -> Any:
    """The likelier state from the probabilities of state and flip, shape (n, 4)."""
    return found.reshape(-1, 2, 2).sum(axis=-1).argmax(axis=-1)


def _with_gaps(channel: Any) -> Any:
    """The channel with one report more, a gap, which says nothing about the state."""
    import numpy as np

    from chainveil.noise.channel import Channel

    none = np.full((channel.states, 1), 0.5)
    return Channel(np.hstack([channel.matrix / 2, none]))
