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
    truth, seen, gaps = _states(document, original, release, given)
    plan = document.plan()
    chain = plan.chain
    guesses = _guesses(plan, seen, gaps is not None)
    scores = {name: score(truth, guess, gaps) for name, guess in guesses.items()}
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


def _guesses(plan: Any, seen: Any, gaps: bool) -> dict[str, Any]:
    """What each attacker takes the original for."""
    from chainveil.attack import Posterior, SingleBit, Viterbi
    from chainveil.channel import Channel

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

    from chainveil.channel import Channel

    none = np.full((channel.states, 1), 0.5)
    return Channel(np.hstack([channel.matrix / 2, none]))


def _states(
    document: Any, original: str, release: str, given: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Original and released states, series by series, and which points need no guess."""
    import numpy as np

    from chainveil.errors import InvalidInput
    from chainveil.table.discretize import GAP, Discretizer
    from chainveil.table.grouping import cut, read_columns, series_order
    from chainveil.table.request import one_column

    if document["release"] is None:
        raise InvalidInput("certificate", "a plan", "the certificate of a release")
    column, series = document["release.column"], document["release.series_column"]
    labels, edges = (tuple(document[f"discretization.{part}"]) for part in ("labels", "edges"))
    kept: Any = "keep" if document["release.gaps"] else "error"
    discretizer = Discretizer(edges, labels, labels, missing=kept)
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
    if kept == "error":
        return cut(truth, order, ends), cut(seen, order, ends), None
    gaps = seen == GAP
    if np.any(gaps != (truth == GAP)):
        raise InvalidInput("original", "gaps at other rows", "gaps where the release has them")
    # A gap is a report that says nothing, and no point to be guessed.
    known = np.where(gaps, 0, -1)
    seen, truth = np.where(gaps, len(labels), seen), np.where(gaps, 0, truth)
    return cut(truth, order, ends), cut(seen, order, ends), cut(known, order, ends)
