"""What every noise and every model has to satisfy, checked on an instance.

``cv.noise.check_noise`` and ``cv.model.check_model`` are here. Each clause of a contract is a
function of this file. It compares what the instance says of itself with what the rest of the
package makes of it: the solvers with an enumeration of the definition, the samplers with the law,
the weights of estimators with the indicators that they estimate, a certificate with its
verification. Randomness has a fixed study seed, so that a result does not change.
"""

from __future__ import annotations

import contextlib
import json
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from chainveil import inference, mechanism
from chainveil.calibration import calibrate
from chainveil.certificate import Certificate
from chainveil.checks import FloatArray
from chainveil.errors import BrokenContract, InvalidInput, NotSupported
from chainveil.estimate.noise_law import as_noise_law
from chainveil.model.base import DataModel, read_model, require_model
from chainveil.model.chain import MarkovChain
from chainveil.noise.automaton import Automaton
from chainveil.noise.base import GRID, NEEDS, Noise, form_of, noise_class, read_noise, require_noise
from chainveil.noise.channel import Channel
from chainveil.noise.memory import StickyNoise
from chainveil.noise.wrong import long_run_law, wrong_share
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import AdversaryName
from chainveil.privacy.enumeration import loss as enumeration
from chainveil.privacy.loss import privacy_loss
from chainveil.privacy.problem import Aim, read_problem
from chainveil.privacy.result import PrivacyLoss
from chainveil.table import sanitize_table, verify

IntArray = NDArray[np.int64]

SEED = 20  # of the study source, and of the series that samplers are tried on
FALSE_ALARM = 1e-6  # chance that a right sampler fails one of its comparisons with the law
POINTS = 240_000  # reports that a sampler is compared by
LEAST_EXPECTED = 5.0  # reports that are expected in a cell of a chi-square statistic, at least
MISSING = 0.2  # share of missing points, where noise is tried with them
ENTRIES = 1 << 13  # of the joint law of series and outputs that are enumerated for one loss
ALIKE = 1e-9  # of probabilities that are computed in two ways, relatively
LOOSE = 1e-3  # of a loss; by so much an upper bound may be above it
BUDGET = 1.0  # nats; noise is searched for within it
CHANGE = 0.99  # factor by which a claimed loss is changed

# A clause returns None where it holds, and why it does not apply where it does not.
Clause = Callable[[Any], str | None]


def check_noise(noise: Noise) -> dict[str, str]:
    """Check that a noise satisfies the whole contract, so that everything works with it.

    Parameters
    ----------
    noise : Noise
        An instance, of a class of the package or of any other that is registered.

    Returns
    -------
    dict of str to str
        For each clause "holds", or why it does not apply.

    Raises
    ------
    BrokenContract
        It names the first clause that does not hold, and what was found.

    Notes
    -----
    The clauses are:

    - *tags*: the class is registered under its kind, and what a report ``sees`` fits its laws.
    - *automaton*: for each label, phase and pair of states the likelihoods of the reports sum to
      one, with missing points and without.
    - *laws*: the automaton gives each output the likelihood that ``first_law``, ``step_law`` and
      ``after_gap_law`` give it.
    - *written form*: JSON and pickle keep the noise, and the rows of its matrix sum to one.
    - *grid*: ``on_grid`` changes no probability by more than rounding, and is idempotent.
    - *wrong reports*: ``expected_flips`` is what the laws lead to in the long run.
    - *loss*: bounds on the loss enclose an enumeration of the definition, and attacks replay.
    - *sampler*: reports of arrays follow the law, by a chi-square test that fails for a right
      sampler with a probability of at most 1e-6; streams draw what arrays draw.
    - *smoothing*: posterior probabilities are those of the joint law.
    - *estimates*: the weights of reports are unbiased, where the noise has weights.
    - *certificate*: plan and release verify, and do not when a number is changed.
    - *calibration*: the search finds noise of the kind within a budget, where there is a search.

    Examples
    --------
    >>> import chainveil as cv
    >>> cv.noise.check_noise(cv.Channel.binary(0.2, 0.3))["sampler"]
    'holds'
    """
    require_noise(noise)
    return _checked(noise, _OF_NOISE)


def check_model(model: DataModel) -> dict[str, str]:
    """Check that a model satisfies the whole contract, so that everything works with it.

    Parameters
    ----------
    model : DataModel
        An instance, of a class of the package or of any other that is registered.

    Returns
    -------
    dict of str to str
        For each clause "holds", or why it does not apply.

    Raises
    ------
    BrokenContract
        It names the first clause that does not hold, and what was found.

    Notes
    -----
    The clauses are:

    - *law*: ``series_law`` is a law for every length, and lengths fit each other.
    - *hidden chain*: it is a chain that has the same law; ``unfolded`` has one path a series.
    - *order*: a point depends on as many points before it as ``order`` says.
    - *long run*: ``stationary`` is the share of each state in the long run.
    - *members*: a model covers itself, its members and the chains of its box.
    - *written form*: JSON and pickle keep the model.
    - *loss*: bounds on the loss enclose an enumeration of the definition for each of its laws, and
      attacks replay.
    - *certificate*: a plan verifies, and does not when a number is changed.

    Examples
    --------
    >>> import chainveil as cv
    >>> cv.model.check_model(cv.MarkovChain.symmetric(0.1))["loss"]
    'holds'
    """
    require_model(model, "model")
    return _checked(model, _OF_MODELS)


def _checked(subject: Noise | DataModel, clauses: Mapping[str, Clause]) -> dict[str, str]:
    """The report of all clauses; an error at the first that does not hold."""
    report = {}
    for name, clause in clauses.items():
        try:
            reason = clause(subject)
        except _Broken as broken:
            raise BrokenContract(type(subject).__name__, name, str(broken)) from None
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            raise BrokenContract(type(subject).__name__, name, found) from error
        report[name] = "holds" if reason is None else f"does not apply: {reason}"
    return report


class _Broken(Exception):
    """What was found in place of what the clause asks for."""


def _require(holds: Any, found: str) -> None:
    if not np.all(holds):
        raise _Broken(found)


def _close(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=ALIKE, atol=ALIKE))


# --------------------------------------------------------------------------------- noise: the laws
def _tags(noise: Noise) -> None:
    kind = type(noise)
    _require(noise_class(noise.kind) is kind, f"the kind {noise.kind!r} is that of another class")
    _require(noise.sees in NEEDS, f"sees is {noise.sees!r}, not one of {', '.join(NEEDS)}")
    sizes = noise.states, noise.outputs
    _require(sizes[0] >= 2 and sizes[1] >= 1, f"{sizes[0]} states and {sizes[1]} reports")
    first, step = noise.first_law(), noise.step_law()
    k, m = sizes
    _require(first.shape == (k, m), f"first_law has the shape {first.shape}, not {(k, m)}")
    shape = (m, k, k, m)
    _require(step.shape == shape, f"step_law has the shape {step.shape}, not {shape}")
    if noise.sees != "series":
        same = _close(step, step[:, :1])
        _require(same, f"sees is {noise.sees!r}, but step_law depends on the point before")
    if noise.sees == "point":
        same = _close(step, first)
        _require(same, 'sees is "point", but step_law depends on more than the point itself')
        _require(not noise.holds, 'sees is "point", so that there is no last report to hold')
    if noise.holds:
        shape_after, wanted = noise.after_gap_law().shape, (m, k, m)
        _require(shape_after == wanted, f"after_gap_law has the shape {shape_after}, not {wanted}")
    _require(noise.describe(), "describe() is empty")


def _well_formed(noise: Noise) -> None:
    for gaps in (False, True):
        automaton = noise.automaton(gaps)
        k, m = noise.states, noise.outputs
        _require(automaton.states == k, f"the automaton has {automaton.states} states, not {k}")
        _require(len(automaton.steps) == len(automaton.edges), "two edges with one observation")
        for edge in automaton.edges:
            about = f"the edge at phase {edge.phase} with the observation {edge.observation}"
            inside = 0 <= edge.source < automaton.labels and 0 <= edge.target < automaton.labels
            _require(inside and 0 <= edge.phase < automaton.period, f"{about} leaves the labels")
            seen = edge.observation
            _require(
                seen is None or (isinstance(seen, int) and 0 <= seen < m),
                f"{about}, which is no report",
            )
            shape = np.shape(edge.law)
            _require(shape == (k, k), f"{about} has a law of the shape {shape}")
            _require((edge.law >= 0) & (edge.law <= 1 + ALIKE), f"{about} has no probabilities")
            opening = edge.source == automaton.start and edge.phase == 0
            same = not opening or _close(edge.law, edge.law[:1])
            _require(same, f"{about} is at the first point, and depends on a point before")
        due = {edge.phase for edge in automaton.edges if edge.observation is not None}
        places = {int(place) % automaton.period for place in noise.places(2 * automaton.period)}
        _require(due == places, f"reports at the phases {sorted(due)}, but places() says {places}")
        for phase, label in _reachable(automaton):
            for missing in (False, True):
                laws = [
                    edge.law
                    for edge in automaton.by_phase[phase]
                    if edge.source == label and edge.missing == missing
                ]
                total = np.sum(laws, axis=0)
                where = f"label {label} at phase {phase}{' of a missing point' if missing else ''}"
                _require(
                    (not laws and missing) or _close(total, 1.0),
                    f"the likelihoods of the edges that leave {where} sum to "
                    f"{np.min(total):.6g} to {np.max(total):.6g}, not to one",
                )


def _reachable(automaton: Automaton) -> set[tuple[int, int]]:
    """Phases with the labels that stand before them."""
    found: set[tuple[int, int]] = set()
    waiting = [(0, automaton.start)]
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        found.add(place)
        waiting += [
            ((place[0] + 1) % automaton.period, edge.target)
            for edge in automaton.by_phase[place[0]]
            if edge.source == place[1] and np.any(edge.law > 0)
        ]
    return found


def _same_laws(noise: Noise) -> None:
    for gaps in (False, True) if noise.holds or not noise.ordered else (False,):
        length = _longest(noise, gaps, enumeration.MOST_ENTRIES >> 4)
        outputs, likelihood = enumeration.report_law(noise.automaton(gaps), length)
        for number, output in enumerate(outputs):
            found, wanted = likelihood[..., number], _likelihood(noise, output)
            _require(
                _close(found, wanted),
                f"the automaton and the laws differ by {np.abs(found - wanted).max():.3g} in the "
                f"likelihood of {output}, where None is a point without a report",
            )


def _likelihood(noise: Noise, output: Sequence[Any]) -> FloatArray:
    """``Pr[output | x_1, …, x_n]``, shape (k,) * n, from the laws of single reports."""
    n, k = len(output), noise.states
    due = set(noise.places(n).tolist())
    found, last, held = np.ones((k,) * n), None, False
    for t, seen in enumerate(output):
        _require(t in due or seen is None, f"a report at point {t}, where none is due")
        if seen is None:
            held = held or (t in due and noise.holds)
            continue
        shape = [1] * n
        shape[t] = k
        if last is None:
            law = noise.first_law()[:, seen]
        elif held:
            law = noise.after_gap_law()[last, :, seen]
        else:
            law = noise.step_law()[last, :, :, seen]
            shape[t - 1] = k
        found, last, held = found * np.reshape(law, shape), seen, False
    return found


def _longest(noise: Noise, gaps: bool, entries: int = ENTRIES) -> int:
    """The most points whose series and outputs can be enumerated; two, or a report, at least."""
    k, length = noise.states, max(2, noise.first_place + 1)
    while length < max(6, 2 * noise.every + 1):
        size = k ** (length + 1) * (noise.outputs + gaps) ** len(noise.places(length + 1))
        if size > entries:
            break
        length += 1
    return length


def _written(noise: Noise) -> None:
    words = noise.to_json()
    again = read_noise(json.loads(json.dumps(words)))
    _require(type(again) is type(noise), f"JSON is read back as {type(again).__name__}")
    _require(again.to_json() == words, "JSON is read back as noise with other numbers")
    _require(again.every == noise.every, f"JSON is read back with every={again.every}")
    copied = pickle.loads(pickle.dumps(noise))
    _require(copied == noise and hash(copied) == hash(noise), "a copy by pickle is not equal")
    rows = np.array(noise.to_matrix())
    sound = rows.ndim == 2 and _close(rows.sum(axis=1), 1.0)
    _require(sound, "to_matrix() has rows that do not sum to one")


def _grid(noise: Noise) -> None:
    grid = noise.on_grid()
    _require(type(grid) is type(noise), f"on_grid() is {type(grid).__name__}")
    _require(grid.every == noise.every, f"on_grid() has every={grid.every}, not {noise.every}")
    before, after = np.array(noise.to_matrix()), np.array(grid.to_matrix())
    units = after * GRID
    _require(units == np.rint(units), "on_grid() has probabilities that are no multiples of 2^-53")
    _require(units.sum(axis=1) == GRID, "on_grid() has rows that do not sum to one exactly")
    _require(np.abs(after - before) <= ALIKE, "on_grid() changes more than rounding does")
    _require((after > 0) == (before > 0), "on_grid() changes what is possible")
    _require(grid.on_grid().to_matrix() == grid.to_matrix(), "on_grid() changes noise on the grid")


def _wrong_reports(noise: Noise) -> str | None:
    if noise.outputs != noise.states:
        return "there are not as many reports as states"
    for chain in _chains(noise.states):
        found, wanted = noise.expected_flips(chain), wrong_share(noise, chain)
        _require(_close(found, wanted), f"expected_flips is {found!r}, but the laws say {wanted!r}")
    return None


# --------------------------------------------------------------------------------- noise: the loss
def _chains(states: int) -> list[MarkovChain]:
    """A chain that begins as it goes on, and one that does not."""
    rng = np.random.default_rng(SEED)
    weights = 0.6 * np.eye(states) + 0.4 * rng.dirichlet(np.ones(states), states)
    return [MarkovChain(weights), MarkovChain(weights[::-1, ::-1], rng.dirichlet(np.ones(states)))]


def _loss_of_noise(noise: Noise) -> None:
    lengths = sorted({1, noise.first_place + 1, _longest(noise, True)})
    for chain, gaps in product(_chains(noise.states), (False, True)):
        largest = 0.0
        for length, adversary in product(lengths, get_args(AdversaryName)):
            truth = _enclosed(chain, noise, length, adversary, gaps)
            largest = max(largest, truth.lower if adversary == "any" else 0.0)
        try:
            found = privacy_loss(chain, noise, gaps=gaps)
        except NotSupported:
            continue
        _require(
            found.epsilon >= largest * (1 - ALIKE),
            f"the bound for every length is {found.epsilon!r}, but series of {lengths[-1]} points "
            f"lose {largest!r}",
        )
        _replays(found, chain, noise, gaps)


def _enclosed(
    model: DataModel, noise: Noise, length: int, adversary: AdversaryName, gaps: bool = False
) -> PrivacyLoss:
    """The enumerated loss of a model that is one law, enclosed by the bounds of the solvers."""
    truth = enumeration.loss(read_problem(model, noise, length, adversary, gaps=gaps))
    found = privacy_loss(model, noise, length=length, adversary=adversary, gaps=gaps)
    about = f"at length {length}, against {adversary}{', with missing points' if gaps else ''} "
    about += (
        f"the loss is {truth.lower!r}, but its bounds are {found.lower!r} and {found.epsilon!r}"
    )
    _require(found.epsilon >= truth.lower * (1 - ALIKE) - ALIKE, about)
    _require(found.epsilon <= truth.epsilon * (1 + LOOSE) + LOOSE, about)
    _require(found.lower <= truth.epsilon * (1 + ALIKE) + ALIKE, about)
    _replays(found, model, noise, gaps)
    return truth


def _replays(found: PrivacyLoss, model: DataModel, noise: Noise, gaps: bool = False) -> None:
    if found.witness is None:
        _require(found.lower == 0, f"a lower bound of {found.lower!r} without an attack")
        return
    value = found.witness.replay(found.chain or model, noise, gaps)
    same = value == found.lower or _close(value, found.lower)
    _require(same, f"the attack attains {value!r} when it is replayed, not {found.lower!r}")


# ------------------------------------------------------------------------------ noise: the reports
def _sampler(noise: Noise) -> None:
    points = 4 * noise.every + 4
    states = _chains(noise.states)[0].sample(points, POINTS // points, rng=SEED).astype(np.int64)
    source = mechanism.seeded(SEED)
    _follows(noise, False, states, np.asarray(mechanism.sanitize(states, noise, rng=source)))
    if noise.holds or not noise.ordered:
        missing = np.random.default_rng(SEED).random(states.shape) < MISSING
        seen = np.where(missing, -1, states)
        kept = mechanism.sanitize(seen, noise, rng=source, missing="keep")
        _follows(noise, True, states, np.where(missing, -1, kept))
    _streams(noise, states.ravel()[:1000])


def _follows(noise: Noise, gaps: bool, states: IntArray, reports: IntArray) -> None:
    """Reports, -1 for missing points, are compared with the law of the realised noise."""
    automaton = noise.on_grid().automaton(gaps)
    counts = np.zeros((len(automaton.edges), *(noise.states,) * 2), np.int64)
    due = set(noise.places(states.shape[1]).tolist())
    label = np.full(len(states), automaton.start)
    table = np.full((automaton.period, automaton.labels, noise.outputs + 1), -1)
    for number, edge in enumerate(automaton.edges):
        # The last column is for a point without a report.
        column: Any = noise.outputs if edge.observation is None else edge.observation
        table[edge.phase, edge.source, column] = number
    targets = np.array([edge.target for edge in automaton.edges])
    for t in range(states.shape[1]):
        seen = reports[:, t] if t in due else np.full(len(states), -1)
        taken = table[t % automaton.period, label, np.where(seen < 0, noise.outputs, seen)]
        _require(taken >= 0, f"a report at point {t} that the automaton does not have")
        np.add.at(counts, (taken, states[:, max(t - 1, 0)], states[:, t]), 1)
        label = targets[taken]
    _is_likely(automaton, counts, "with missing points" if gaps else "without missing points")


def _is_likely(automaton: Automaton, counts: IntArray, about: str) -> None:
    """Chi-square test of how often each edge was taken, given label, phase and states."""
    # Its import takes long.
    from scipy.special import chdtrc

    statistic, freedom = 0.0, 0
    for phase, label in _reachable(automaton):
        chosen = [
            number
            for number, edge in enumerate(automaton.edges)
            if (edge.phase, edge.source, edge.missing) == (phase, label, False)
        ]
        laws = np.array([automaton.edges[number].law for number in chosen])
        for before, now in np.ndindex(laws.shape[1:]):
            seen = counts[chosen, before, now]
            expected = laws[:, before, now] * seen.sum()
            impossible = bool(np.any(seen[expected == 0]))
            _require(not impossible, f"a report, {about}, that the law rules out")
            one, degrees = _chi_square(seen, expected)
            statistic, freedom = statistic + one, freedom + degrees
    chance = float(chdtrc(freedom, statistic)) if freedom else 1.0
    _require(
        chance >= FALSE_ALARM,
        f"reports of {counts.sum():,} points, {about}, do not follow the law: chi-square is "
        f"{statistic:.1f} with {freedom} degrees of freedom, which has probability {chance:.1g}",
    )


def _chi_square(seen: IntArray, expected: FloatArray) -> tuple[float, int]:
    """The statistic and its degrees of freedom; rare cells are taken together."""
    cells: list[tuple[float, float]] = []
    for place in np.argsort(expected):
        wanted, found = float(expected[place]), float(seen[place])
        if cells and cells[-1][0] < LEAST_EXPECTED:
            cells[-1] = cells[-1][0] + wanted, cells[-1][1] + found
        elif wanted > 0:
            cells.append((wanted, found))
    if not cells or cells[0][0] < LEAST_EXPECTED:
        return 0.0, 0
    return sum((found - wanted) ** 2 / wanted for wanted, found in cells), len(cells) - 1


def _streams(noise: Noise, states: IntArray) -> None:
    """A stream that is saved and restored draws what one call draws for the whole series."""
    whole = np.asarray(mechanism.sanitize(states, noise, rng=mechanism.seeded(SEED)))
    stream = mechanism.Stream(noise, mechanism.seeded(SEED))
    found = [*stream.push(states[:500]), *(stream.push(int(state)) for state in states[500:520])]
    again = mechanism.Stream.restore(json.loads(json.dumps(stream.save())))
    found += [*again.push(states[520:])]
    made = [report for report in found if report is not None]
    same = made == whole[noise.places(len(states))].tolist()
    _require(same, "a stream draws other reports than an array")


def _smoothing(noise: Noise) -> str | None:
    if noise.every != 1:
        return "not every point reports"
    chain = _chains(noise.states)[1]
    length = _longest(noise, False)
    outputs, likelihood = enumeration.report_law(noise.automaton(), length)
    joint = chain.series_law(length)[..., None] * likelihood
    chosen = np.random.default_rng(SEED).permutation(len(outputs))[:20]
    for number in chosen:
        if not joint[..., number].any():
            continue
        found = inference.smoothed(chain, noise, np.array(outputs[number]))
        for t in range(length):
            others = tuple(place for place in range(length) if place != t)
            law = joint[..., number].sum(axis=others)
            _require(
                _close(found[t], law / law.sum()),
                f"the posterior of point {t} given {outputs[number]} is {found[t]}, not that of "
                f"the joint law, {law / law.sum()}",
            )
    return None


def _estimates(noise: Noise) -> str | None:
    law = as_noise_law(noise)
    try:
        if not law.from_counts:
            return "what the noise does cannot be undone without a model"
    except InvalidInput:
        return "states do not differ in what they report"
    source, m, k = law.source, law.outputs, law.states
    length = max(3, _longest(source, False))
    outputs, likelihood = enumeration.report_law(source.automaton(), length)
    reports = np.array(outputs, np.int64)
    # With reports that look back, a weight is for a report and the one before it.
    codes = reports[:, :-1] * m + reports[:, 1:] if law.looks_back else reports
    first, size = length - codes.shape[1], m * m if law.looks_back else m
    for window in ((0,), (0, 1)):
        weights = law.inverse(window).reshape(*(size,) * len(window), *(k,) * len(window))
        for t in range(codes.shape[1] - len(window) + 1):
            of_output = weights[tuple(codes[:, t + step] for step in window)]
            mean = np.tensordot(likelihood, of_output, axes=1)
            states = [range(t + first, t + first + len(window))][0]
            wanted = np.ones((k,) * length + (k,) * len(window))
            for step, place in enumerate(states):
                shape = [1] * wanted.ndim
                shape[place] = shape[length + step] = k
                wanted = wanted * np.eye(k).reshape(shape)
            error = float(np.abs(mean - wanted).max())
            _require(
                error <= ALIKE * max(1.0, float(np.abs(weights).max())),
                f"the mean of the weights of {len(window)} reports from point {t} on differs by "
                f"{error:.3g} from the indicator of the states behind them",
            )
    return None


# --------------------------------------------------------------------------- plans and certificates
def _plan(model: DataModel, noise: Noise) -> NoisePlan:
    """For every length where that takes a moment, else for a few points."""
    quick = model.states == 2 and model.order == 1
    length = None if quick else _longest(noise, False)
    loss = privacy_loss(model, noise, length=length)
    epsilon = max(loss.epsilon, 1e-6)
    return NoisePlan(model, noise, loss, epsilon, Aim(epsilon).objective)


def _certificate_of_noise(noise: Noise) -> str | None:
    if noise.outputs != noise.states:
        return "there are not as many reports as states"
    chain = _chains(noise.states)[0]
    plan = _plan(chain, noise.on_grid())
    if math.isinf(plan.loss.epsilon):
        return "the noise rules states out, so that its loss is infinite"
    _verifies(plan)
    # Its import takes long.
    import pyarrow as pa

    length = plan.loss.length or 60
    states = chain.sample(length, 3000 // length, rng=SEED)
    series = np.repeat(np.arange(len(states)), length)
    done = sanitize_table(
        pa.table({"series": series, "state": states.ravel().astype(np.int64)}), "state",
        series="series", states=list(range(noise.states)), plan=plan, rng=mechanism.seeded(SEED),
    )  # fmt: skip
    result = verify(done.certificate, done.table)
    _require(result.holds, f"the certificate of a release: {'; '.join(result.objections)}")
    return None


def _verifies(plan: NoisePlan) -> None:
    """The certificate of a plan verifies, and does not when a number is changed and sealed."""
    certificate = Certificate.from_json(plan.certificate().to_json())
    result = certificate.verify()
    _require(result.holds, f"the certificate of a plan: {'; '.join(result.objections)}")
    again = certificate.plan()
    _require(again.noise == plan.noise, "a certificate is read back as other noise")
    changed = json.loads(certificate.to_json())
    row = changed["noise"]["matrix"][0]
    place = int(np.argmax(row))
    row[place], row[place - 1] = row[place] - 2.0**-30, row[place - 1] + 2.0**-30
    _require(not _holds(changed), "a certificate verifies with other noise than it was made for")
    if plan.loss.epsilon > LOOSE:
        changed = json.loads(certificate.to_json())
        changed["loss"]["epsilon"] *= CHANGE
        changed["loss"]["lower"] *= CHANGE
        _require(not _holds(changed), "a certificate verifies with a smaller loss than it has")


def _holds(document: dict[str, Any]) -> bool:
    fields = {name: part for name, part in document.items() if name != "seal"}
    return Certificate.sealed(fields).verify().holds


def _calibration(noise: Noise) -> str | None:
    if form_of(noise.kind) is None:
        return "there is no search for noise of the kind"
    chain = _chains(2)[0]
    plan = calibrate(chain, BUDGET, mechanism=noise.kind)
    _require(type(plan.noise) is type(noise), f"the search finds {type(plan.noise).__name__}")
    _require(plan.loss.epsilon <= BUDGET, f"a loss of {plan.loss.epsilon!r}, above {BUDGET}")
    _enclosed(chain, plan.noise, _longest(plan.noise, False), "any")
    return None


_OF_NOISE: dict[str, Clause] = {
    "tags": _tags,
    "automaton": _well_formed,
    "laws": _same_laws,
    "written form": _written,
    "grid": _grid,
    "wrong reports": _wrong_reports,
    "loss": _loss_of_noise,
    "sampler": _sampler,
    "smoothing": _smoothing,
    "estimates": _estimates,
    "certificate": _certificate_of_noise,
    "calibration": _calibration,
}


# -------------------------------------------------------------------------------------- the models
def _points(model: DataModel) -> int:
    """Points whose series are enumerated: more than a point depends on, where there are few."""
    most = int(math.log(ENTRIES, model.states))
    return max(1, min((model.order or 3) + 3, most))


def _law(model: DataModel) -> str | None:
    if not model.single:
        return "a set of laws has none of its own"
    before = np.ones(())
    for n in range(1, _points(model) + 1):
        law = model.series_law(n)
        shape = (model.states,) * n
        _require(law.shape == shape, f"series_law({n}) has the shape {law.shape}, not {shape}")
        _require(law >= 0, f"series_law({n}) has negative entries")
        _require(
            _close(law.sum(axis=-1), before),
            f"series_law({n}) summed over the last point is not series_law({n - 1})",
        )
        before = law
    return None


def _hidden_chain(model: DataModel) -> None:
    likeliest = model.likeliest
    _require(likeliest.single, "likeliest is a set of laws")
    _require(likeliest.states == model.states, f"likeliest has {likeliest.states} states")
    for one in {model, likeliest.unfolded()} if model.single else {likeliest}:
        start, transition, value = one.hidden_chain()
        size = len(start)
        _require(transition.shape == (size, size) and np.shape(value) == (size,), "shapes differ")
        _require(start >= 0, "negative probabilities to begin with")
        _require(transition >= 0, "negative transitions")
        _require(_close(start.sum(), 1.0), f"the law of the first point sums to {start.sum()!r}")
        _require(_close(transition.sum(axis=1), 1.0), "transitions do not sum to one")
        _require((value >= 0) & (value < model.states), "values that are no states")
    n = _points(likeliest)
    law = likeliest.series_law(n)
    for one, name in ((likeliest, "hidden_chain"), (likeliest.unfolded(), "unfolded")):
        start, transition, value = one.hidden_chain()
        fits = np.eye(model.states)[value]
        weights, paths = start[None] * fits.T, (start > 0)[None] * fits.T
        for _ in range(n - 1):
            weights, paths = (
                (now[:, None] * fits.T).reshape(-1, len(start))
                for now in (weights @ transition, paths @ (transition > 0))
            )
        found = weights.sum(axis=1).reshape(law.shape)
        _require(
            _close(found, law),
            f"{name} and series_law differ by {np.abs(found - law).max():.3g} at length {n}",
        )
        if name == "unfolded":
            _require(paths.sum(axis=1) <= 1, "unfolded() has a series with several paths")


def _order(model: DataModel) -> str | None:
    if not model.single or model.order is None:
        return "a point depends on others by no law that is always the same"
    order, k, n = model.order, model.states, _points(model)
    if n <= order:
        return "there are too many states to enumerate so many points"
    conditional: FloatArray | None = None
    for length in range(order + 1, n + 1):
        law = model.series_law(length).reshape(-1, k**order, k)
        seen = law.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = law / seen
        possible = (seen > 0).all(axis=0)
        here = ratio[0] if conditional is None else conditional
        wrong = np.abs(np.where((seen > 0) & ~np.isnan(here), ratio - here, 0.0))
        _require(
            wrong <= 1e3 * ALIKE,
            f"order is {order}, but point {length} of a series depends on more than {order} points "
            "before it, or by another law than an earlier point",
        )
        conditional = np.where(possible, ratio[0], here)
    return None


def _long_run(model: DataModel) -> None:
    share, k = model.stationary, model.states
    _require(np.shape(share) == (k,) and _close(np.sum(share), 1.0), f"stationary is {share}")
    start, transition, value = model.likeliest.hidden_chain()
    found = np.bincount(value, long_run_law(transition, start), k)
    _require(np.allclose(found, share, atol=1e-7), f"stationary is {share}, not {found}")


def _members(model: DataModel) -> None:
    members = model.members
    _require(len(members) > 0, "no members")
    _require(members == (model,) or not model.single, "a single law with other members")
    _require(model.covers(model), "a model that does not cover itself")
    for member in members:
        _require(member.states == model.states, f"a member with {member.states} states")
        _require(model.covers(member), f"a member that is not covered: {member.describe()}")
    for law in _laws_in(model):
        _require(model.covers(law), f"a chain that is not covered: {law.describe()}")


def _laws_in(model: DataModel) -> list[DataModel]:
    """Models of one law: members, and the corners of boxes."""
    found: list[DataModel] = []
    for member in model.members:
        if member.single or member.box is None:
            found.append(member.likeliest)
            continue
        low_q, high_q, low_r, high_r = member.box
        found += [MarkovChain.binary(q, r) for q in (low_q, high_q) for r in (low_r, high_r)]
    return found


def _written_model(model: DataModel) -> None:
    words = json.loads(json.dumps(model.to_json()))
    again = read_model(model.kind, words)
    _require(type(again) is type(model), f"JSON is read back as {type(again).__name__}")
    _require(again == model, "JSON is read back as another model")
    copied = pickle.loads(pickle.dumps(model))
    _require(copied == model and hash(copied) == hash(model), "a copy by pickle is not equal")
    _require(model.describe(), "describe() is empty")
    moved = model.of_origin("reference")
    _require(moved.to_json().keys() >= words.keys() - {"counts"}, "of_origin() loses numbers")
    if model.is_unrounded:
        with contextlib.suppress(InvalidInput):
            _require(not model.rounded().is_unrounded, "rounded() is not fit to be published")


def _loss_of_model(model: DataModel) -> None:
    k = model.states
    answer = Channel.randomized_response(k, 0.3)
    noises: list[Noise] = [answer]
    if model.order is not None:
        noises.append(StickyNoise.response(0.4, answer, Channel.randomized_response(k, 0.35)))
    laws = _laws_in(model)
    names: tuple[AdversaryName, ...] = get_args(AdversaryName)
    for noise, adversary in product(noises, names):
        length = _longest(noise, False)
        if model.single:
            _enclosed(model, noise, length, adversary)
            continue
        try:
            found = privacy_loss(model, noise, length=length, adversary=adversary)
        except NotSupported:
            continue
        for law in laws:
            truth = enumeration.loss(read_problem(law, noise, length, adversary))
            _require(
                found.epsilon >= truth.lower * (1 - ALIKE) - ALIKE,
                f"at length {length}, against {adversary} the upper bound is {found.epsilon!r}, "
                f"but {law.describe()} loses {truth.lower!r}",
            )
        _replays(found, model, noise)


def _certificate_of_model(model: DataModel) -> str | None:
    noise = Channel.randomized_response(model.states, 0.3).on_grid()
    # What was fitted on private data is certified in public numbers.
    plan = calibrate(model, BUDGET) if model.is_unrounded else _plan(model, noise)
    if math.isinf(plan.loss.epsilon):
        return "the loss of noise on every point is infinite"
    _verifies(plan)
    again = Certificate.from_json(plan.certificate().to_json()).plan().model
    found = f"a certificate is read back with {again.describe()}"
    _require(again.kind == plan.model.kind, found)
    parts = zip(again.hidden_chain(), plan.model.hidden_chain(), strict=True)
    _require(all(np.array_equal(one, other) for one, other in parts), found)
    return None


_OF_MODELS: dict[str, Clause] = {
    "law": _law,
    "hidden chain": _hidden_chain,
    "order": _order,
    "long run": _long_run,
    "members": _members,
    "written form": _written_model,
    "loss": _loss_of_model,
    "certificate": _certificate_of_model,
}
