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
@options.promise_options
@options.as_json
def loss(
    rho0: float | None, rho1: float | None, rho: float | None, correlated: bool, **given: Any
) -> None:
    """Compute the exact privacy loss of given noise on a given chain.

    \b
    Example:
      chainveil loss --theta 0.1 --rho 0.02 --length 5
    """
    from chainveil.privacy.adversary import describe
    from chainveil.privacy.loss import privacy_loss

    chain, _ = options.need_chain(given)
    levels = (rho0, rho1) if rho is None else (rho, rho)
    noise = _noise(chain.states, levels, correlated, rho)
    with working("searching the worst attack …", given["as_json"]):
        found = privacy_loss(chain, noise, given["length"], given["adversary"])
    infinite = found.epsilon == float("inf")
    witness = None if found.witness is None else str(found.witness)
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
    if found.gap > CLOSED and not infinite:
        lines.insert(1, ("not closed", open_loss(found)))
    show(facts, lines, given["as_json"])


def _noise(
    states: int,
    levels: tuple[float | None, float | None],
    correlated: bool,
    rho: float | None,
) -> Any:
    """The noise asked for; more than two states have randomized response."""
    from chainveil.noise.channel import Channel
    from chainveil.noise.correlated import CorrelatedNoise

    if states > 2:
        if rho is None or correlated:
            raise click.UsageError(f"Give the noise for {states} states with --rho alone.")
        return Channel.randomized_response(states, rho)
    rho0, rho1 = levels
    if rho0 is None or rho1 is None:
        raise click.UsageError("Give the noise: --rho, or --rho0 and --rho1.")
    return CorrelatedNoise(rho0, rho1) if correlated else Channel.binary(rho0, rho1)
