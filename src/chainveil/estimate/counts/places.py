"""The points of a release that make a report, where only one in several does."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil import checks
from chainveil.errors import InvalidInput, NotSupported
from chainveil.estimate.counts.cells import Cells, read_cells
from chainveil.estimate.counts.packed import Packed
from chainveil.estimate.counts.series_law import SeriesLaw
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.model.base import DataModel
from chainveil.sequences import read_shape


def read_reports(z: Any, noise: NoiseLaw, by: Any = None, window: int | None = None) -> Cells:
    """The reports of a release, and how to group them; see :func:`chainveil.estimate.frequency`.

    Of noise on one point in several only the points that report are kept, as series of their own.
    """
    if noise.every == 1:
        return read_cells(z, noise.outputs, by, window)
    if by is not None and window is not None:
        raise InvalidInput("by, window", "both", "one of them")
    held = read_shape("z", z.unpacked() if isinstance(z, Packed) else z)
    series = list(np.ma.atleast_2d(held)) if isinstance(held, np.ndarray) else held
    places = [noise.noise.places(len(part)) for part in series]
    reports = [part[where] for part, where in zip(series, places, strict=True)]
    if by is not None and not isinstance(by, str):
        by = _labels(by, [len(part) for part in series], places)
    return read_cells(reports, noise.outputs, by, _window(window, noise.every))


def _labels(by: Any, lengths: list[int], places: list[Any]) -> Any:
    """The labels of the points that report, laid end to end."""
    parts = by if isinstance(by, list | tuple) and len(by) and np.ndim(by[0]) else [by]
    flat = np.concatenate([np.asarray(part).reshape(-1) for part in parts])
    if flat.size != sum(lengths):
        raise InvalidInput("by", f"{flat.size} labels", f"{sum(lengths)}, one a released point")
    begins = np.cumsum([0, *lengths[:-1]])
    return flat[np.concatenate([begin + w for begin, w in zip(begins, places, strict=True)])]


def _window(window: int | None, every: int) -> int | None:
    if window is None:
        return None
    width = checks.whole("window", window, 1)
    if width % every:
        raise InvalidInput("window", width, f"multiples of {every}, the points of one report")
    return width // every


def between_reports(chain: DataModel, noise: NoiseLaw) -> SeriesLaw:
    """The law of the points that report."""
    return SeriesLaw.of(chain).between(noise.every)


def check_neighbours(noise: NoiseLaw, question: str) -> None:
    """Error where no two neighbouring points report."""
    if noise.every != 1:
        raise NotSupported(
            f"{question} from reports on one point in {noise.every}: no two neighbours report. "
            "Shares, and correlations at distances that are multiples of it, can be asked for"
        )
