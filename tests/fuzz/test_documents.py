"""Documents that were tampered with: no traceback, no work without end, no accepted lie.

Seeds are fixed. ``CHAINVEIL_FUZZ=20`` runs twenty times as many mutations, with other seeds.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import chainveil as cv
from chainveil.certificate import Certificate, Released, questions
from chainveil.certificate.document import seal
from chainveil.certificate.reading import parse
from chainveil.cli import chain_file
from chainveil.mechanism import Stream, seeded
from chainveil.table.released.facts import released_facts
from chainveil.table.request.discretize import make_discretizer
from tests.batches import batches
from tests.fuzz.mutations import as_text, bitten, forged, mutated
from tests.fuzz.truth import ROUNDING, check_accepted, least

TIMES = int(os.environ.get("CHAINVEIL_FUZZ", "1"))
# Rounds ask the same of other documents; without the slow tests, one of them.
ROUNDS = batches(12 * TIMES, TIMES)
# Mutations of each round: 12 rounds are 22,000 of them.
CERTIFICATES, PLANS, CHAINS, STREAMS = 800, 200, 420, 420
# Seconds of this process that one document may take: far more than any does.
CPU_SECONDS = 30
# What a process of its own may take, and how many a round may start. The questions of the
# originals are remembered once they are answered, for which a busy machine may need longer.
APART_SECONDS, APART, KNOWN_SECONDS = 5.0, 3, 60.0

TWO = cv.MarkovChain.binary(0.1, 0.2)
THREE = cv.MarkovChain([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])
LONGER = cv.HigherOrderChain.from_json(
    {"transition": [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]}
)
FITTED = cv.MarkovChain.fit(TWO.sample(500, rng=1))
TABLE = pa.table({"person": ["a"] * 9 + ["b"] * 6, "x": [0, 1, 1] * 5})


@contextmanager
def watched() -> Iterator[None]:
    """Fails where the work does not end; processor time, so that a busy machine is no reason."""

    def late(*_: Any) -> None:
        raise AssertionError(f"more than {CPU_SECONDS} seconds of work for one document")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _done(length: int | None, adversary: Any = "any", **how: Any) -> Any:
    how = {"mechanism": "independent"} | how
    return cv.sanitize_table(
        TABLE, "x", 2.0, series="person", chain=TWO, max_length=length, adversary=adversary,
        labels=["low", "high"], **how,
    )  # fmt: skip


@functools.cache
def originals() -> list[tuple[dict[str, Any], Released | None]]:
    """Certificates of every kind, each with what its release shows."""
    releases = [
        _done(None), _done(9), _done(None, "informed"), _done(12, rng=seeded(1)),
        _done(None, "ignorant", earlier=[cv.Channel.binary(0.48, 0.48)]),
        _done(None, mechanism="correlated"), _done(None, mechanism=None),
        _done(None, mechanism="sticky", every=3), _done(None, every=2),
        _done(None, mechanism="sticky", missing="keep"),
    ]  # fmt: skip
    plans = [
        cv.calibrate(TWO, 1.0), cv.calibrate(TWO, 1.0, max_length=3), cv.calibrate(FITTED, 3.0),
        cv.calibrate(TWO, 3.0, max_length=5, adversary=cv.Adversary(2, {0, 4})),
        cv.calibrate(cv.MarkovChain.binary(0.1, 0.3, [0.25, 0.75]), 2.0, max_length=12),
        cv.calibrate(cv.ChainRegion((0.09, 0.11), (0.18, 0.22)), 3.0),
        cv.calibrate(THREE, 3.0), cv.calibrate(THREE, 3.0, max_length=2, shape="per-state"),
        cv.calibrate(LONGER, 2.0, max_length=3),
        cv.calibrate(TWO, 2.0, mechanism="tracking"),
        cv.calibrate(TWO, 2.0, mechanism="tracking", gaps=True),
        cv.calibrate(TWO, 3.0, mechanism="sticky", unit=2), cv.calibrate(TWO, 3.0, unit=3),
        cv.calibrate(
            TWO, 3.0, mechanism="sticky", earlier=[cv.Channel.binary(0.4, 0.4).thinned(2)]
        ),
    ]  # fmt: skip
    seen = [released_facts(done.certificate, done.table) for done in releases]
    certificates = [done.certificate for done in releases]
    certificates += [plan.certificate() for plan in plans]
    return [
        (json.loads(certificate.to_json()), shown)
        for certificate, shown in zip(certificates, [*seen, *[None] * len(plans)], strict=True)
    ]


def _tampered(rng: random.Random, document: Any, others: list[Any]) -> bytes:
    """A document in bytes, changed in its fields or in its bytes, its seal put on again or not."""
    if rng.random() < 0.3:
        text = bitten(rng, as_text(rng, document))
        try:
            changed = parse(text, "certificate")
        except cv.InvalidInput:
            return text
    elif rng.random() < 0.2:
        changed = forged(rng, document, others)
    else:
        changed = mutated(rng, document, others)
    if isinstance(changed, dict) and "seal" in changed and rng.random() < 0.9:
        try:
            digest = seal(changed)
        except ValueError:
            digest = "0" * 64
        changed = changed | {"seal": {"algorithm": "sha256", "digest": digest}}
    return as_text(rng, changed)


class Asked:
    """Which questions were asked already: the answers are remembered, and cost nothing more."""

    def __init__(self) -> None:
        known = [Certificate(document) for document, _ in originals()]
        self.known = {questions.ask(certificate) for certificate in known}
        self.apart = 0

    def affords(self, certificate: Certificate) -> float | None:
        """The seconds that a certificate may take; None where too many took a process already."""
        question = questions.ask(certificate)
        witness = certificate["loss.witness"] is None or questions.is_light(
            "replay", questions.ask_to_replay(certificate, TWO)
        )
        if witness and (question in self.known or questions.is_light("loss", question)):
            return KNOWN_SECONDS
        self.apart += 1
        return APART_SECONDS if self.apart <= APART else None


@pytest.fixture
def first_anew(number: int, request: pytest.FixtureRequest) -> None:
    """Processes are started anew in the first round."""
    if number == 0:
        request.getfixturevalue("started_anew")


@pytest.mark.usefixtures("first_anew")
@pytest.mark.parametrize("number", ROUNDS)
def test_certificates(number: int) -> None:
    rng, asked, ends = random.Random(number), Asked(), Counter[str]()
    documents = [document for document, _ in originals()]
    while sum(ends.values()) < CERTIFICATES:
        document, seen = rng.choice(originals())
        text = _tampered(rng, document, documents)
        with watched():
            try:
                certificate = Certificate.from_json(text)
            except cv.ChainveilError:
                ends["not read"] += 1
                continue
            seconds = asked.affords(certificate)
            if seconds is None:
                continue
            result = cv.verify(certificate, seen, max_seconds=seconds)
            str(result)
        ends[result.verdict] += 1
        if result.holds:
            check_accepted(certificate, result, seen)
    # Enough of each kind for the test to mean something.
    assert min(ends[kind] for kind in ("not read", "fails: not as claimed")) > 100, ends
    assert ends["holds, with a weaker promise"] > 10, ends
    assert ends["holds as promised to anyone"] > 5, ends


@pytest.mark.usefixtures("first_anew")
@pytest.mark.parametrize("number", ROUNDS)
def test_plans(number: int) -> None:
    rng, asked, ends = random.Random(1000 + number), Asked(), Counter[str]()
    documents = [document for document, _ in originals()]
    while sum(ends.values()) < PLANS:
        text = _tampered(rng, rng.choice(documents), documents)
        with watched():
            try:
                certificate = Certificate.from_json(text)
                seconds = asked.affords(certificate)
                if seconds is None:
                    continue
                plan = certificate.plan(max_seconds=seconds)
            except cv.ChainveilError:
                ends["refused"] += 1
                continue
        ends["made"] += 1
        # What the plan promises is computed, whatever the document claims.
        assert plan.loss.lower <= plan.loss.epsilon <= plan.epsilon
        assert plan.epsilon >= least(certificate) - ROUNDING
    assert min(ends.values()) > 15, ends


def _chain_files() -> list[Any]:
    two = make_discretizer(threshold=60.0, labels=["low", "high"], origin="private mean")
    three = make_discretizer(states=["a", "b", "c"])
    fitted = cv.MarkovChain.fit(THREE.sample(500, rng=1))
    files = [
        chain_file.ChainFile(FITTED, "private", two),
        chain_file.ChainFile(fitted, "reference", three),
        chain_file.ChainFile(THREE, "reference", make_discretizer([1.0, 2.5])),
        chain_file.ChainFile(
            cv.HigherOrderChain.fit(LONGER.sample(4000, rng=2), 2), "private",
            make_discretizer(threshold=60.0),
        ),
    ]  # fmt: skip
    return [json.loads(json.dumps(chain_file.to_document(file))) for file in files]


@pytest.mark.parametrize("number", ROUNDS)
def test_chain_files(number: int, tmp_path: Path) -> None:
    rng, ends, documents = random.Random(2000 + number), Counter[str](), _chain_files()
    path = tmp_path / "chain.json"
    for _ in range(CHAINS):
        text = _tampered(rng, rng.choice(documents), documents)
        path.write_bytes(text)
        with watched():
            try:
                file: Any = chain_file.read_chain_file(path)
            except cv.ChainveilError:
                ends["refused"] += 1
                continue
            ends["read"] += 1
            document = json.loads(text.decode("utf-8-sig"))
            assert file.chain.transition.tolist() == document["transition"]
            assert file.origin == document["origin"] != "given"
            assert list(file.discretizer.labels) == document["discretization"]["labels"]
            assert file.discretizer.count == file.chain.states
            _use(file.chain)
    assert min(ends.values()) > 15, ends


def _use(chain: Any) -> None:
    """What a command does with a chain next; it may refuse, in words."""
    uses: tuple[Callable[[], Any], ...] = (
        lambda: chain.stationary,
        lambda: chain.region(0.9) if chain.order == 1 else chain.rounded(),
    )
    for use in uses:
        try:
            use()
        except cv.ChainveilError:
            continue


def _states() -> list[Any]:
    three = cv.Channel.randomized_response(3, 0.5)
    streams = [
        Stream(cv.Channel.binary(0.3, 0.2)),
        Stream(three, length=100, missing="keep"),
        Stream(three, seeded(7).child(3)),
        Stream(cv.CorrelatedNoise(0.2, 0.3)),
        Stream(cv.CorrelatedNoise(0.2, 0.3), seeded(7)),
    ]
    for stream in streams:
        stream.push(np.array([0, 1, 1, 0]))
    return [json.loads(json.dumps(stream.save())) for stream in streams]


@pytest.mark.parametrize("number", ROUNDS)
def test_stream_states(number: int) -> None:
    rng, ends, documents = random.Random(3000 + number), Counter[str](), _states()
    for _ in range(STREAMS):
        text = _tampered(rng, rng.choice(documents), documents)
        with watched():
            try:
                state = parse(text, "state")
                stream = Stream.restore(state)
            except cv.ChainveilError:
                ends["refused"] += 1
                continue
            ends["restored"] += 1
            assert stream.save() == state
            _push(stream)
    assert min(ends.values()) > 15, ends


def _push(stream: Stream) -> None:
    """A point and an array; a stream that is full says so."""
    for values in (0, np.array([1, 0, 1])):
        before = stream.position
        try:
            stream.push(values)
        except cv.ChainveilError:
            assert stream.position == before


REFUSED: dict[str, Callable[[str], bytes]] = {
    "a key twice": lambda text: text.replace('"created"', '"schema"').encode(),
    "NaN": lambda text: text.replace("1.0", "NaN").encode(),
    "infinity": lambda text: text.replace("1.0", "-Infinity").encode(),
    "beyond a double": lambda text: text.replace("1.0", "1e999").encode(),
    "5,000 digits": lambda text: text.replace("1.0", "9" * 5000).encode(),
    "100,000 deep": lambda text: text.replace("1.0", "[" * 100_000).encode(),
    "500 deep": lambda text: text.replace("1.0", "[" * 500 + "]" * 500).encode(),
    "500 objects deep": lambda text: text.replace("1.0", '{"a":' * 500 + "1" + "}" * 500).encode(),
    "a million numbers": lambda text: text.replace("1.0", str([0] * 1_000_000)).encode(),
    "true for a number": lambda text: text.replace("1.0", "true").encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "Latin-1": lambda text: text.replace("point", "p\u00f6int").encode("latin-1"),
    "half a surrogate pair": lambda text: text.replace('"created"', '"\\ud800"').encode(),
    "a surrogate as a value": lambda text: text.replace("one point", "\\ud800").encode(),
    "17 MiB": lambda text: text.encode() + b" " * (17 << 20),
    "a dotted key": lambda text: text.replace('"epsilon"', '"epsilon.x"').encode(),
    "nothing": lambda text: b"",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_certificate_is_refused_in_words(what: str) -> None:
    text = cv.calibrate(TWO, 1.0).certificate().to_json()
    assert Certificate.from_json(text.encode("utf-8-sig")).verify().holds
    changed = REFUSED[what](text)
    assert changed != text.encode()
    with pytest.raises(cv.InvalidInput, match="certificate"):
        Certificate.from_json(changed)
