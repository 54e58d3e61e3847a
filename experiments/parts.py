"""Experiments in parts that are kept: an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
Settings = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A piece of an experiment: rows that depend on ``settings`` (JSON values) alone."""

    name: str
    settings: Any
    compute: Callable[[], list[Row]]


@dataclass(frozen=True)
class Place:
    """Where an experiment works, and what it has to say besides its rows.

    Attributes
    ----------
    folder : Path
        Results go here, kept parts into its folder ``parts``.
    size : str
        "quick" or "full"; each keeps parts of its own.
    device : str
        Where networks are trained: "cpu" or "cuda".
    missing : list of str
        Filled with sentences about data or packages that were not there.
    tell : callable
        Takes a line about what is going on inside a long part.
    """

    folder: Path
    size: str = "full"
    device: str = "cpu"
    missing: list[str] = field(default_factory=list)
    tell: Callable[[str], None] = lambda text: None

    @property
    def parts(self) -> Path:
        """Folder of the kept parts."""
        return self.folder / "parts" / self.size


@dataclass(frozen=True)
class Experiment:
    """A figure or claim of the paper: what to compute and how to draw it.

    ``about`` gives facts beyond the rows for the record, once the parts are finished.
    """

    name: str
    title: str
    parts: Callable[[Settings, Place], list[Part]]
    draw: Callable[[list[Row], Settings], Figure]
    about: Callable[[Place], dict[str, Any]] = lambda place: {}


@dataclass(frozen=True)
class Finished:
    """Rows of a part, and the seconds they took when they were computed."""

    rows: list[Row]
    seconds: float


def finish(part: Part, place: Place) -> Finished:
    """The kept result of a part where its settings are the same; else compute and keep it."""
    path = place.parts / f"{part.name}.json"
    mark = digest(part.settings)
    kept = read_json(path)
    if kept is not None and kept.get("fingerprint") == mark:
        return Finished(kept["rows"], kept["seconds"])
    begin = time.perf_counter()
    rows = part.compute()
    seconds = round(time.perf_counter() - begin, 2)
    write_json(path, {"fingerprint": mark, "seconds": seconds, "rows": rows})
    return Finished(rows, seconds)


def digest(settings: Any) -> str:
    """A short digest of JSON values and of the version of the program."""
    from chainveil import __version__

    told = json.dumps([__version__, settings], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def read_json(path: Path) -> dict[str, Any] | None:
    """What a JSON file holds; None where there is none, or a damaged one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def file_digest(path: Path) -> str:
    """A short digest of what a file holds."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file; complete or not at all."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file; complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
