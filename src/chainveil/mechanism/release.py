"""The one way from input to sanitized output, whatever the noise: check, take, apply, put."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism import reading
from chainveil.mechanism.pieces import Piece, Table
from chainveil.mechanism.randomness import Source
from chainveil.mechanism.samplers import PieceSampler, draw
from chainveil.sequences import as_column, is_column


@dataclass(frozen=True)
class Report:
    """What was done, for the caller and for a certificate.

    Attributes
    ----------
    mechanism : str
        The kind of noise, such as "independent".
    source : "release" or "study"
        "study" marks seeded noise, which must not be published.
    series, points, gaps : int
        ``points`` counts the gaps too. Gaps are visible in the result: which points are
        missing is not protected.
    """

    mechanism: str
    source: Literal["release", "study"]
    series: int
    points: int
    gaps: int

    @property
    def for_release(self) -> bool:
        """Whether the noise was secure."""
        return self.source == "release"

    @property
    def gaps_visible(self) -> bool:
        """Whether the result shows where points are missing."""
        return self.gaps > 0


@dataclass(frozen=True)
class Release:
    """Sanitized values and the report on them.

    ``values`` has the form of the input: an array of its shape and dtype, or a list of them.
    """

    values: Any
    report: Report


def source_word(source: Source) -> Literal["release", "study"]:
    """How a report names the source."""
    return "release" if source.for_release else "study"


def release(
    x: Any,
    sampler: PieceSampler,
    out: Any,
    source: Source,
    missing: str,
    mechanism: str,
) -> Release:
    """Sanitize ``x``. On an error the input is untouched and ``out`` holds nothing of it."""
    reading.check_missing(missing)
    table, masks = reading.as_table("x", x)
    thinned = hasattr(sampler, "unheard")
    reading.check_least(table, masks, missing, getattr(sampler, "least", 1))
    column = is_column(x)
    destination, in_place = _destination(table, _flat(out) if column else out, sampler.outputs)
    if thinned and masks is not None:
        masks = _own_masks(masks, out)
    if in_place:
        check_points(table, masks, sampler, missing)
    gaps = _fill(table, masks, sampler, missing, destination, in_place)
    report = Report(mechanism, source_word(source), table.series, table.points, gaps)
    values = _with_masks(destination, masks, out)
    return Release(as_column(values) if column and out is None else values, report)


def check_points(table: Table, masks: Table | None, sampler: PieceSampler, missing: str) -> int:
    """Error unless every point is a state or, where gaps are kept, a gap; how many gaps."""
    found = 0
    for piece in table.pieces(sampler.stretch):
        _, gaps = _states(table, masks, sampler, missing, piece, trusting=False)
        found += 0 if gaps is None else int(gaps.sum())
    return found


def _own_masks(masks: Table, out: Any) -> Table:
    """Masks that may grow: points before the first report are masked too."""
    if out is not None:
        raise InvalidInput(
            "out", "a place for a masked array", "None where one point in several reports",
            "The result may have to mask more points than x does.",
        )  # fmt: skip
    if isinstance(masks.held, np.ndarray):
        return Table(masks.held.copy())
    return Table([mask.copy() for mask in masks.held])


def _fill(
    table: Table,
    masks: Table | None,
    sampler: PieceSampler,
    missing: str,
    destination: Table,
    in_place: bool,
) -> int:
    """Write every piece of ``destination``; returns the number of gaps."""
    try:
        return sum(
            _apply(table, masks, sampler, missing, destination, in_place, piece)
            for piece in table.pieces(sampler.stretch)
            if piece.size
        )
    except InvalidInput:
        if not in_place:
            _blank(destination)
        raise


def _apply(
    table: Table,
    masks: Table | None,
    sampler: PieceSampler,
    missing: str,
    destination: Table,
    in_place: bool,
    piece: Piece,
) -> int:
    states, gaps = _states(table, masks, sampler, missing, piece, trusting=sampler.notices)
    direct = None if in_place or sampler.dtype != np.uint8 else destination.direct(piece)
    reports = np.empty(piece.size, sampler.dtype) if direct is None else direct
    if not draw(sampler, piece, states, reports, gaps):
        _states(table, masks, sampler, missing, piece, trusting=False)
    unheard = getattr(sampler, "unheard", None)
    if gaps is None and unheard is None:
        if direct is None:
            destination.put(piece, reports)
        return 0
    values = reports.astype(table.take(piece).dtype)
    if unheard is not None:
        _mark(values, unheard, table, masks, piece)
    if gaps is not None:
        _keep_gaps(values, gaps, table, masks, piece)
    destination.put(piece, values)
    return 0 if gaps is None else int(gaps.sum())


def _keep_gaps(
    values: NDArray[Any], gaps: NDArray[np.bool_], table: Table, masks: Table | None, piece: Piece
) -> None:
    """Put the marks of gaps back; what lies under a mask is data too, and is wiped."""
    raw = table.take(piece)
    hidden = masks.take(piece) if masks is not None else np.zeros(piece.size, np.bool_)
    np.copyto(values, np.where(hidden, np.zeros((), raw.dtype), raw), where=gaps)


def _mark(
    values: NDArray[Any],
    unheard: NDArray[np.bool_],
    table: Table,
    masks: Table | None,
    piece: Piece,
) -> None:
    """Show points as missing that come before any report."""
    if masks is not None:
        values[unheard] = 0
        masks.put(piece, masks.take(piece) | unheard)
        return
    parts = [table.row(piece.series + j) for j in range(piece.count)]
    marks = [np.nan if part.dtype.kind == "f" else reading.GAP for part in parts]
    values[unheard] = np.repeat(marks, np.diff(piece.offsets))[unheard]


def _states(
    table: Table,
    masks: Table | None,
    sampler: PieceSampler,
    missing: str,
    piece: Piece,
    trusting: bool,
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    if piece.size == 0:
        return np.empty(0, sampler.dtype), None
    mask = None if masks is None else masks.take(piece)
    raw = table.take(piece)
    states, gaps = reading.states_of("x", raw, mask, sampler.states, missing, piece, trusting)
    return states.astype(sampler.dtype, copy=False), gaps


def _destination(table: Table, out: Any, outputs: int) -> tuple[Table, bool]:
    """Where the result goes, and whether that is the input itself."""
    parts = [table.held] if isinstance(table.held, np.ndarray) else list(table.held)
    for part in parts:
        reading.check_room("x", part.dtype, outputs)
    if out is None:
        fresh = [np.empty_like(part, subok=False) for part in parts]
        return Table(fresh[0] if isinstance(table.held, np.ndarray) else fresh), False
    destinations = [out] if isinstance(table.held, np.ndarray) else out
    if not isinstance(destinations, list | tuple) or len(destinations) != len(parts):
        raise InvalidInput(
            "out",
            f"an object of type {type(out).__name__}",
            f"a list of {len(parts)} arrays, one a series of x",
        )
    for part, destination in zip(parts, destinations, strict=True):
        check_destination("x", part, destination)
    in_place = any(np.may_share_memory(a, b) for a, b in zip(parts, destinations, strict=True))
    bare = [np.asarray(destination) for destination in destinations]
    return Table(bare[0] if isinstance(table.held, np.ndarray) else bare), in_place


def _flat(out: Any) -> Any:
    """A column to write to as the one series it holds; anything else as it is."""
    return out[:, 0] if isinstance(out, np.ndarray) and is_column(out) else out


def check_destination(name: str, part: NDArray[Any], destination: Any) -> None:
    """Error unless ``destination`` is an array like ``part``: that one, or one apart from it."""
    if not isinstance(destination, np.ndarray):
        found = f"an object of type {type(destination).__name__}"
    elif destination.shape != part.shape or destination.dtype != part.dtype:
        found = f"shape {destination.shape} and dtype {destination.dtype.name}"
    elif not destination.flags.writeable:
        found = "a read-only array"
    elif np.may_share_memory(part, destination) and not _same_memory(part, destination):
        raise InvalidInput(
            "out",
            f"an array that overlaps {name}",
            f"{name} itself, or an array that shares no memory with {name}",
        )
    else:
        return
    like = f"shape {part.shape} and dtype {part.dtype.name}, like {name}"
    raise InvalidInput("out", found, f"a writeable array of {like}")


def _same_memory(part: NDArray[Any], destination: NDArray[Any]) -> bool:
    places = [array.__array_interface__["data"] for array in (part, destination)]
    return places[0] == places[1] and part.strides == destination.strides


def _with_masks(destination: Table, masks: Table | None, out: Any) -> Any:
    """The result in the form of the input: ``out`` itself, masked again where x was."""
    if out is not None:
        return out
    if masks is None:
        return destination.held
    if isinstance(destination.held, np.ndarray):
        return np.ma.MaskedArray(destination.held, mask=np.array(masks.held))
    pairs = zip(destination.held, masks.held, strict=True)
    return [np.ma.MaskedArray(part, mask=np.array(mask)) for part, mask in pairs]


def _blank(destination: Table) -> None:
    """Leave nothing half done behind."""
    for part in (
        [destination.held] if isinstance(destination.held, np.ndarray) else destination.held
    ):
        part[...] = 0
