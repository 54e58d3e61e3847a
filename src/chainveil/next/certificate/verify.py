"""Check a certificate again: the loss from its own contents, the rest from the release.

A certificate holds when the loss it claims is an upper bound: when what is computed here does not
exceed it by more than rounding. Machines differ in the last bits, and a search in how close it
comes, so nothing is compared to the last bit, and a claim may be looser than need be.

The document may be a stranger's: work on its behalf gets so much time and memory, and no more. What
is certain to be small is computed at once, and so is what is about a kind of noise or of models
that this process alone knows; everything else runs in a process of its own that is stopped when its
time is over.
"""

from __future__ import annotations

import contextlib
import json
import math
import pickle
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, cast

from chainveil import checks, notebook
from chainveil.errors import ChainveilError, InvalidInput, TooLarge
from chainveil.model import base as model_base
from chainveil.model.base import DataModel, read_model
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.next.certificate.document import (
    BY_PATH,
    BY_PLAN_PATH,
    COUNTED,
    EDGES_ORIGIN,
    NOT_PROTECTED,
    ON_TRUST,
    ORIGIN,
    RANDOMNESS,
    SERIES_NAMES,
    Certificate,
    leaves,
    protects,
    seal,
)
from chainveil.next.certificate.make import (
    Column,
    Released,
    adversary_section,
    exact_chain,
    file_section,
    units,
)
from chainveil.noise import base as noise_base
from chainveil.noise.base import NEEDS, Noise, noise_class, read_noise
from chainveil.plan import NoisePlan
from chainveil.plugins import made_here
from chainveil.privacy import engines
from chainveil.privacy.adversary import Adversary, AdversaryName, read_adversary
from chainveil.privacy.bounds import Attack, NotAnAttack
from chainveil.privacy.problem import Problem, Unit, read_problem
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.rounding import exact, upper

Status = Literal["holds", "fails", "open"]
VERIFIED = "verified: full guarantee"
WEAKER = "verified: weaker guarantee"
UNDECIDED = "not decided"
FAILED = "failed: not as claimed"


@dataclass(frozen=True)
class Check:
    """One line of a verification; ``field`` is a path of the certificate or a section of it."""

    field: str
    status: Status
    text: str


@dataclass(frozen=True, repr=False)
class Verification:
    """What a certificate guarantees, and all checks of it.

    Checks that are "open" could not be made: their text says why, and they are no reason to
    trust or to distrust.

    Attributes
    ----------
    checks : tuple of Check
    guarantee : tuple of (name, text)
        What is guaranteed, in words. True only where the certificate holds.
    weaker : tuple of str
        Why the guarantee is weaker than one that holds for a release against every adversary.
    undecided : tuple of str
        What would have had to be computed and was too large to compute here.
    """

    checks: tuple[Check, ...]
    guarantee: tuple[tuple[str, str], ...] = ()
    weaker: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether everything that could be checked is as claimed, the loss among it."""
        return not self.objections

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.status == "fails")

    @property
    def objections(self) -> tuple[str, ...]:
        """Why the certificate cannot be relied on: what failed, and what is undecided."""
        return (*(f"{check.field}: {check.text}" for check in self.failures), *self.undecided)

    @property
    def verdict(self) -> str:
        """Verified with a full or a weaker guarantee, not decided, or failed."""
        if self.failures:
            return FAILED
        if self.undecided:
            return UNDECIDED
        return WEAKER if self.weaker else VERIFIED

    @property
    def exit_code(self) -> int:
        """0 verified in full, 1 failed, 3 not decided in time, 4 a weaker guarantee."""
        return {VERIFIED: 0, FAILED: 1, UNDECIDED: 3, WEAKER: 4}[self.verdict]

    @property
    def summary(self) -> tuple[tuple[str, str], ...]:
        """The verdict with its reasons, and what is guaranteed, or only claimed."""
        name = "FAILS" if self.failures else "UNDECIDED"
        reasons = [(name, reason) for reason in self.objections]
        if self.holds:
            reasons = [("weaker", reason) for reason in self.weaker]
        (first, text), *rest = self.guarantee or [("guarantee", "")]
        return (("verdict", self.verdict), *reasons, (first if self.holds else "claimed", text),
                *rest)  # fmt: skip

    def __str__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self.summary]
        return "\n".join(
            [*lines, *(f"{check.status:5}  {check.field}: {check.text}" for check in self.checks)]
        )

    @property
    def counted(self) -> str:
        """How many checks hold, fail, and could not be made."""
        held = [str(check.status) for check in self.checks]
        return ", ".join(f"{held.count(status)} {word}" for status, word in
                         (("holds", "hold"), ("fails", "fail"), ("open", "open")))  # fmt: skip

    def __repr__(self) -> str:
        return f"Verification: {self.verdict} ({self.counted}; print() lists every check)"

    def _repr_html_(self) -> str:
        (_, verdict), *rest = self.summary
        lines = [*(line for line in rest if line[0] != "not protected"), ("checks", self.counted)]
        note = "Open checks could not be made; print() lists every check."
        return notebook.card(f"verification: {verdict}", lines, note)


@dataclass(frozen=True)
class Seen:
    """What a release shows: of all rows, and of those of each group by its label."""

    whole: Released
    groups: Mapping[Any, Released] = field(default_factory=dict)
    is_file: bool = False


# --- the checks ------------------------------------------------------------------------------


def check(
    certificate: Certificate, seen: Seen | None = None, trouble: str | None = None
) -> Verification:
    """Compute again whatever a certificate claims.

    ``seen`` is what its release shows; ``trouble`` says why a release that was given could not
    be read.
    """
    computed = [line for label, part in _parts(certificate) for line in _named(label, maths(part))]
    rows = [Check("release", "fails", trouble)] if trouble else list(_release(certificate, seen))
    found = [
        *_fixed(certificate),
        *_words(certificate),
        *computed,
        *_complete(certificate),
        *_covered(certificate, seen),
        *rows,
        *_groups(certificate, seen),
        *_stated(certificate),
        *(Check("on_trust", "open", sentence) for sentence in ON_TRUST),
    ]
    undecided = [
        line.text for line in computed if (line.field, line.status) == ("loss.epsilon", "open")
    ]
    weaker = tuple(_weaker(certificate, seen, rows))
    return Verification(tuple(found), tuple(in_words(certificate)), weaker, tuple(undecided))


def line(path: str, holds: bool, text: str) -> Check:
    """A check that could be made."""
    return Check(path, "holds" if holds else "fails", text)


def _parts(certificate: Certificate) -> list[tuple[Any, Certificate]]:
    """The groups with the certificate of each; where there are none, the whole under no label."""
    return list(certificate.groups.items()) or [(None, certificate)]


def _named(label: Any, found: Iterable[Check]) -> Iterator[Check]:
    """Checks that say which group they are about."""
    for one in found:
        yield one if label is None else replace(one, text=f"group {label}: {one.text}")


def _fixed(certificate: Certificate) -> Iterator[Check]:
    same = certificate["seal.digest"] == seal(certificate.document)
    yield line("seal", same, "the checksum fits the fields" if same else "a field was changed")
    expected = {"guarantee.not_protected": list(NOT_PROTECTED), "on_trust": list(ON_TRUST)}
    for path, words in expected.items():
        same = certificate[path] == words
        yield line(path, same, "as in every certificate" if same else "differs from the schema")


def _words(certificate: Certificate) -> Iterator[Check]:
    """The texts that follow from another field, and labels that fit the states."""
    pairs = [("guarantee.protects", protects(certificate["guarantee.unit"]))]
    if certificate["states"] is not None:
        pairs.append(("states.meaning", EDGES_ORIGIN[certificate["states.origin"]]))
    if certificate["randomness"] is not None:
        pairs.append(("randomness.meaning", RANDOMNESS[certificate["randomness.source"]]))
    for path, text in pairs:
        same = certificate[path] == text
        yield line(path, same, "as it must be" if same else "says something else")
    for label, part in _parts(certificate):
        same = part["model.meaning"] == ORIGIN[part["model.origin"]]
        told = "says what the origin means" if same else "does not say what the origin means"
        yield from _named(label, [line("model.meaning", same, told)])
        if certificate["states"] is not None:
            yield from _named(label, [_discretization(part)])


def _discretization(certificate: Certificate) -> Check:
    kind, edges = certificate["states.kind"], certificate["states.edges"]
    labels = certificate["states.labels"]
    states = len(certificate["model.transition"])
    if certificate.model is not None:
        # The hidden chain of another model may have more states than the series.
        with contextlib.suppress(ChainveilError):
            states = claim(ask(certificate)).model.states
    keys = {(isinstance(label, str), label) for label in labels}
    # One limit is a threshold, more are edges, none means that the values were states already.
    sound = kind == {0: "states", 1: "threshold"}.get(len(edges), "edges")
    sound = sound and len(edges) in (0, states - 1) and edges == sorted(set(edges))
    sound = sound and len(labels) == len(keys) == states
    text = f"{states} states, a label each" if sound else "does not fit the number of states"
    return line("states", sound, text)


def _complete(certificate: Certificate) -> Iterator[Check]:
    """A release has noise that came from somewhere, and states that are called something."""
    if certificate["release"] is None:
        return
    for section in ("states", "randomness"):
        if certificate[section] is None:
            yield Check(section, "fails", "missing, where there is a release")
    public = [column["name"] for column in certificate["release.public"]]
    fixed = [] if certificate["release.series_names"] is None else ["series"]
    # A batch of a stream has no positions.
    placed = ["position"] if "position" in certificate["release.columns"] else []
    wanted = [*fixed, *placed, certificate["release.column"], *public]
    same = certificate["release.columns"] == wanted
    text = ", ".join(wanted) if same else "not series, position, report and the public columns"
    yield line("release.columns", same, text)
    leaks = set(certificate["release.allowed_leaks"]) - {*public}
    most = 0 if certificate["release.series_names"] is None else 1
    if len(leaks) > most:
        yield Check("release.allowed_leaks", "fails", "names columns that are not public")


def _covered(certificate: Certificate, seen: Seen | None) -> Iterator[Check]:
    """Whether each plan covers the series that it is for."""
    if certificate["release"] is None:
        return
    for label, part in _parts(certificate):
        rows = None if seen is None else seen.whole if label is None else seen.groups.get(label)
        yield from _named(label, (*_length(part, rows), *_gaps(part)))


def _length(certificate: Certificate, seen: Released | None) -> Iterator[Check]:
    promised = certificate["guarantee.max_length"]
    if promised is None:
        return
    if certificate["release.splits"] and certificate["noise.every"] == 1:
        text = f"{promised}, where gaps hide how many points lie in them"
        yield Check("guarantee.max_length", "fails", text)
        return
    points, series = certificate["release.points"], certificate["release.series"]
    # Not all series can be shorter than they are on average.
    least = -(-points // series) if series else points
    longest = None if seen is None else seen.longest
    every, first = certificate["noise.every"], (certificate["noise.every"] - 1) // 2
    most = None if longest is None else longest + every - 1 - first if every > 1 else longest
    least = least if longest is None else max(least, longest)
    if least <= promised and (most is None or most > promised):
        yield Check("guarantee.max_length", "open", "not checked: how long the longest series is")
        return
    covered = least <= promised
    words = "covers" if covered else "does not cover"
    yield line("guarantee.max_length", covered,
               f"{promised} {words} the longest series, of {least} points or more")  # fmt: skip


def _gaps(certificate: Certificate) -> Iterator[Check]:
    """Whether the loss covers the points that are missing, and whether the counts are possible."""
    rare = certificate["noise.every"] > 1
    rows, points = certificate["release.rows"], certificate["release.points"]
    sound = points >= rows if rare else points == rows
    yield line("release.points", sound, f"{points:,}, of which {rows:,} report" if sound else
               "not what such noise leaves")  # fmt: skip
    missing = certificate["release.gaps"] > 0 or certificate["release.splits"] > 0
    if missing and noise_class(certificate["noise.mechanism"]).holds:
        covered = certificate["gaps"]
        words = "points are missing, over which the last report is held"
        yield line("gaps", covered, f"{'covered' if covered else 'not covered'}: {words}")


def _release(certificate: Certificate, seen: Seen | None) -> Iterator[Check]:
    if certificate["release"] is None:
        extra = "" if seen is None else "; a release was given but the certificate knows of none"
        yield Check("release", "open" if seen is None else "fails", "a plan, no release" + extra)
        return
    if seen is None:
        yield Check("release", "open", "not checked: the release was not given")
        return
    whole = seen.whole
    yield _same("release.columns", certificate["release.columns"], list(whole.order))
    for name in ("rows", "series", "gaps", "reports_sha256", "rows_sha256"):
        yield _same(f"release.{name}", certificate[f"release.{name}"], getattr(whole, name))
    if all(plan["noise"]["every"] == 1 for plan in certificate.document["plans"]):
        yield _same("release.splits", certificate["release.splits"], whole.splits)
    found = {column.name: column for column in whole.columns}
    for column in certificate["release.public"]:
        yield _public(column, found.get(column["name"]))
    file = certificate["release.file"]
    if file is None or whole.file is None:
        missing = "the certificate names no file" if file is None else "a data frame was given"
        yield Check("release.file", "open", f"not checked: {missing}")
        return
    given = file_section(whole.file)
    if given["sha256"] != file["sha256"]:
        text = "other bytes than those that were written: a copy, whose values are checked"
        yield Check("release.file", "open", text)
        return
    for name in ("format", "parts", "bytes", "sha256"):
        yield _same(f"release.file.{name}", file[name], given[name])


def _public(claimed: Mapping[str, Any], found: Column | None) -> Check:
    path = f"release.public {claimed['name']}"
    if found is None:
        return Check(path, "fails", "missing")
    if found.type != claimed["type"]:
        return Check(path, "open", f"not decided: its values are of type {found.type}, and those "
                     f"of the release were of type {claimed['type']}")  # fmt: skip
    same = found.sha256 == claimed["sha256"]
    return line(path, same, "the values that were published" if same else "other values")


def _same(path: str, claimed: Any, found: Any) -> Check:
    same = bool(claimed == found)
    return line(path, same, f"{found}" if same else f"claimed {claimed}, found {found}")


def _groups(certificate: Certificate, seen: Seen | None) -> Iterator[Check]:
    """Whether the groups are all there is, and whether the rows of each are those certified.

    The digest of a group is one of its own rows: a row under another label changes two of them.
    """
    if not certificate.groups:
        return
    parts = [plan["shown"] for plan in certificate.document["plans"]]
    same = all(sum(p[n] for p in parts) == certificate[f"release.{n}"] for n in COUNTED)
    text = f"{len(parts)} groups, which are all rows together" if same else "not all rows"
    yield line("plans", same, text)
    column = certificate["release.group_column"]
    listed = column in [one["name"] for one in certificate["release.public"]]
    yield line("release.group_column", listed, f"{column}: {'' if listed else 'not '}published")
    if seen is None:
        return
    for label, part in certificate.groups.items():
        found = seen.groups.get(label)
        if found is None:
            yield Check("release.rows", "fails", f"group {label}: has no rows in the release")
            continue
        for name in ("rows", "series", "gaps", "reports_sha256"):
            checked = _same(f"release.{name}", part[f"release.{name}"], getattr(found, name))
            yield from _named(label, [checked])


def _stated(certificate: Certificate) -> Iterator[Check]:
    """What has to be taken on trust, field by field."""
    for path, value in leaves({k: v for k, v in certificate.document.items() if k != "plans"}):
        if path in BY_PATH and BY_PATH[path].checked == "open":
            yield Check(path, "open", f"{value}: taken as stated")
    for plan in certificate.document["plans"]:
        own = ((path, value) for path, value in leaves(plan) if path in BY_PLAN_PATH)
        found = [Check(path, "open", f"{value}: taken as stated") for path, value in own
                 if BY_PLAN_PATH[path].checked == "open"]  # fmt: skip
        yield from _named(plan["label"], found)


def _weaker(certificate: Certificate, seen: Seen | None, rows: list[Check]) -> Iterator[str]:
    """Why the guarantee is less than a full one, if it is."""
    if certificate["guarantee.adversary.model"] != "any":
        yield f"it is not against every adversary: {certificate['guarantee.adversary.meaning']}"
    if certificate["randomness.source"] == "study":
        yield f"the noise is from {certificate['randomness.meaning']}"
    if certificate["release.allowed_leaks"]:
        names = ", ".join(certificate["release.allowed_leaks"])
        yield f"the check of what columns say about the states was overridden: {names}"
    if certificate["release"] is None:
        yield "no release was checked: this is a plan"
    elif seen is None:
        yield "no release was checked: what is published may be something else"
    for one in rows:
        if one.field.startswith("release.public") and one.status == "open":
            yield f"{one.field.removeprefix('release.')}: {one.text}"


# --- in words --------------------------------------------------------------------------------


def in_words(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """How much is guaranteed, against whom, for which series, and what is not protected."""
    parts = [part for _, part in _parts(certificate)]
    budget, unit = certificate["guarantee.epsilon"], certificate["guarantee.unit"]
    loss = max(part["loss.epsilon"] for part in parts)
    odds = f"the odds about {protects(unit)} change by at most a factor of e^{upper(loss, 10)}"
    yield "guarantee", f"epsilon {exact(budget)}: {odds}"
    yield "against", certificate["guarantee.adversary.meaning"]
    length = certificate["guarantee.max_length"]
    yield "series", "of any length" if length is None else f"of at most {length:,} points"
    if certificate.groups:
        column = certificate["release.group_column"]
        yield "groups", f"by {column}, each with a model and noise of its own"
        for label, part in certificate.groups.items():
            noise, wrong = part["noise.mechanism"], part["noise.wrong_reports"]
            yield (
                f"group {label}",
                f"{part['release.series']:,} series, {noise} noise, {wrong:.2%} of the reports "
                f"wrong, loss at most {upper(part['loss.epsilon'])}; {_model_in_words(part)}",
            )
            yield from ((f"group {label}, {name}", text) for name, text in _reports(part))
    else:
        yield "model", _model_in_words(certificate)
        yield from _reports(certificate)
    earlier = max(len(part["noise.earlier"]) for part in parts)
    if earlier:
        yield "together with", f"{earlier} earlier releases of the same series"
    yield "randomness", certificate["randomness.meaning"] or "none was drawn"
    yield "release", _release_in_words(certificate)
    for sentence in (*certificate["guarantee.not_protected"], *_published(certificate)):
        yield "not protected", sentence


def _release_in_words(certificate: Certificate) -> str:
    if certificate["release"] is None:
        return "none: this is a plan"
    rows, points = certificate["release.rows"], certificate["release.points"]
    words = f"column {certificate['release.column']}, {rows:,} rows"
    words += f" of {points:,} points" if points != rows else ""
    names = certificate["release.series_names"]
    series = f"{certificate['release.series']:,} series"
    return f"{words} in {series}" + (f", called by {SERIES_NAMES[names]}" if names else "")


def _reports(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Which points report, who has to see what, and what is not shown of the noise."""
    kind, every = noise_class(certificate["noise.mechanism"]), certificate["noise.every"]
    if every > 1:
        yield (
            "reports",
            (
                f"one point in {every} reports, the middle one of each block, from the first on; "
                "the other points are protected as well"
            ),
        )
    if kind.holds:
        covered = "" if certificate["gaps"] else "not "
        yield "gaps", f"{covered}covered: missing points over which the last report is held"
    if kind.holds or every > 1 or certificate["guarantee.unit"] > 1:
        yield "made by", NEEDS[kind.sees]
        yield "noise", "the best that was found; not proven minimal"


def _model_in_words(certificate: Certificate) -> str:
    # What a fit of private data means is said once, with what is not protected.
    private = certificate["model.origin"] == "private"
    meaning = "" if private else f": {certificate['model.meaning']}"
    if certificate.model is not None:
        try:
            return claim(ask(certificate)).model.describe() + meaning
        except ChainveilError:
            return f"a model of the kind {certificate.model[0]!r}" + meaning
    transition, region = certificate["model.transition"], certificate["model.region"]
    words = f"{len(transition)} states"
    if len(transition) == 2:
        words += f", 0 to 1 with {transition[0][1]!r}, 1 to 0 with {transition[1][0]!r}"
    if certificate["model.initial"] is not None:
        words += ", with a start law of its own"
    if region is not None:
        (q_low, q_high), (r_low, r_high) = region
        words += f"; any chain with {q_low!r} to {q_high!r} and {r_low!r} to {r_high!r}"
    return words + meaning


def _published(certificate: Certificate) -> Iterator[str]:
    """What was taken from the private data and is published as it is."""
    if certificate["release"] is not None:
        names = [column["name"] for column in certificate["release.public"]]
        if names:
            yield f"the columns declared public: {', '.join(names)}"
        if certificate["release.series_names"] == "original":
            yield "the names of the series, which are published as they are"
    fitted = [part for _, part in _parts(certificate) if part["model.origin"] == "private"]
    if fitted:
        yield fitted[0]["model.meaning"]
    if str(certificate["states.origin"]).startswith("private"):
        yield certificate["states.meaning"]


# --- the mathematics -------------------------------------------------------------------------

# How far a loss may come out above the one claimed: a share of the loss, and one in nats for losses
# near zero; the same, in nats, of more than two states or a longer memory, and of regions.
SHARE, LEAST, MANY_STATES, REGIONS = 1e-9, 1e-11, 2e-7, 1e-6
# A mean of a few products, in whatever order a machine adds them.
MEAN = 1e-12


@dataclass(frozen=True)
class Claim:
    """A model, its noise and an adversary, as a certificate describes them."""

    model: DataModel
    noise: Noise
    earlier: tuple[Noise, ...]
    length: int | None
    adversary: AdversaryName | Adversary
    unit: Unit
    gaps: bool
    effort: int | None = None

    @property
    def chain(self) -> Any:
        """The chain, that of the estimate for a region."""
        return self.model.likeliest

    @property
    def problem(self) -> Problem:
        """What the engines are asked."""
        return read_problem(
            self.model, [*self.earlier, self.noise], self.length, self.adversary,
            self.effort, unit=self.unit, gaps=self.gaps,
        )  # fmt: skip

    def slack(self, loss: float) -> float:
        """By how much a loss that is computed may exceed the one that is claimed."""
        if not self.model.single:
            return REGIONS
        searched = self.model.states > 2 or self.model.order != 1
        return MANY_STATES if searched else max(SHARE * loss, LEAST)


def ask(certificate: Certificate) -> str:
    """The question what a certificate's model and noise lose, as text: same text, same answer."""
    return json.dumps(_fields(certificate), sort_keys=True)


def ask_together(certificate: Certificate, earlier: Certificate) -> str:
    """The question what a release loses together with an earlier one of the same series."""
    fields, before = _fields(certificate), _fields(earlier)
    fields["earlier"] = [*before["earlier"], _own_noise(before), *fields["earlier"]]
    fields["gaps"] |= before["gaps"]
    return json.dumps(fields, sort_keys=True)


def _fields(certificate: Certificate) -> dict[str, Any]:
    model, noise, whole = certificate["model"], certificate["noise"], certificate["guarantee"]
    return {
        **{name: model[name] for name in ("transition", "initial", "region", "description")},
        **{name: noise[name] for name in ("mechanism", "matrix", "every", "earlier")},
        "unit": whole["unit"],
        "length": whole["max_length"],
        "adversary": {name: whole["adversary"][name] for name in ("model", "target", "known")},
        "gaps": certificate["gaps"],
        "effort": certificate["loss.effort"],
    }


def claim(question: str) -> Claim:
    """What a question is about; an error where it makes no sense."""
    asked = json.loads(question)
    length, who = asked["length"], asked["adversary"]
    adversary = who["model"] if who["model"] != "one" else Adversary(who["target"], who["known"])
    return Claim(
        _model(asked), read_noise(_own_noise(asked)), tuple(map(read_noise, asked["earlier"])),
        length,
        read_adversary(adversary, length), "point" if asked["unit"] == 1 else asked["unit"],
        asked["gaps"], asked["effort"],
    )  # fmt: skip


def _own_noise(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The noise of the release itself, as one of its earlier releases would be written."""
    return {"kind": asked["mechanism"], "matrix": asked["matrix"], "every": asked["every"]}


def _model(asked: Mapping[str, Any]) -> DataModel:
    limits = asked["region"]
    if asked["description"] is not None:
        if limits is not None:
            raise InvalidInput("model.region", "a region", "null, for a model that is no chain")
        return _described_model(*asked["description"])
    chain = MarkovChain(asked["transition"], asked["initial"])
    if limits is None:
        return chain
    if chain.states != 2 or chain.initial is not None:
        raise InvalidInput("model.region", limits, "null, unless two states start as stationary")
    q, r = (tuple(interval) for interval in limits)
    return ChainRegion(q, r, (float(chain.transition[0, 1]), float(chain.transition[1, 0])))


def _described_model(kind: str, pairs: Any) -> DataModel:
    try:
        return read_model(kind, dict(pairs))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput("model.description", kind, f"its numbers: {error}") from None


def find_loss(question: str) -> PrivacyLoss:
    """The loss, by the call that the plan was made with."""
    return engines.loss(claim(question).problem)


def replay_attack(question: str) -> float:
    """The loss of the attack in a question, computed independently of the search."""
    asked, claimed = claim(question), json.loads(question)["witness"]
    attack = _attack(claimed)
    _check_attack(asked, attack)
    named = claimed["member"]
    chain = asked.model if named is not None else None
    loss = PrivacyLoss(0.0, 0.0, attack, asked.adversary, None, chain, named)
    if loss.attack_in_words != claimed["words"]:
        raise InvalidInput("witness words", claimed["words"], str(loss.attack_in_words))
    return asked.problem.replay(attack, asked.chain)


def _attack(claimed: Mapping[str, Any]) -> Attack:
    """The attack that a certificate describes."""

    def told(observation: Any) -> Any:
        return tuple(map(told, observation)) if isinstance(observation, list) else observation

    runs = tuple((told(pattern), count) for pattern, count in claimed["output"])
    if len(dict(claimed["known"])) != len(claimed["known"]):
        raise NotAnAttack("witness known", "a point with two values", "each known point once")
    value, other = tuple(claimed["value"]), tuple(claimed["other"])
    return Attack(claimed["target"], value, other, dict(claimed["known"]), runs)


def _check_attack(asked: Claim, attack: Attack) -> None:
    """Error unless the attack is one that the guarantee is about."""
    states = (*attack.value, *attack.other, *attack.known.values())
    inside = asked.length is None or attack.length <= asked.length
    if not inside or max(states, default=0) >= asked.model.states:
        raise NotAnAttack("witness", "points or values that do not exist", "those of the series")
    size = asked.problem.unit
    if len(attack.value) != size or len(attack.other) != size:
        raise NotAnAttack("witness value", f"{len(attack.value)} points", f"{size} points")
    who = asked.adversary
    named = isinstance(who, Adversary) and (
        attack.target != who.target or not set(attack.known) <= who.known
    )
    if named or (who == "ignorant" and attack.known):
        found = "an observer who knows other points"
        raise NotAnAttack("witness", found, "the adversary of the guarantee")


def plan_of(certificate: Certificate) -> NoisePlan:
    """The plan in a certificate, with the loss computed from model and noise.

    A loss that comes out above the budget, by no more than rounding, raises the budget: what
    is said of a plan must hold where it is said.
    """
    found, asked = loss(ask(certificate)), claim(ask(certificate))
    epsilon = float(certificate["guarantee.epsilon"])
    if found.epsilon > epsilon + asked.slack(epsilon):
        raise InvalidInput(
            "certificate", f"a loss of {found.epsilon!r}", f"at most epsilon, {epsilon!r}"
        )
    model = asked.model.of_origin(certificate["model.origin"])
    return NoisePlan(
        model, asked.noise, found, max(epsilon, found.epsilon), certificate["noise.objective"],
        None, asked.earlier, asked.unit, asked.gaps,
    )  # fmt: skip


def loss_of(certificate: Certificate) -> PrivacyLoss:
    """The loss of what a certificate describes, computed from its model and noise."""
    return loss(ask(certificate))


def maths(certificate: Certificate) -> Iterator[Check]:
    """Model, noise, loss and witness, computed with the library.

    A check of the loss that is "open" was too large to make.
    """
    try:
        asked = claim(ask(certificate))
        yield from _described(certificate, asked)
        yield from _losses(certificate, asked)
    except TooLarge as error:
        yield Check("loss.epsilon", "open", str(error))
    except ChainveilError as error:
        yield Check("loss", "fails", f"cannot be computed: {error}")


def _described(certificate: Certificate, asked: Claim) -> Iterator[Check]:
    """What needs no search: the numbers fit each other."""
    start, entries, _ = asked.chain.hidden_chain()
    same = certificate["model.transition"] == entries.tolist()
    if certificate.model is not None:
        same = same and certificate["model.initial"] == start.tolist()
        same = same and set(certificate.model[1]) <= set(asked.model.to_json())
    elif asked.model.states == 2:
        same = certificate["model.transition"] == exact_chain(asked.chain).transition.tolist()
    text = f"{asked.model.states} states" if same else "not the transitions of the model"
    yield line("model", same, text)
    matrix = asked.noise.on_grid().to_matrix()
    sound = certificate["noise.matrix"] == matrix and certificate["noise.units"] == units(matrix)
    sound = sound and all(sum(row) == 1 << 53 for row in units(matrix))
    text = "multiples of 2^-53, realised exactly" if sound else "matrix and units disagree"
    yield line("noise", sound, text)
    realised = [earlier.on_grid().to_json() for earlier in asked.earlier]
    sound = certificate["noise.earlier"] == realised
    text = f"{len(asked.earlier)} earlier releases, their noise on multiples of 2^-53"
    yield line("noise.earlier", sound, text if sound else "not what could be realised")
    wrong, claimed = asked.noise.expected_flips(asked.chain), certificate["noise.wrong_reports"]
    near = math.isclose(float(claimed), wrong, rel_tol=MEAN, abs_tol=0.0)
    text = f"{wrong!r}, computed again" if near else f"claimed {claimed!r}, computed {wrong!r}"
    yield line("noise.wrong_reports", near, text)
    same = certificate["guarantee.adversary"] == adversary_section(asked.adversary)
    yield line("guarantee.adversary", same, "as described" if same else "is not as described")


def _losses(certificate: Certificate, asked: Claim) -> Iterator[Check]:
    claimed, budget = float(certificate["loss.epsilon"]), float(certificate["guarantee.epsilon"])
    within = claimed <= budget
    text = f"the loss {claimed!r} is {'within' if within else 'above'} {budget!r}"
    yield line("guarantee.epsilon", within, text)
    found = loss(ask(certificate))
    slack = asked.slack(claimed)
    if found.epsilon <= claimed + slack:
        near = ""
        if found.epsilon <= claimed - slack:
            near = ", which is less: the claim is looser"
        elif found.epsilon > claimed:
            near = f", within rounding of {slack:.3g}"
        text = f"at most {claimed!r}; computed {found.epsilon!r}{near}"
        yield Check("loss.epsilon", "holds", text)
    else:
        yield Check("loss.epsilon", "fails", f"claimed {claimed!r}, computed {found.epsilon!r}")
    yield from _witness(certificate, asked, found, slack)


def _witness(
    certificate: Certificate, asked: Claim, found: PrivacyLoss, slack: float
) -> Iterator[Check]:
    """Whether the lower bound is one: what the witness attains, and not above the loss."""
    lower, witness = float(certificate["loss.lower"]), certificate["loss.witness"]
    below = lower <= min(found.epsilon + slack, float(certificate["loss.epsilon"]))
    yield line("loss.lower", below, f"{lower!r} is {'not ' if below else ''}above the loss")
    if witness is None:
        text = "none, and none is claimed" if lower == 0 else "missing"
        yield line("loss.witness", lower == 0, text)
        return
    try:
        attained = replay(_ask_to_replay(certificate, asked, found))
    except TooLarge as error:
        yield Check("loss.witness", "open", str(error))
        return
    except ChainveilError as error:
        yield Check("loss.witness", "fails", f"cannot be replayed: {error}")
        return
    reaches = attained >= lower - slack
    text = f"attains {'' if reaches else 'only '}{attained!r}, computed independently"
    yield line("loss.witness", reaches, text)


def _ask_to_replay(certificate: Certificate, asked: Claim, found: PrivacyLoss) -> str:
    """The question what the attack that a certificate claims attains.

    Over a region the attack is one on its worst chain, over a family on one that it names, which
    must be a chain of the member.
    """
    witness = certificate["loss.witness"]
    fields = _fields(certificate) | {"witness": witness}
    name, words = witness["member"], witness["chain"]
    family = engines.is_family(asked.model)
    if family != (name is not None and words is not None):
        raise InvalidInput("witness member", name, "a member, for a family and for no other model")
    if family:
        chain = _described_model(*words)
        if not chain.single or not asked.model[name].covers(chain):  # type: ignore[index]
            raise InvalidInput("witness chain", words[0], f"a chain of the member {name!r}")
        fields["description"] = words
    elif certificate.model is None:
        worst = found.chain if found.member is None and found.chain is not None else asked.chain
        fields |= {"transition": worst.hidden_chain()[1].tolist(), "region": None}
    return json.dumps(fields, sort_keys=True)


# --- bounded work ----------------------------------------------------------------------------

SECONDS = 60.0
LONGEST_WAIT = 1e7
MEMORY = 4 << 30
# Entries of the joint law of all reports, a row a state, that are worth a try.
ENTRIES = 1 << 24
TOO_LARGE = "the loss is too large to check here"
# What takes a moment: states, reports of all releases, least probabilities (the second: of noise
# that sees more than a point), counts, steps of a replay.
FEW_STATES, FEW_REPORTS, LEAST_ENTRY, LEAST_WITH_MEMORY = 16, 64, 1e-9, 1e-3
LARGEST_COUNT, FEW_STEPS = 1 << 60, 2_000
# Of noise that remembers, of rare reports and of events: releases of two reports each, points that
# repeat, points of a unit and of a series, and steps of the chain that are no rarer.
FEW_RELEASES, FEW_PHASES, FEW_UNITS, FEW_POINTS, LEAST_STEP = 2, 16, 3, 200, 1e-2

_allowed: ContextVar[float] = ContextVar("seconds", default=SECONDS)

# The search path of this process comes along: the same chainveil, wherever it lies.
START = (
    "import json, sys; head = json.loads(sys.stdin.buffer.readline()); sys.path[:] = head['path']; "
    f"from {__name__} import serve; serve(head)"
)


@contextlib.contextmanager
def allowing(seconds: float | None) -> Iterator[None]:
    """So many seconds for each computation; None leaves it at what is allowed already."""
    if seconds is None:
        yield
        return
    allowed = f"a number of seconds above 0, at most {LONGEST_WAIT:g}"
    number = checks.real("max_seconds", seconds, allowed)
    if not 0 < number <= LONGEST_WAIT:
        raise InvalidInput("max_seconds", seconds, allowed)
    before = _allowed.set(number)
    try:
        yield
    finally:
        _allowed.reset(before)


def loss(question: str) -> PrivacyLoss:
    """The loss that a question asks for; see :func:`ask`."""
    return cast(PrivacyLoss, _bounded("loss", question, _allowed.get()))


def replay(question: str) -> float:
    """What the attack in a question attains, computed independently of the search."""
    return cast(float, _bounded("replay", question, _allowed.get()))


TASKS = {"loss": find_loss, "replay": replay_attack}


@lru_cache(maxsize=256)
def _bounded(task: str, question: str, seconds: float) -> Any:
    asked = json.loads(question)
    size = _entries(asked)
    if size > ENTRIES:
        raise TooLarge(
            f"{TOO_LARGE}: the reports of all releases together have {size:.2g} probabilities, "
            f"and no more than {ENTRIES:.2g} are tried."
        )
    if _is_light(task, asked) or not _is_known_elsewhere(question):
        return TASKS[task](question)
    answer = _apart(task, question, seconds)
    if isinstance(answer, ChainveilError):
        raise answer
    return answer


def _matrices(asked: Mapping[str, Any]) -> list[Any]:
    """The matrices of all releases, the one in question last."""
    return [*(words["matrix"] for words in asked["earlier"]), asked["matrix"]]


def _entries(asked: Mapping[str, Any]) -> float:
    """Entries of the joint law of all reports, a row a state."""
    sizes = (float(len(matrix[0])) for matrix in _matrices(asked))
    return len(asked["transition"]) * math.prod(sizes)


def _is_light(task: str, asked: Mapping[str, Any]) -> bool:
    """Whether the work is certain to be done in a moment, so that no time needs to be kept."""
    states = len(asked["transition"])
    if _entries(asked) > states * FEW_REPORTS or states > FEW_STATES:
        return False
    if task == "replay":
        length = sum(len(pattern) * count for pattern, count in asked["witness"]["output"])
        return bool(length * states**2 <= FEW_STEPS * 4)
    if (
        asked["region"] is not None
        or asked["description"] is not None
        or asked["effort"] is not None
        or states > 2
    ):
        return False
    matrices = [asked["transition"], *_matrices(asked)]
    entries = [entry for matrix in matrices for row in matrix for entry in row]
    entries += asked["initial"] or []
    who = asked["adversary"]
    counts = max([asked["length"] or 0, who["target"] or 0, *who["known"]])
    releases = [_own_noise(asked), *asked["earlier"]]
    alone = (noise_class(r["kind"]).sees == "point" and r.get("every", 1) == 1 for r in releases)
    if asked["unit"] == 1 and all(alone):
        plain = all(entry == 0 or entry >= LEAST_ENTRY for entry in entries)
        return plain and counts <= LARGEST_COUNT and len(who["known"]) <= FEW_STEPS
    phases = math.prod(one.get("every", 1) for one in releases)
    steps = [entry for row in asked["transition"] for entry in row]
    small = len(releases) <= FEW_RELEASES and all(len(m[0]) == 2 for m in matrices[1:])
    small = small and phases <= FEW_PHASES and asked["unit"] <= FEW_UNITS
    small = small and counts <= FEW_POINTS and min(steps) >= LEAST_STEP
    return bool(small and min(entries) >= LEAST_WITH_MEMORY)


def _is_known_elsewhere(question: str) -> bool:
    """Whether a process of its own has all kinds of noise and of models that are asked about.

    It has those of the package, and those of packages that name them by an entry point.
    """
    groups = (
        (noise_base.ENTRY_POINTS, noise_base.KINDS),
        (model_base.ENTRY_POINTS, model_base.KINDS),
    )
    return not any(json.dumps(name) in question for group in groups for name in made_here(*group))


def _apart(task: str, question: str, seconds: float) -> Any:
    head = {
        "task": task, "question": question, "seconds": seconds, "memory": MEMORY,
        "path": list(map(str, sys.path)),
    }  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", START], input=json.dumps(head).encode() + b"\n",
            capture_output=True, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _stopped(f"it takes more than {seconds:g} seconds") from None
    except OSError as error:
        raise ChainveilError(f"the check could not be started: {error}") from None
    if done.returncode == 0:
        return pickle.loads(done.stdout)
    if done.returncode < 0:
        raise _stopped(f"it was stopped by signal {-done.returncode}")
    words = done.stderr.decode(errors="replace").strip().splitlines()
    raise ChainveilError(f"the check could not be computed: {words[-1] if words else 'no reason'}")


def _stopped(reason: str) -> TooLarge:
    return TooLarge(f"{TOO_LARGE}: {reason}. More time: --max-seconds, or max_seconds= in Python.")


def serve(head: dict[str, Any]) -> None:
    """The process that computes: a task on standard input, a pickled answer on standard output."""
    _take_less(head["seconds"], head["memory"])
    answer: Any
    try:
        answer = TASKS[head["task"]](head["question"])
    except ChainveilError as error:
        answer = error
    except MemoryError:
        answer = TooLarge(f"{TOO_LARGE}: it takes more than {head['memory'] >> 20} MiB of memory.")
    sys.stdout.buffer.write(pickle.dumps(answer))


def _take_less(seconds: float, memory: int) -> None:
    """Hold this process to its time and memory, should nobody be there to stop it."""
    try:
        import resource
    except ImportError:
        return
    wanted = {resource.RLIMIT_CPU: math.ceil(seconds) + 1, resource.RLIMIT_AS: memory}
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (limit, hard))
