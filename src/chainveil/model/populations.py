"""Families from data: a model for each series, and a margin for those that were not seen."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import ChainveilWarning, InvalidInput
from chainveil.model.base import Box, DataModel, Origin
from chainveil.model.chain import MarkovChain
from chainveil.model.disclosure import public_box
from chainveil.model.family import MOST_MEMBERS, ModelFamily, hull, public_limits
from chainveil.model.fitting import count_transitions, first_order, read_order
from chainveil.model.fitting import fit as fit_chain
from chainveil.model.left_out import told_of_left_out
from chainveil.model.orders import choose_order
from chainveil.model.region import ChainRegion, region_around, region_from_counts
from chainveil.sequences import Sequences, as_sequences

# A series has a model of its own where it leaves each state at least so often: the logarithm of a
# fitted probability is then off by 0.22, by its standard error, and no count stands out.
ENOUGH_CHANGES = 20
# Series with models of their own that a margin for others can be made from, and the boxes that
# its ranges of leans and of paces are cut into: they have slow corners, which decide.
FEWEST_SEEN, SLICES, STRIPS = 5, 12, 6
# From so many models on, those next to each other become one box, by so wide a ratio or more.
MANY, CELL = 1024, 1.05
# From so wide cells on, by their logarithm, nothing is gained any more.
WIDEST_CELL = 100.0
# A box has to leave room for chains with q + r below 1.
LARGEST_SUM = 0.995
LONGER = "all series, longer memory"


@dataclass(frozen=True)
class Wishes:
    """How a family is to be made; see :meth:`chainveil.ModelFamily.fit`.

    ``low``: boxes of private fits reach no further up than the limits of the fit.
    """

    order: Any
    confidence: float | None
    unseen: float
    pseudocount: float
    low: bool = False

    @classmethod
    def read(cls, order: Any, confidence: Any, unseen: Any, pseudocount: float) -> Wishes:
        """Checked wishes."""
        if confidence is not None:
            confidence = checks.probability("confidence", confidence, zero=False, one=False)
        share = checks.probability("unseen", unseen, one=False)
        return cls(read_order(order), confidence, share, pseudocount)


def fit(
    sequences: Any,
    states: int | None,
    origin: Origin,
    wishes: Wishes,
    parts: int,
    names: Sequence[str] | None,
) -> ModelFamily:
    """See :meth:`chainveil.ModelFamily.fit`."""
    series = as_sequences("sequences", sequences, states)
    pooled = first_order(count_transitions(sequences, states), origin)
    called = _names(names, series.count)
    pieces, labels = _cut(series, called, checks.whole("parts", parts, 1))
    counts = counts_of(pieces, pooled.states)
    tried = _own_models(counts, origin, wishes)
    own = [(place, model) for place, model in tried if model is not None]
    members = [(labels[place], model) for place, model in own]
    members += _longer(pieces, labels, [place for place, _ in own], pooled, origin, wishes)
    persons = [model for place, model in own if place < series.count]
    family = assembled(members, persons, pooled, len(own) == pieces.count, wishes)
    if told := told_of_left_out(tried, counts[: series.count], family, pooled):
        warnings.warn(told, ChainveilWarning, stacklevel=3)
    return family


def from_counts(
    counts: NDArray[np.int64],
    names: Sequence[str],
    pooled: MarkovChain,
    wishes: Wishes,
    series: int,
    longer: DataModel | None = None,
) -> tuple[ModelFamily | None, str]:
    """A family from the transitions of each series, shape (series, k, k), and then of parts.

    ``series`` is how many are whole ones. ``longer`` is a chain of a higher order, of all series
    together. None where no series has a model of its own; with it, a warning where the chains of
    some are left out, else nothing.
    """
    own = _own_models(counts, pooled.origin, wishes)
    found = [(names[place], model) for place, model in own if model is not None]
    persons = [model for place, model in own if model is not None and place < series]
    complete = len(found) == len(counts)
    if not found:
        return None, told_of_left_out(own, counts[:series], None, pooled)
    found += [] if longer is None else [(LONGER, longer)]
    family = assembled(found, persons, pooled, complete, wishes)
    return family, told_of_left_out(own, counts[:series], family, pooled)


def assembled(
    members: list[tuple[str, DataModel]],
    persons: Sequence[DataModel],
    pooled: MarkovChain,
    complete: bool,
    wishes: Wishes,
) -> ModelFamily:
    """The models of single series with a margin, or the pooled one for those without.

    The margin is made from those of ``persons``, one each: parts would count a person repeatedly.
    """
    found, origin = list(members), pooled.origin
    if origin == "reference" and wishes.unseen > 0:
        found += _margin(persons, pooled, origin, wishes.unseen)
    if not complete or not found:
        found.append(("all series together", pooled))
    found = _merged(found, origin)
    return ModelFamily([model for _, model in found], [name for name, _ in found], pooled)


def _names(names: Sequence[str] | None, count: int) -> list[str]:
    if names is None:
        return [f"series {number}" for number in range(1, count + 1)]
    checks.items("names", names, "a list of texts")
    found = [str(name) for name in names]
    if len(set(found)) != len(found) or len(found) != count:
        raise InvalidInput("names", f"{len(found)} of them", f"{count} different texts, one each")
    return found


def _cut(series: Sequences, names: list[str], parts: int) -> tuple[Sequences, list[str]]:
    """The series, followed by their parts where there are several, with what each is called."""
    if parts == 1:
        return series, names
    bounds, called = [], list(names)
    for name, begin, end in zip(names, series.offsets[:-1], series.offsets[1:], strict=True):
        cuts = np.linspace(begin, end, parts + 1).astype(int)
        bounds += list(itertools.pairwise(cuts))
        called += [f"{name}, part {number}" for number in range(1, parts + 1)]
    pieces = [series.flat[begin:end] for begin, end in bounds]
    lengths = [*series.lengths, *(len(piece) for piece in pieces)]
    return Sequences(
        np.concatenate([series.flat, *pieces]), np.concatenate([[0], np.cumsum(lengths)])
    ), called


def counts_of(series: Sequences, states: int) -> NDArray[np.int64]:
    """Transitions of each series, shape (series, k, k)."""
    number = np.repeat(np.arange(series.count), series.lengths)
    flat = series.flat.astype(np.int64)
    within = number[:-1] == number[1:]
    code = (number[:-1] * states + flat[:-1]) * states + flat[1:]
    found = np.bincount(code[within], minlength=series.count * states**2)
    return np.asarray(found.reshape(series.count, states, states))


def _own_models(
    counts: NDArray[np.int64], origin: Origin, wishes: Wishes
) -> list[tuple[int, DataModel | None]]:
    """A chain or box of order 1 for each series that has enough points, where there is one."""
    return [(place, _first(counts[place], origin, wishes)) for place in enough(counts)]


def enough(counts: NDArray[np.int64]) -> list[int]:
    """Which series leave each state often enough, and stay in it now and then."""
    staying = np.diagonal(counts, axis1=1, axis2=2)
    leaving = counts.sum(axis=2) - staying
    sound = (leaving.min(axis=1) >= ENOUGH_CHANGES) & (staying.min(axis=1) > 0)
    return [int(place) for place in np.flatnonzero(sound)]


def _first(counts: NDArray[np.int64], origin: Origin, wishes: Wishes) -> DataModel | None:
    """The chain of order 1, or its box; None where it could not be published."""
    if len(counts) == 2 and wishes.confidence is not None:
        return _boxed(counts, origin, wishes.confidence, wishes.low)
    chain = first_order(counts, origin)
    try:
        if origin == "private" and chain.states == 2:
            chain.public_box()
        return chain
    except InvalidInput:
        # Too few points for limits that may be published: the pooled chain stands for it.
        return None


def _boxed(
    counts: NDArray[np.int64], origin: Origin, confidence: float, low: bool
) -> DataModel | None:
    """The box around a fit, which goes up to where q + r is 1; no chain is made on the way.

    A public chain next to that stands for itself. The box of a private one is lowered on its upper
    ends, but not below the limits of the fit; None where these reach as far, or where there are
    too few points for limits that may be published: the pooled chain stands for it then.
    """
    if origin != "private":
        box = region_from_counts(counts, confidence, origin)
        return first_order(counts, origin) if box.q[1] + box.r[1] >= 1 else box
    (stay, leave), (back, keep) = counts.tolist()
    try:
        q, r = public_box(leave / (leave + stay), back / (back + keep), int(counts.sum()))
        box = region_around(q, r, counts, confidence)
    except InvalidInput:
        return None
    if not (low or box.q[1] + box.r[1] >= 1):
        return box
    room, wide = LARGEST_SUM - q[1] - r[1], (box.q[1] - q[1]) + (box.r[1] - r[1])
    if room <= 0:
        return None
    share = 0.0 if low else room / wide
    q_high, r_high = (
        fit[1] + share * (end - fit[1]) for fit, end in ((q, box.q[1]), (r, box.r[1]))
    )
    return ChainRegion((box.q[0], q_high), (box.r[0], r_high), box.estimate, origin)


def _longer(
    series: Sequences, names: list[str], places: list[int], pooled: MarkovChain, origin: Origin,
    wishes: Wishes,
) -> list[tuple[str, DataModel]]:  # fmt: skip
    """Chains of the order that is asked for, or that the data ask for, where that is above 1.

    Of private series only the one of all together: nobody's own is published.
    """
    if wishes.order == 1:
        return []
    if origin == "private":
        every = [_piece(series, place) for place in range(series.count)]
        return _of_order([(LONGER, every)], pooled.states, origin, wishes)
    named = [(f"{names[place]}, longer memory", [_piece(series, place)]) for place in places]
    return _of_order(named, pooled.states, origin, wishes)


def _piece(series: Sequences, place: int) -> NDArray[Any]:
    return np.asarray(series.flat[series.offsets[place] : series.offsets[place + 1]])


def _of_order(
    named: Iterable[tuple[str, list[NDArray[Any]]]], states: int, origin: Origin, wishes: Wishes
) -> list[tuple[str, DataModel]]:
    found: list[tuple[str, DataModel]] = []
    for name, data in named:
        order = choose_order(data, states).order if wishes.order == "auto" else wishes.order
        if order > 1:
            found.append((name, fit_chain(data, states, origin, order, wishes.pseudocount)))
    return found


def _margin(
    models: Sequence[DataModel], pooled: MarkovChain, origin: Origin, unseen: float
) -> list[tuple[str, DataModel]]:
    """Boxes that hold the chain of one more person, with the probability asked for.

    With x and y the logits of q and r, the pace ``(x + y) / 2`` and the lean ``x - y`` of one
    more person lie in their prediction intervals (Student's t) with that probability, if persons
    are draws from a normal law: a third of the error for a slower pace, a third for a faster one,
    a third for the lean. Both ranges are cut, and each cell is covered by a box of q and r.
    """
    seen = [_fitted_at(model) for model in models if model.box is not None]
    if pooled.states != 2:
        return []
    if len(seen) < FEWEST_SEEN:
        raise InvalidInput(
            "unseen", f"{unseen!r}, with {len(seen)} series that have a model of their own",
            f"0, or {FEWEST_SEEN} such series to make a margin for others from",
            "unseen=0 is for data whose own series are to be released.",
        )  # fmt: skip
    logits = np.array([[_logit(q), _logit(r)] for q, r in seen])
    pace, lean = logits.mean(axis=1), logits[:, 0] - logits[:, 1]
    third = (1 - unseen) / 3
    paces = _predicted(pace, third), _predicted(pace, third, up=True)
    leans = _predicted(lean, third / 2), _predicted(lean, third / 2, up=True)
    cells = itertools.product(_pieces(paces, STRIPS), _pieces(leans, SLICES))
    boxes = [box for cell in cells if (box := _cell(*cell)) is not None]
    return [
        (f"persons not seen, {number} of {len(boxes)}", ChainRegion(box[:2], box[2:], None, origin))
        for number, box in enumerate(boxes, 1)
    ]


def _fitted_at(model: DataModel) -> tuple[float, float]:
    """q and r of a chain, or those that a box was made around."""
    if isinstance(model, ChainRegion):
        return model.estimate
    assert model.box is not None
    return model.box[0], model.box[2]


def _pieces(ends: tuple[float, float], count: int) -> list[tuple[float, float]]:
    """A range cut into so many of the same width."""
    cuts = np.linspace(*ends, count + 1).tolist()
    return list(itertools.pairwise(cuts))


def _predicted(values: FloatArray, error: float, up: bool = False) -> float:
    """The bound that one more value stays above, or below, but for ``error``."""
    from scipy.stats import t

    n = len(values)
    reach = float(t.isf(error, n - 1)) * float(values.std(ddof=1)) * math.sqrt(1 + 1 / n)
    return float(values.mean()) + (reach if up else -reach)


def _cell(paces: tuple[float, float], leans: tuple[float, float]) -> Box | None:
    """The box around the chains of a range of paces and leans.

    Its upper ends are lowered where q + r would reach 1, from where boxes do not go.
    """
    (slow, fast), (low, high) = paces, leans
    q_low, q_high = _share(slow + low / 2), _share(fast + high / 2)
    r_low, r_high = _share(slow - high / 2), _share(fast - low / 2)
    room, wide = LARGEST_SUM - q_low - r_low, (q_high - q_low) + (r_high - r_low)
    if room <= 0:
        return None
    shrink = min(1.0, room / wide) if wide > 0 else 1.0
    return q_low, q_low + shrink * (q_high - q_low), r_low, r_low + shrink * (r_high - r_low)


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _share(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _merged(named: list[tuple[str, DataModel]], origin: Origin) -> list[tuple[str, DataModel]]:
    """Of very many models of order 1 those next to each other in one small box around them.

    So wide as is needed for a family to hold them all.
    """
    if len(named) <= MANY:
        return named
    width = math.log(CELL)
    found = _in_cells(named, width, origin)
    while len(found) > MOST_MEMBERS and width < WIDEST_CELL:
        width *= 2
        found = _in_cells(named, width, origin)
    return found


def _in_cells(
    named: list[tuple[str, DataModel]], width: float, origin: Origin
) -> list[tuple[str, DataModel]]:
    """One box in place of all chains and boxes whose ends lie in the same cell, by logarithms."""
    cells: dict[tuple[int, ...], list[tuple[str, DataModel]]] = {}
    kept = []
    for name, model in named:
        if model.box is None:
            kept.append((name, model))
            continue
        cell = tuple(int(math.log(end) // width) for end in model.box)
        cells.setdefault(cell, []).append((name, model))
    for several in cells.values():
        if len(several) == 1:
            kept.append(several[0])
            continue
        # Limits that may be published: those of private fits themselves would give counts away.
        q_low, q_high, r_low, r_high = hull([public_limits(model) for _, model in several])
        if q_high + r_high >= 1:
            kept += several
            continue
        one = ChainRegion((q_low, q_high), (r_low, r_high), origin=origin)
        kept.append((f"{several[0][0]} and others", one))
    return kept
