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
    from chainveil.table.flow import certificate_path

    document = Certificate.read(certificate or certificate_path(release))
    truth, seen = _states(document, original, release, given)
    plan = document.plan()
    chain = plan.chain
    scores = {name: score(truth, guess) for name, guess in _guesses(plan, seen).items()}
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


def _guesses(plan: Any, seen: Any) -> dict[str, Any]:
    """What each attacker takes the original for."""
    from chainveil.attack import Posterior, SingleBit, Viterbi

    if plan.mechanism == "correlated":
        return _through_memory(plan, seen)
    return {
        "single bit": SingleBit(plan.channel).reconstruct(seen),
        "posterior": Posterior(plan.chain, plan.channel).reconstruct(seen),
        "Viterbi": Viterbi(plan.chain, plan.channel).reconstruct(seen),
    }


def _through_memory(plan: Any, seen: Any) -> dict[str, Any]:
    """The same attackers where the noise has a memory: state and flip are guessed together."""
    from chainveil.attack import SingleBit
    from chainveil.channel import Channel
    from chainveil.estimate import denoise

    found = denoise(seen, plan.noise, plan.chain)
    parts = found.probability if isinstance(found.probability, list) else [found.probability]
    likelier = [part.argmax(axis=-1) for part in parts]
    rate = plan.noise.flip_rate
    return {
        "single bit": SingleBit(Channel.binary(rate, rate)).reconstruct(seen),
        "posterior": likelier if isinstance(found.probability, list) else likelier[0],
        "Viterbi": found.path,
    }


def _states(document: Any, original: str, release: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """Original and released states, series by series."""
    from chainveil.errors import InvalidInput
    from chainveil.table.discretize import Discretizer
    from chainveil.table.grouping import cut, read_columns, series_order
    from chainveil.table.request import one_column

    if document["release"] is None:
        raise InvalidInput("certificate", "a plan", "the certificate of a release")
    column, series = document["release.column"], document["release.series_column"]
    labels, edges = (tuple(document[f"discretization.{part}"]) for part in ("labels", "edges"))
    discretizer = Discretizer(edges, labels, labels)
    names = [column] if series is None else [column, series]
    private, public = (
        read_columns(options.read_source(table, given), names) for table in (original, release)
    )
    if private.num_rows != public.num_rows:
        raise InvalidInput(
            "original", f"{private.num_rows} rows", f"{public.num_rows}, as the release has"
        )
    order, ends = series_order(private, series)
    truth = discretizer.codes(one_column(private, column), column)
    seen = discretizer.read_back(one_column(public, column), column)
    return cut(truth, order, ends), cut(seen, order, ends)
