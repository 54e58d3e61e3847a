"""``chainveil data``."""

from __future__ import annotations

import click

from chainveil.cli import options
from chainveil.cli.fetching import PHYSIONET
from chainveil.cli.output import note, show


@click.group()
def data() -> None:
    """Fetch public data to try things on.

    \b
    Example:
      chainveil data fetch meditation/N10 -o N10.txt
    """


@data.command()
@click.argument("name", metavar="COLLECTION/NAME")
@click.option("-o", "--output", type=options.FILE, help="Copy it here; default: the cache only.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--mirror", default=PHYSIONET, show_default=True, envvar="CHAINVEIL_MIRROR",
              show_envvar=True, metavar="URL", help="Where the collections lie.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0,
              show_default=True, help="The most seconds to wait for a file.")  # fmt: skip
@options.as_json
def fetch(
    name: str, output: str | None, force: bool, mirror: str, timeout: float, as_json: bool
) -> None:
    """Fetch a file of a public collection, checked against the collection's own checksums.

    What was fetched before is taken from the cache, without the network.

    \b
    Example:
      chainveil data fetch meditation/N10 -o N10.txt
    """
    from chainveil.cli import fetching

    note(f"fetching {name}")
    path = fetching.fetch(name, mirror, timeout)
    if output is not None:
        from chainveil.table.write.atomic import drafts

        with drafts([output], force) as (draft,):
            draft.file.write(path.read_bytes())
    show({"name": name, "path": str(output or path)}, [(name, str(output or path))], as_json)
