"""``chainveil loss``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import show
from chainveil.privacy.rounding import upper


@click.command()
@options.chain_options
@click.option("--rho0", type=float, help="Probability that 0 is reported as 1.")
@click.option("--rho1", type=float, help="Probability that 1 is reported as 0.")
@click.option("--rho", type=float, help="Both at once.")
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
    from chainveil.channel import Channel
    from chainveil.noise_chain import CorrelatedNoise
    from chainveil.privacy.adversary import describe
    from chainveil.privacy.loss import privacy_loss

    chain, _ = options.need_chain(given)
    if rho is not None:
        rho0 = rho1 = rho
    if rho0 is None or rho1 is None:
        raise click.UsageError("Give the noise: --rho, or --rho0 and --rho1.")
    noise = CorrelatedNoise(rho0, rho1) if correlated else Channel.binary(rho0, rho1)
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
    show(facts, lines, given["as_json"])
