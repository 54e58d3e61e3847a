"""``chainveil loss``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import CLOSED, open_loss, show, working
from chainveil.privacy.rounding import upper


@click.command()
@options.chain_options
@click.option("--rho0", type=float, help="Probability that 0 is reported as 1.")
@click.option("--rho1", type=float, help="Probability that 1 is reported as 0.")
@click.option("--rho", type=float, help="Probability that a state is reported as another, the "
              "same for all states.")  # fmt: skip
@click.option("--correlated", is_flag=True, help="The noise is a chain of flips: rho0 begins, "
              "rho1 stops.")  # fmt: skip
@click.option("--sticky", metavar="A,B,C,D", help="Sticky noise: probabilities to report 1 after a "
              "0 at a point in state 0 and 1, and after a 1.")  # fmt: skip
@click.option("--tracking", metavar="A,…,H", help="Tracking noise: the same, each by the state "
              "of the point before.")  # fmt: skip
@click.option("--repeat", type=float, metavar="A", help="Sticky response, any number of states: "
              "repeat the last report with probability A, else report as --rho says.")  # fmt: skip
@click.option("--first", metavar="A,B", help="Sticky and tracking noise: probabilities to report 1 "
              "at the first point. With --repeat: one number in place of --rho there.")  # fmt: skip
@click.option("--every", type=int, default=1, show_default=True, metavar="N",
              help="One point in N reports.")  # fmt: skip
@options.unit
@options.gaps
@options.promise_options
@options.as_json
def loss(**given: Any) -> None:
    """Compute the exact privacy loss of given noise on a given chain.

    \b
    Example:
      chainveil loss --q 0.1 --r 0.1 --rho 0.02 --length 5
    """
    from chainveil.privacy.adversary import describe
    from chainveil.privacy.loss import privacy_loss

    chain, _ = options.need_chain(given)
    noise = _noise(chain.states, given)
    options.check_every(noise, given["every"])
    noise = noise.thinned(given["every"])
    with working("searching the worst attack …", given["as_json"]):
        found = privacy_loss(
            chain, noise, unit=given["unit"], length=given["max_length"],
            adversary=given["adversary"], gaps=given["gaps"],
        )  # fmt: skip
    infinite = found.epsilon == float("inf")
    witness = found.attack_in_words
    facts = {
        "epsilon": "infinity" if infinite else found.epsilon,
        "lower": "infinity" if infinite else found.lower,
        "adversary": describe(found.adversary),
        "length": found.length,
        "witness": witness,
    }
    lines = [
        ("loss", "infinite" if infinite else f"at most {upper(found.epsilon, 10)}"),
        ("against", describe(found.adversary)),
        ("length", "any" if found.length is None else str(found.length)),
        ("worst attack", witness or "none: no point has two possible values"),
    ]
    worst = found.chain
    if worst is not None:
        transition = worst.hidden_chain()[1]
        facts["worst_chain"] = transition.tolist()
        (_, q), (r, _) = transition
        lines.append(("worst chain", f"q {q:.6g}, r {r:.6g}"))
    if found.gap > CLOSED and not infinite:
        lines.insert(1, ("not closed", open_loss(found)))
    show(facts, lines, given["as_json"])


def _noise(states: int, given: dict[str, Any]) -> Any:
    """The noise asked for; more than two states have randomized or sticky response."""
    from chainveil.noise.channel import Channel
    from chainveil.noise.correlated import CorrelatedNoise

    rho, correlated = given["rho"], given["correlated"]
    if given["repeat"] is not None:
        return _response(states, given)
    ways = [given[name] is not None for name in ("sticky", "tracking")]
    if any(ways):
        levels = any(given[name] is not None for name in ("rho", "rho0", "rho1"))
        if sum(ways) > 1 or levels or correlated or states > 2:
            raise click.UsageError("Give one kind of noise; --sticky and --tracking are for two "
                                   "states, --repeat with --rho for any number.")  # fmt: skip
        return _kernel(given)
    if states > 2:
        if rho is None or correlated:
            raise click.UsageError(f"Give the noise for {states} states with --rho, and with "
                                   "--repeat for a sticky response.")  # fmt: skip
        return Channel.randomized_response(states, rho)
    rho0, rho1 = (given["rho0"], given["rho1"]) if rho is None else (rho, rho)
    if rho0 is None or rho1 is None:
        raise click.UsageError("Give the noise: --rho, or --rho0 and --rho1, or --sticky or "
                               "--tracking with --first.")  # fmt: skip
    return CorrelatedNoise(rho0, rho1) if correlated else Channel.binary(rho0, rho1)


def _response(states: int, given: dict[str, Any]) -> Any:
    """Sticky response by randomized response, the first report perhaps by another."""
    from chainveil.noise.channel import Channel
    from chainveil.noise.memory import StickyNoise

    others = [given[name] for name in ("rho0", "rho1", "sticky", "tracking")]
    if given["rho"] is None or given["correlated"] or others != [None] * len(others):
        raise click.UsageError("--repeat takes --rho, and perhaps --first, alone.")
    first = given["rho"]
    if given["first"] is not None:
        first = options.read_numbers("first", given["first"], 1)[0]
    answer, start = (Channel.randomized_response(states, rho) for rho in (given["rho"], first))
    return StickyNoise.response(given["repeat"], answer, start)


def _kernel(given: dict[str, Any]) -> Any:
    """Noise that leans on its last report, from its probabilities to report 1."""
    import numpy as np

    from chainveil.noise.memory import StickyNoise, TrackingNoise

    if given["first"] is None:
        raise click.UsageError("--first belongs to --sticky and --tracking.")
    first = options.read_numbers("first", given["first"], 2)
    if given["sticky"] is not None:
        kernel = options.read_numbers("sticky", given["sticky"], 4)
        return StickyNoise.binary(np.reshape(kernel, (2, 2)), first)
    kernel = options.read_numbers("tracking", given["tracking"], 8)
    return TrackingNoise.binary(np.reshape(kernel, (2, 2, 2)), first)
