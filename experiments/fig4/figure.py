"""Figure 4, last step: the parts put together, and drawn on the paper's axes."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments import records
from experiments import settings as stored
from experiments.fig4 import series as made
from experiments.parts import (
    Experiment,
    Part,
    Place,
    Row,
    Settings,
    file_digest,
    read_json,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHOSEN = "chosen"
TAUGHT = "taught"
# The paper's figure ends here; its result files do not.
LAST = 4.0
# Where the paper's axis begins.
LOWEST = 0.5
TITLES = {"synthetic": "synthetic, N10's chain", "N10": "heart rate N10", "N5": "heart rate N5"}
NOISE_TITLES = {"ignorant": "paper's noise", "any": "corrected noise"}
NO_TORCH = "LSTM attackers: torch is not installed; run: pip install 'chainveil[lstm]'"


def parts(settings: Settings, place: Place) -> list[Part]:
    """One part a series for the attackers that know a model, and one for those that learn."""
    found = made.available(settings)
    absent = [name for name in settings["records"] if name not in found]
    place.missing.extend(records.missing_record(name) for name in absent)
    known = {name: value for name, value in settings.items() if name in _KNOWN_MODEL}
    held = {name: file_digest(path) for name, path in found.items()}
    listed = [Part("known-synthetic", known, partial(_known, None, None, settings))]
    listed += [
        Part(f"known-{name}", known | {"data": held[name]}, partial(_known, name, path, settings))
        for name, path in found.items()
    ]
    if find_spec("torch") is None:
        place.missing.append(NO_TORCH)
        return listed
    learned = {name: path for name, path in found.items() if name in settings["learned"]}
    told = settings | {"learned": {name: held[name] for name in learned}}
    return [*listed, Part("learned", told, partial(_learned, learned, settings, place))]


# What the accuracy of attackers that know a model depends on.
_KNOWN_MODEL = ("seed", "budgets", "beyond", "records", "releases", "synthetic")


def _series(name: str | None, path: Path | None, settings: Settings) -> made.Series:
    if name is None or path is None:
        return made.synthetic_series(settings)
    return made.recorded_series(name, path, settings)


def _known(name: str | None, path: Path | None, settings: Settings) -> list[Row]:
    return made.known_model_rows(_series(name, path, settings), settings)


def _learned(found: dict[str, Path], settings: Settings, place: Place) -> list[Row]:
    """Train what is not trained yet, and score the guesses."""
    from experiments.fig4 import training

    all_series = [_series(None, None, settings)]
    all_series += [_series(name, path, settings) for name, path in found.items()]
    made.write_bits(place.parts / training.SERIES_FILE, all_series, settings)
    training.train_all(place.parts, place.device, None, place.tell)
    rows = []
    for series in all_series:
        files = {name: name for name in settings["networks"]}
        if settings.get("candidates"):
            files[CHOSEN] = f"{CHOSEN}-{series.name}"
        if series.name in settings.get("taught", {}).get("series", []):
            files[TAUGHT] = TAUGHT
        for name, file in files.items():
            with np.load(place.parts / f"lstm-{file}.npz") as guesses:
                bits = np.unpackbits(guesses[series.name], axis=1, count=len(series.states))
            rows += made.learned_rows(series, name, bits, settings)
    return rows


def about(place: Place) -> dict[str, Any]:
    """What the training left behind: networks, epochs, seconds, device, and the choice."""
    if find_spec("torch") is None or not (place.parts / "learned.json").is_file():
        return {"training": {}}
    settings = stored.load("fig4", place.size)
    names = [*settings["networks"]]
    if settings.get("candidates"):
        names += ["choice", *(f"{CHOSEN}-{name}" for name in settings["learned"])]
    if settings.get("taught"):
        names.append(TAUGHT)
    found = {name: read_json(place.parts / f"lstm-{name}.json") for name in sorted(names)}
    unsaid = ("accuracies", "fingerprint")
    networks = {
        name: {key: value for key, value in kept.items() if key not in unsaid}
        for name, kept in found.items() if kept is not None
    }  # fmt: skip
    return {"training": networks}


def draw(rows: list[Row], settings: Settings) -> Figure:
    """Paper's noise above, corrected noise below; one column a series."""
    from chainveil.plot import style

    names = [made.SYNTHETIC, *settings["records"]]
    figure, panels = style.new_panels(len(names), 4.3 * len(names), 8.2, rows=2)
    letters = iter("abcdefghijkl")
    for axes, (noise, name) in zip(
        panels, ((noise, name) for noise in made.NOISES for name in names), strict=True
    ):
        chosen = [
            row for row in rows
            if (row["series"], row["noise"]) == (name, noise) and row["epsilon"] <= LAST
        ]  # fmt: skip
        _draw_panel(axes, chosen)
        if (name, noise) == ("N10", "ignorant"):
            _draw_reported(axes)
        axes.set(
            xlim=(1, 4), ylim=(LOWEST, 1.0), xlabel="privacy budget ε (nats)",
            ylabel="reconstruction accuracy",
            title=f"({next(letters)}) {TITLES.get(name, name)}, {NOISE_TITLES[noise]}",
        )  # fmt: skip
    style.legend_below(figure, columns=4)
    return figure


def _looks() -> dict[str, tuple[str, str, str, str]]:
    from chainveil.plot import style

    return {
        "viterbi": ("Viterbi", style.BLUE, "o", "-"),
        "posterior": ("posterior", style.SKY, "^", "--"),
        "lstm-authors": ("LSTM, authors' setting", style.ORANGE, "s", "-."),
        "lstm-authors-faster": ("LSTM, authors', rate 8e-4", style.PURPLE, "v", ":"),
        "lstm-chosen": ("LSTM, chosen by validation", style.GREEN, "D", "-"),
        "lstm-taught": ("LSTM, taught by Viterbi", style.RED, "x", ":"),
        "lstm-small": ("LSTM, small", style.ORANGE, "s", "-."),
    }


def _draw_panel(axes: Axes, rows: list[Row]) -> None:
    from chainveil.plot import style

    if not rows:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center")
        return
    for attacker, (label, colour, marker, dash) in _looks().items():
        chosen = [row for row in rows if row["attacker"] == attacker]
        if chosen:
            axes.plot([row["epsilon"] for row in chosen], [row["accuracy"] for row in chosen], dash,
                      marker=marker, color=colour, ms=4.5, lw=1.5, label=label,
                      clip_on=False)  # fmt: skip
    first = [row for row in rows if row["attacker"] == rows[0]["attacker"]]
    budgets = [row["epsilon"] for row in first]
    axes.plot(budgets, [row["bound"] for row in first], "-", color=style.BLACK, lw=1.6,
              label="bound on who knows no point, corrected")  # fmt: skip
    axes.plot(budgets, [row["printed_bound"] for row in first], ":", color=style.GREY, lw=1.6,
              label="bound as printed")  # fmt: skip
    axes.axhline(first[0]["majority"], color=style.GREY, lw=1, ls=(0, (1, 2)),
                 label="always the more frequent state")  # fmt: skip


def _draw_reported(axes: Axes) -> None:
    from chainveil.plot import style

    points = [point for point in stored.reported()["fig4"]["n10"] if point["epsilon"] <= LAST]
    for column, label, marker, colour in (
        ("viterbi", "Viterbi, authors' run", "o", style.BLUE),
        ("lstm", "LSTM, authors' run", "s", style.RED),
    ):
        inside = [point for point in points if point[column] >= LOWEST]
        axes.plot([point["epsilon"] for point in inside], [point[column] for point in inside],
                  marker, mfc="none", mec=colour, ms=8, ls="none", label=label,
                  clip_on=False)  # fmt: skip
        for point in points:
            if point not in inside:
                axes.annotate(f"{label}: {point[column]:.4f} ↓", (point["epsilon"], LOWEST), (4, 4),
                              textcoords="offset points", color=colour, fontsize=8)  # fmt: skip


EXPERIMENT = Experiment("fig4", "Reconstruction of series", parts, draw, about)
