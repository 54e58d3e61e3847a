"""Run an experiment: parts, results as CSV, circumstances as JSON, figure as SVG and PNG."""

from __future__ import annotations

import csv
import io
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from chainveil import __version__
from chainveil.errors import InvalidInput
from experiments import settings as stored
from experiments.parts import (
    Experiment,
    Finished,
    Place,
    Row,
    Settings,
    finish,
    read_json,
    write_json,
    write_text,
)

# In the order in which `all` runs them and the report shows them.
HOMES = {
    "fig1": "experiments.fig1",
    "fig2": "experiments.fig2",
    "fig3": "experiments.fig3",
    "fig4": "experiments.fig4.figure",
    "correlated": "experiments.correlated",
    "theorem2": "experiments.theorem2",
    "memory": "experiments.memory",
    "limit": "experiments.limit",
}
PACKAGES = ("numpy", "scipy", "numba", "python-flint", "cryptography", "matplotlib", "torch")


@dataclass(frozen=True)
class Result:
    """What an experiment found, as it stands in its folder."""

    name: str
    rows: list[Row]
    record: dict[str, Any]


def find_experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in HOMES:
        raise InvalidInput("name", name, ", ".join(HOMES))
    experiment: Experiment = import_module(HOMES[name]).EXPERIMENT
    return experiment


def run_experiment(
    name: str,
    size: str,
    out: Path,
    device: str = "cpu",
    advance: Callable[[int, int, str], None] = lambda done, total, what: None,
    tell: Callable[[str], None] = lambda text: None,
) -> Result:
    """Run what is not yet done, and write results, record and figure to ``out/name``.

    ``advance(done, total, what)`` is called before every part and at the end; ``tell`` takes
    lines about what is going on inside a long part.
    """
    from chainveil.plot import save

    check_place(name, size, out, device)
    experiment, settings = find_experiment(name), stored.load(name, size)
    place = Place(out / name, size, device, tell=tell)
    parts = experiment.parts(settings, place)
    found: dict[str, Finished] = {}
    for done, part in enumerate(parts):
        advance(done, len(parts), part.name)
        found[part.name] = finish(part, place)
    rows = [row for part in found.values() for row in part.rows]
    record = _record(experiment, size, settings, place, found)
    write_text(place.folder / "results.csv", rows_to_csv(rows))
    write_json(place.folder / "run.json", record)
    figure = experiment.draw(rows, settings)
    for ending in ("svg", "png"):
        save(figure, place.folder / f"{name}.{ending}")
    advance(len(parts), len(parts), "")
    return Result(name, rows, record)


def check_place(name: str, size: str, out: Path, device: str = "cpu") -> None:
    """Error if a run could not end well: no figures, no device, or other results in its place."""
    from chainveil.plot import check_ending

    check_ending("out", f"{name}.svg")
    if device.startswith("cuda") and name == "fig4":
        _check_cuda(device)
    kept = read_json(out / name / "run.json")
    if kept is not None and kept.get("size") != size:
        raise InvalidInput(
            "out", f"{out / name}, with the results of a {kept.get('size')} run",
            f"a folder without, or with those of a {size} run",
            "Take another folder, or remove that one.",
        )  # fmt: skip


def _check_cuda(device: str) -> None:
    try:
        import torch
    except ImportError:
        # Told with everything else that is missing.
        return
    if not torch.cuda.is_available():
        raise InvalidInput("device", device, "cpu: torch finds no CUDA device")


def read_result(name: str, out: Path) -> Result | None:
    """What an earlier run left in ``out/name``; None where it left nothing that can be read."""
    folder = out / name
    record = read_json(folder / "run.json")
    if record is None or not (folder / "results.csv").is_file():
        return None
    rows = csv_to_rows((folder / "results.csv").read_text(encoding="utf-8"))
    return Result(name, rows, record)


def _record(
    experiment: Experiment,
    size: str,
    settings: Settings,
    place: Place,
    found: dict[str, Finished],
) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "size": size,
        "seed": settings.get("seed"),
        "settings": settings,
        "device": "one CUDA device" if place.device.startswith("cuda") else place.device,
        "seconds": round(sum(part.seconds for part in found.values()), 1),
        "seconds_of_parts": {name: part.seconds for name, part in found.items()},
        "missing": list(place.missing),
        **experiment.about(place),
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "chainveil": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def rows_to_csv(rows: list[Row]) -> str:
    """Rows as CSV; columns in the order in which they first appear, empty where a row has none."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def csv_to_rows(text: str) -> list[Row]:
    """What :func:`rows_to_csv` wrote: numbers as numbers, empty fields left out."""
    return [
        {name: _value(field) for name, field in row.items() if field != ""}
        for row in csv.DictReader(io.StringIO(text))
    ]


def _value(field: str) -> Any:
    if field in ("True", "False"):
        return field == "True"
    for kind in (int, float):
        try:
            return kind(field)
        except ValueError:
            continue
    return field
