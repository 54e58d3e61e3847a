"""``chainveil data``."""

from __future__ import annotations

from pathlib import Path

import click

from chainveil.cli import options
from chainveil.cli.output import note, show

# PhysioNet's collection of heart beats during meditation, which the paper uses.
COLLECTIONS = {"meditation": "https://physionet.org/files/meditation/1.0.0/"}
CHECKSUMS = "SHA256SUMS.txt"


@click.group()
def data() -> None:
    """Fetch public data to try things on.

    \b
    Example:
      chainveil data fetch meditation/N10 -o N10.txt
    r
    """


@data.command()
@click.argument("name", metavar="COLLECTION/NAME")
@click.option("-o", "--output", type=options.FILE, help="Copy it here; default: the cache only.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.as_json
def fetch(name: str, output: str | None, force: bool, as_json: bool) -> None:
    """Fetch a file of a public collection, checked against the collection's own checksums.

    \b
    Example:
      chainveil data fetch meditation/N10 -o N10.txt
    """
    from chainveil.errors import InvalidInput

    collection, _, file = name.partition("/")
    if collection not in COLLECTIONS or not file:
        known = ", ".join(COLLECTIONS)
        raise InvalidInput("name", name, f"COLLECTION/NAME with a collection of {known}")
    note(f"fetching {name}")
    path = _fetch(COLLECTIONS[collection], file)
    if output is not None:
        from chainveil.table.atomic import drafts

        with drafts([output], force) as (draft,):
            draft.file.write(path.read_bytes())
    show({"name": name, "path": str(output or path)}, [(name, str(output or path))], as_json)


def _fetch(base: str, name: str) -> Path:
    """The file from the cache, or from the network."""
    from chainveil.errors import InvalidInput

    sums = _checksums(_retrieve(base + CHECKSUMS, None))
    found = [path for path in sums if path == name or path.split("/")[-1] == name]
    if len(found) != 1:
        close = ", ".join(sorted(sums)[:40])
        raise InvalidInput("name", name, f"one of the collection's files: {close}")
    return _retrieve(base + found[0], "sha256:" + sums[found[0]])


def _checksums(path: Path) -> dict[str, str]:
    """File names and their digests."""
    lines = (line.split(maxsplit=1) for line in path.read_text(encoding="utf-8").splitlines())
    return {parts[1].strip(): parts[0] for parts in lines if len(parts) == 2}


def _retrieve(url: str, digest: str | None) -> Path:
    import logging

    import pooch
    from requests.exceptions import RequestException

    from chainveil.errors import InvalidInput

    logging.getLogger("pooch").setLevel(logging.ERROR)
    try:
        return Path(pooch.retrieve(url, digest, path=pooch.os_cache("chainveil")))
    except (RequestException, OSError, ValueError) as error:
        reason = type(error).__name__
        raise InvalidInput(
            "network", f"no copy of {url} ({reason})", "a connection, or a copy in the cache",
            "Try again when the network is there; chainveil demo needs none.",
        ) from None  # fmt: skip
