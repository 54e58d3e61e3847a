"""``chainveil export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import show, warn


@click.command()
@click.argument("plan", type=options.FILE)
@click.option("-o", "--output", type=options.FILE, required=True, help="The program, such as "
              "sanitizer.py.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.max_seconds
@options.as_json
def export(plan: str, output: str, force: bool, **given: Any) -> None:
    """Write PLAN as one small program for a device that has Python alone.

    The plan is verified first. The program sanitizes one series point by point with random
    bytes of the operating system; it needs nothing but the standard library of Python 3.8 or
    later. PLAN was written by chainveil calibrate.

    \b
    Example:
      chainveil export plan.json -o sanitizer.py
    """
    from chainveil.device import device_program
    from chainveil.table.write.atomic import drafts

    certificate = options.read_certificate("plan", plan)
    _warnings(certificate)
    limits, labels = (certificate[f"discretization.{part}"] or () for part in ("edges", "labels"))
    found = certificate.plan()
    text = device_program(found, limits, labels, certificate["seal.digest"])
    with drafts([output], force) as (draft,):
        draft.file.write(text.encode())
    size = {"lines": text.count("\n"), "bytes": len(text.encode())}
    lines = [
        ("program", f"{output}: {size['lines']} lines, {size['bytes']:,} bytes"),
        ("noise", found.noise.describe()),
        ("made by", found.noise.needs),
        ("try it", f"python3 -c 'from {Path(output).stem} import Sanitizer; "
         "print(Sanitizer().push(0))'"),
    ]  # fmt: skip
    show({"program": output, **size}, lines, given["as_json"])


def _warnings(certificate: Any) -> None:
    """What bears on the promise of the program, or on who may see it."""
    if certificate["release"] is not None:
        warn("this is the certificate of a release: another release of the same series costs "
             "more; chainveil calibrate --spent plans for both")  # fmt: skip
    if certificate["promise.adversary.model"] != "any":
        warn("this holds against " + certificate["promise.adversary.meaning"])
    for part in ("chain", "discretization"):
        if (certificate[f"{part}.origin"] or "given").startswith("private"):
            warn(certificate[f"{part}.meaning"])
