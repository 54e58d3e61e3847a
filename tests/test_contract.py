"""The contract of every noise and every model, and that each clause finds what breaks it."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import chainveil as cv
from chainveil import contract, inference
from chainveil.certificate import maths, questions
from chainveil.certificate.results import Check
from chainveil.errors import BrokenContract
from chainveil.mechanism import samplers
from chainveil.mechanism.kernel_walk import KernelWalk
from chainveil.model import DataModel
from chainveil.model import base as model_base
from chainveil.noise import Noise
from chainveil.noise import base as noise_base
from tests.extending import page

RESPONSE = cv.Channel.randomized_response
STICKY = cv.StickyNoise.binary([[0.1, 0.3], [0.7, 0.9]], first=[0.3, 0.7])
NOISES: dict[str, Noise] = {
    "independent": cv.Channel.binary(0.2, 0.3),
    "independent, thinned": cv.Channel.binary(0.2, 0.3).thinned(3),
    "independent, three reports": cv.Channel([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]),
    "independent, with a zero": cv.Channel([[0.5, 0.5], [0.0, 1.0]]),
    "independent, ordinal": cv.Channel.ordinal(4, 0.5),
    "independent, that reveals nothing": cv.Channel.binary(0.5, 0.5),
    "sticky": STICKY,
    "sticky, thinned": STICKY.thinned(2),
    "sticky response": cv.StickyNoise.response(0.5, RESPONSE(3, 0.4), RESPONSE(3, 0.5)),
    "sticky, reports that alternate": cv.StickyNoise.from_matrix(
        [[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 0]]
    ),
    "tracking": cv.TrackingNoise.binary(
        [[[0.1, 0.6], [0.2, 0.5]], [[0.4, 0.8], [0.3, 0.9]]], [0.3, 0.7], [[0.2, 0.4], [0.6, 0.9]]
    ),
    "correlated": cv.CorrelatedNoise(0.125, 0.375),
    "correlated, flips that alternate": cv.CorrelatedNoise(0.9, 0.8),
}
SERIES = cv.MarkovChain.binary(0.1, 0.2).sample(2000, rng=3)
SLOW, FAST = cv.MarkovChain.binary(0.1, 0.2), cv.MarkovChain.binary(0.2, 0.3)
SECOND = cv.HigherOrderChain.fit(SERIES, 2, 2, public=True)
BOX = cv.ChainRegion((0.09, 0.11), (0.18, 0.22))
MODELS: dict[str, DataModel] = {
    "chain": SLOW,
    "chain, initial law": cv.MarkovChain.binary(0.1, 0.2, (0.9, 0.1)),
    "chain, certain first state": cv.MarkovChain.binary(0.1, 0.2, (1.0, 0.0)),
    "chain, alternating": cv.MarkovChain.binary(1.0, 1.0),
    "chain, private": cv.MarkovChain.fit(SERIES),
    "chain, three states": cv.MarkovChain([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.6, 0.4, 0.0]]),
    "order 2": SECOND,
    "order 2, private": cv.HigherOrderChain.fit(SERIES, 2, 2),
    "order 2, three states": cv.HigherOrderChain(
        np.random.default_rng(1).dirichlet(np.ones(3), 9), order=2
    ),
    "region": BOX,
    "family": cv.ModelFamily([SLOW, FAST]),
    "family of boxes": cv.ModelFamily([BOX, FAST]),
    "family of orders": cv.ModelFamily([SLOW, SECOND]),
}
# Those whose losses are searched for, which takes seconds.
SEARCHED = {
    "independent, ordinal", "sticky response", "chain, three states", "order 2",
    "order 2, private", "order 2, three states", "region", "family of boxes", "family of orders",
}  # fmt: skip


def _cases(names: Any) -> list[Any]:
    return [
        pytest.param(name, marks=pytest.mark.slow if name in SEARCHED else ()) for name in names
    ]


@pytest.mark.parametrize("name", _cases(NOISES))
def test_every_noise_satisfies_the_contract(name: str) -> None:
    report = cv.noise.check_noise(NOISES[name])
    assert list(report) == list(contract._OF_NOISE)
    left_out = [clause for clause, text in report.items() if text != "holds"]
    assert set(left_out) <= {"wrong reports", "smoothing", "estimates", "certificate"}, report
    assert name not in ("independent", "sticky", "correlated") or not left_out


@pytest.mark.parametrize("name", _cases(MODELS))
def test_every_model_satisfies_the_contract(name: str) -> None:
    model = MODELS[name]
    report = cv.model.check_model(model)
    assert list(report) == list(contract._OF_MODELS)
    left_out = {clause for clause, text in report.items() if text != "holds"}
    assert left_out <= ({"certificate"} if model.single else {"law", "order"}), report


def test_the_lists_have_every_kind() -> None:
    """Of the package: other tests may have registered others."""
    own = [known for known in noise_base.KINDS.values() if known.__module__.startswith("chainveil")]
    assert {type(noise) for noise in NOISES.values()} == set(own)
    models = [one for one in model_base.KINDS.values() if one.__module__.startswith("chainveil")]
    assert {type(model) for model in MODELS.values()} == set(models)


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The noise and the model of docs/extending.md, known to this process alone."""
    monkeypatch.setattr(noise_base, "KINDS", dict(noise_base.KINDS))
    monkeypatch.setattr(model_base, "KINDS", dict(model_base.KINDS))
    names: dict[str, Any] = {}
    for name, code in page.modules().items():
        (tmp_path / f"shown_{name}.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, f"shown_{name}", raising=False)
        names |= vars(importlib.import_module(f"shown_{name}"))
    return names


def test_noise_and_models_from_elsewhere_satisfy_it(examples: dict[str, Any]) -> None:
    noise = examples["RepeatingNoise"].make(repeat=0.3, rho=0.2)
    assert set(cv.noise.check_noise(noise).values()) == {"holds"}
    model = examples["SeasonalChain"](0.1, 0.4)
    report = cv.model.check_model(model)
    assert report.pop("order").startswith("does not apply")
    assert set(report.values()) == {"holds"}


def test_a_certificate_of_noise_that_no_other_process_has_is_computed_here(
    examples: dict[str, Any],
) -> None:
    """On a chain for which the loss of installed noise is computed in a process of its own."""
    chain = cv.MarkovChain.binary(0.003, 0.004)
    plan = cv.calibrate(chain, 2.0, mechanism="repeating")
    question = questions.ask(plan.certificate())
    assert not questions.is_light("loss", question)
    assert not questions.is_known_elsewhere(question)
    assert plan.certificate().verify().holds
    sticky = cv.calibrate(chain, 2.0, mechanism="sticky").certificate()
    assert questions.is_known_elsewhere(questions.ask(sticky))


def test_what_is_no_noise_and_no_model_is_refused() -> None:
    with pytest.raises(cv.InvalidInput, match="a Channel or another noise"):
        cv.noise.check_noise(SLOW)  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="a MarkovChain"):
        cv.model.check_model(STICKY)  # type: ignore[arg-type]


def test_the_error_names_subject_clause_and_finding() -> None:
    error = BrokenContract("MyNoise", "grid", "on_grid() changes noise on the grid")
    assert str(error) == (
        "MyNoise breaks the clause 'grid' of its contract: on_grid() changes noise on the grid"
    )
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.subject, copied.clause, copied.found) == ("MyNoise", "grid", error.found)
    assert str(copied) == str(error)


# -------------------------------------------------------------------------------- broken noise
FIRST = ((0.7, 0.3), (0.4, 0.6))
LATER = (((0.9, 0.1), (0.6, 0.4)), ((0.5, 0.5), (0.2, 0.8)))


@dataclass(frozen=True)
class Toy(Noise):
    """Noise that sees the last report."""

    kind = "toy"
    sees: ClassVar[Any] = "last report"
    first: Any = FIRST
    later: Any = LATER

    def first_law(self) -> Any:
        return np.array(self.first)

    def step_law(self) -> Any:
        return np.repeat(np.array(self.later)[:, None], 2, axis=1)

    def to_matrix(self) -> Any:
        return [list(row) for row in (*self.first, *(row for law in self.later for row in law))]

    @classmethod
    def from_matrix(cls, rows: Any) -> Any:
        rows = [tuple(map(float, row)) for row in rows]
        return cls(tuple(rows[:2]), (tuple(rows[2:4]), tuple(rows[4:])))

    def describe(self) -> str:
        return "a toy"


class SeesTooMuch(Toy):
    sees = "point"


class Unregistered(Toy):
    kind = "sticky"


class NotNormalised(Toy):
    def automaton(self, gaps: bool = False) -> Any:
        made = super().automaton(gaps)
        edges = (replace(made.edges[0], law=made.edges[0].law * 0.9), *made.edges[1:])
        return replace(made, edges=edges)


class OtherAutomaton(Toy):
    def automaton(self, gaps: bool = False) -> Any:
        return STICKY.automaton()


class Forgetful(Toy):
    @classmethod
    def from_matrix(cls, rows: Any) -> Any:
        return cls()


class OffGrid(Toy):
    def on_grid(self) -> Any:
        return self


class Rounded(Toy):
    def on_grid(self) -> Any:
        return type(self)(((0.75, 0.25), (0.5, 0.5)), self.later)


class Flattering(Toy):
    def expected_flips(self, chain: Any) -> float:
        return 0.01


class OtherWeights(cv.CorrelatedNoise):
    kind = "toy"

    def joint_law(self, offsets: Any) -> Any:
        return super().joint_law(offsets)[:, ::-1]


class OtherSearch(Toy):
    @classmethod
    def parametrization(cls, *asked: Any) -> Any:
        return cv.StickyNoise.parametrization(*asked)


def _with(change: Callable[[pytest.MonkeyPatch], None], noise: Any = Toy) -> tuple[Any, Any]:
    return noise, change


def _less_loss(patch: pytest.MonkeyPatch) -> None:
    usual = cv.privacy_loss

    def less(*asked: Any, **how: Any) -> Any:
        found = usual(*asked, **how)
        return replace(found, epsilon=0.98 * found.epsilon)

    patch.setattr("chainveil.contract.privacy_loss", less)


def _more_loss(patch: pytest.MonkeyPatch) -> None:
    usual = cv.privacy_loss

    def more(*asked: Any, **how: Any) -> Any:
        found = usual(*asked, **how)
        return replace(found, epsilon=1.02 * found.epsilon + 0.01)

    patch.setattr("chainveil.contract.privacy_loss", more)


def _other_lower(patch: pytest.MonkeyPatch) -> None:
    usual = cv.privacy_loss

    def other(*asked: Any, **how: Any) -> Any:
        found = usual(*asked, **how)
        return replace(found, lower=0.9 * found.lower)

    patch.setattr("chainveil.contract.privacy_loss", other)


def _other_sampler(patch: pytest.MonkeyPatch) -> None:
    """Reports by slightly other laws."""
    near = Toy(FIRST, (LATER[0], ((0.53, 0.47), (0.2, 0.8))))
    patch.setitem(samplers._SAMPLERS, "toy", lambda _, *how: KernelWalk(near, *how))


class _Alone(KernelWalk):
    """It draws single points in another way than arrays."""

    def one(self, point: int, state: int) -> int:
        return 1 - super().one(point, state)


def _other_stream(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(samplers._SAMPLERS, "toy", _Alone)


def _other_posterior(patch: pytest.MonkeyPatch) -> None:
    usual = inference.smoothed
    patch.setattr(inference, "smoothed", lambda *asked: usual(*asked) ** 1.001)


def _trusting(patch: pytest.MonkeyPatch) -> None:
    """Verification that believes every loss."""
    patch.setattr(maths, "_upper", lambda *_: Check("loss.epsilon", "holds", "so it is said"))


def _doubting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(maths, "_upper", lambda *_: Check("loss.epsilon", "fails", "so it is said"))


BROKEN: dict[str, list[tuple[Any, Any]]] = {
    "tags": [(SeesTooMuch, None), (Unregistered, None)],
    "automaton": [(NotNormalised, None)],
    "laws": [(OtherAutomaton, None)],
    "written form": [(lambda: Forgetful(FIRST, LATER[::-1]), None)],
    "grid": [(OffGrid, None), (Rounded, None)],
    "wrong reports": [(Flattering, None)],
    "loss": [_with(_less_loss), _with(_more_loss), _with(_other_lower)],
    "sampler": [_with(_other_sampler), _with(_other_stream)],
    "smoothing": [_with(_other_posterior)],
    "estimates": [(lambda: OtherWeights(0.1, 0.3), None)],
    "certificate": [_with(_trusting), _with(_doubting)],
    "calibration": [(OtherSearch, None)],
}


def test_each_clause_is_broken_once() -> None:
    assert list(BROKEN) == list(contract._OF_NOISE)
    assert list(BROKEN_MODELS) == list(contract._OF_MODELS)


def _each(broken: dict[str, list[tuple[Any, Any]]]) -> list[Any]:
    return [
        pytest.param(clause, *case, id=f"{clause}-{number}")
        for clause, cases in broken.items()
        for number, case in enumerate(cases)
    ]


@pytest.mark.parametrize(("clause", "make", "change"), _each(BROKEN))
def test_broken_noise_fails_the_clause(
    clause: str, make: Any, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = make()
    if noise.kind == "toy":
        monkeypatch.setitem(noise_base.KINDS, "toy", type(noise))
    if change is not None:
        change(monkeypatch)
    with pytest.raises(BrokenContract) as caught:
        cv.noise.check_noise(noise)
    assert (caught.value.subject, caught.value.clause) == (type(noise).__name__, clause)


def test_a_toy_that_is_not_broken_satisfies_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(noise_base.KINDS, "toy", Toy)
    report = cv.noise.check_noise(Toy())
    assert report.pop("calibration").startswith("does not apply")
    assert set(report.values()) == {"holds"}


# ------------------------------------------------------------------------------- broken models
@dataclass(frozen=True)
class ToyModel(DataModel):
    """Two states that change with probability ``theta``."""

    kind = "toy model"
    single = True
    theta: float = 0.2

    states = property(lambda self: 2)
    order = property(lambda self: 1)
    likeliest = property(lambda self: self)

    @property
    def stationary(self) -> Any:
        return np.array([0.5, 0.5])

    def _chain(self) -> cv.MarkovChain:
        return cv.MarkovChain.symmetric(self.theta)

    def series_law(self, n: int) -> Any:
        return self._chain().series_law(n)

    def hidden_chain(self) -> Any:
        return self._chain().hidden_chain()

    def to_json(self) -> dict[str, Any]:
        return {"theta": self.theta}

    @classmethod
    def from_json(cls, words: Any) -> Any:
        return cls(float(words["theta"]))


class NoLaw(ToyModel):
    def series_law(self, n: int) -> Any:
        return super().series_law(n) * (0.9 if n == 3 else 1.0)


class OtherHiddenChain(ToyModel):
    def hidden_chain(self) -> Any:
        return cv.MarkovChain.symmetric(0.21).hidden_chain()


class LongerMemory(ToyModel):
    def series_law(self, n: int) -> Any:
        return SECOND.series_law(n)

    def hidden_chain(self) -> Any:
        return SECOND.hidden_chain()

    stationary = property(lambda self: SECOND.stationary)

    def unfolded(self) -> Any:
        return SECOND.unfolded()


class OtherLongRun(ToyModel):
    stationary = property(lambda self: np.array([0.4, 0.6]))


class Uncovered(ToyModel):
    def covers(self, other: Any) -> bool:
        return False


class ForgetfulModel(ToyModel):
    @classmethod
    def from_json(cls, words: Any) -> Any:
        return cls(0.2)


BROKEN_MODELS: dict[str, list[tuple[Any, Any]]] = {
    "law": [(NoLaw, None)],
    "hidden chain": [(OtherHiddenChain, None)],
    "order": [(LongerMemory, None)],
    "long run": [(OtherLongRun, None)],
    "members": [(Uncovered, None)],
    "written form": [(lambda: ForgetfulModel(0.3), None)],
    "loss": [_with(_less_loss, lambda: SLOW), _with(_other_lower, lambda: SLOW)],
    "certificate": [_with(_trusting, lambda: SLOW), _with(_doubting, lambda: SLOW)],
}


@pytest.mark.parametrize(("clause", "make", "change"), _each(BROKEN_MODELS))
def test_a_broken_model_fails_the_clause(
    clause: str, make: Any, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make()
    monkeypatch.setitem(model_base.KINDS, "toy model", type(model))
    if change is not None:
        change(monkeypatch)
    with pytest.raises(BrokenContract) as caught:
        cv.model.check_model(model)
    assert (caught.value.subject, caught.value.clause) == (type(model).__name__, clause)
