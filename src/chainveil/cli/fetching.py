"""Files of public collections: from the cache, or from the network with their checksums."""

from __future__ import annotations

import queue
import re
import threading
import time
from pathlib import Path
from typing import Any

from chainveil.errors import InvalidInput

PHYSIONET = "https://physionet.org/files/"
# PhysioNet's collection of heart beats during meditation, which the paper uses.
COLLECTIONS = {"meditation": "meditation/1.0.0/"}
# What a folder of files that were fetched by hand calls them.
FOLDERS = {"meditation": "physionet-meditation"}
CHECKSUMS = "SHA256SUMS.txt"
LINE = re.compile(r"([0-9a-fA-F]{64})\s+\*?(\S.*)")
# Far above every file of the collections; what is longer is something else.
LARGEST = 64 << 20
ADVICE = "Try again when the network is there; chainveil demo --offline needs none."


def fetch(name: str, mirror: str = PHYSIONET, limit: float = 30.0) -> Path:
    """The path of COLLECTION/NAME in the cache, fetched if it is not there.

    Nothing is kept in the cache that does not have the checksum which the collection itself
    states. No request takes longer than ``limit`` seconds.
    """
    collection, _, file = name.partition("/")
    if collection not in COLLECTIONS or not file:
        known = ", ".join(COLLECTIONS)
        raise InvalidInput("name", name, f"COLLECTION/NAME with a collection of {known}")
    base = mirror.rstrip("/") + "/" + COLLECTIONS[collection]
    sums = _checksums(_cached(base + CHECKSUMS, None, limit))
    found = [path for path in sums if path == file or path.split("/")[-1] == file]
    if len(found) != 1:
        close = ", ".join(sorted(path.split("/")[-1] for path in sums)[:40])
        raise InvalidInput("name", name, f"one of the collection's files: {close}")
    return _cached(base + found[0], "sha256:" + sums[found[0]], limit)


def held_in(folder: str | Path, name: str) -> Path | None:
    """The file COLLECTION/NAME in a folder of the user's, below the collection's name or at once.

    None where it is not there. Nothing is looked for outside the folder.
    """
    collection, _, file = name.partition("/")
    places = (Path(folder) / FOLDERS[collection] / file, Path(folder) / file)
    return next((path for path in places if path.is_file()), None)


def _checksums(path: Path) -> dict[str, str]:
    """File names and their digests."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = (LINE.fullmatch(line.strip()) for line in lines)
    return {match[2]: match[1].lower() for match in found if match is not None}


def _cached(url: str, digest: str | None, limit: float) -> Path:
    import pooch

    def download(url: str, output: Any, _: Any) -> None:
        held = _within(limit, url)
        if digest is None:
            _check_list(held, url)
        Path(output).write_bytes(held)

    pooch.get_logger().setLevel("ERROR")
    try:
        folder = pooch.os_cache("chainveil")
        return Path(pooch.retrieve(url, digest, path=folder, downloader=download))
    except ValueError as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            "network", f"a file with another checksum at {url}", f"{digest}, as {CHECKSUMS} says",
            "Nothing was kept. The copy may be cut off or changed: try again.",
        ) from None  # fmt: skip


def _within(limit: float, url: str) -> bytes:
    """The answer of a server, in at most ``limit`` seconds.

    In a thread of its own: looking up the name of a server cannot be told when to stop.
    """
    answers: queue.Queue[bytes | Exception] = queue.Queue(1)
    threading.Thread(target=_ask, args=(url, limit, answers), daemon=True).start()
    try:
        answer = answers.get(timeout=limit)
    except queue.Empty:
        answer = _late(limit)
    if isinstance(answer, Exception):
        raise InvalidInput(
            "network", f"no copy of {url} ({_reason(answer)})",
            "a connection, or a copy in the cache", ADVICE,
        )  # fmt: skip
    return answer


def _ask(url: str, limit: float, answers: queue.Queue[bytes | Exception]) -> None:
    import requests

    end = time.monotonic() + limit
    try:
        with requests.get(url, timeout=limit, stream=True) as response:
            response.raise_for_status()
            held = bytearray()
            for part in response.iter_content(1 << 16):
                held += part
                if time.monotonic() > end:
                    raise _late(limit)
                if len(held) > LARGEST:
                    raise OSError("too large")
        answers.put(bytes(held))
    except requests.Timeout:
        answers.put(_late(limit))
    except (requests.RequestException, OSError) as error:
        answers.put(error)


def _late(limit: float) -> TimeoutError:
    return TimeoutError(f"no answer in {limit:g} seconds")


def _reason(error: Exception) -> str:
    """A few words; the network's own errors are long and repeat the address."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"{response.status_code} {response.reason}"
    return str(error) if isinstance(error, TimeoutError) else type(error).__name__


def _check_list(held: bytes, url: str) -> None:
    """Error unless these are checksums: a page that asks for a login is not."""
    lines = held.decode("utf-8", errors="replace").splitlines()
    if not lines or not all(LINE.fullmatch(line.strip()) for line in lines if line.strip()):
        raise InvalidInput("network", f"no list of checksums at {url}", "a list of checksums")
