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
    point beforehand, however clever, where the data follow the chain. A warning says where they
    beat it and a test shows that the data follow another model.

    \b
    Example:
      chainveil attack release.parquet --original heart.csv
    """
    from chainveil.attack import attack_release
    from chainveil.certificate import Certificate
    from chainveil.table.files import certificate_path
    from chainveil.table.released.comparing import compare

    document = Certificate.read(certificate or certificate_path(release))
    # A release names its columns, whether or not the table did.
    named = options.read_beside(release, {**given, "no_header": False})
    held = compare(document, options.read_beside(original, given), named)
    found = attack_release(document.plan(), held.truth, held.seen, held.known)
    facts = {
        "attackers": {
            name: {"right": score.rate, "low": score.low, "high": score.high,
                   "guesses": score.trials}
            for name, score in found.scores.items()
        },
        "guess_without_release": found.guessing,
        "bound": found.bound,
        "bound_beaten_by": list(found.beaten),
    }  # fmt: skip
    lines = [(name, str(score)) for name, score in found.scores.items()]
    lines.append(("no release", f"right in {found.guessing:.4f} by guessing the commonest state"))
    bound = upper(found.bound)
    lines.append(
        ("bound", f"nobody who knows no point beforehand is right in more than {bound}, "
         "if the data follow the chain")
    )  # fmt: skip
    show(facts, lines, given["as_json"])
    if found.beaten:
        warn(f"{' and '.join(found.beaten)} beat the bound: the data do not follow the model of "
             "the certificate, and its guarantee is not for such data")  # fmt: skip
