"""Schema 1 of a certificate: every field, what it may hold, what it means, how it is checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from chainveil.certificate import statements
from chainveil.certificate.groups import check_groups
from chainveil.errors import InvalidInput
from chainveil.noise.base import noise_class

# A state is one byte of a release. What one noise may report, and how many releases are told of.
MOST_STATES, MOST_OUTPUTS, MOST_RELEASES = 256, 4096, 256
# Groups, of which the number is a byte too.
MOST_GROUPS = 255
# Numbers of a noise whose reports look back, a row a state and last report; rows of a model.
MOST_NUMBERS, MOST_ROWS = 1 << 20, 4096
# Points to a report, and points of a unit of privacy.
MOST_EVERY, MOST_UNIT = 10_000, 4096
# The longest whole number, in bits: far beyond any count, and short enough to be written out.
LONGEST_NUMBER = 4096

# recomputed: from the other fields; fixed: one possible text; release: from the published
# table; bounded: as recomputed, but may err on the safe side; open: nothing to check it against.
Checked = Literal["recomputed", "fixed", "release", "bounded", "open"]


@dataclass(frozen=True)
class Field:
    """One field: its path, the kind of value it holds, how it is checked, what it means."""

    path: str
    kind: str
    checked: Checked
    meaning: str


# Fields that are there only where they say something, and what holds where they are not.
ABSENT: dict[str, Any] = {
    "promise.gaps": False,
    "loss.effort": None,
    "chain.model": None,
    "loss.witness.member": None,
    "loss.witness.chain": None,
    "noise.every": 1,
    "release.points": None,
    "groups.column": None,
    "groups.plans": None,
}
# Sections that may be null as a whole.
OPTIONAL = ("loss.witness", "discretization", "randomness", "release", "release.file")
# Sections that each group has for itself, and that are null for all together.
OF_GROUPS = ("chain", "noise", "loss")

FIELDS = (
    Field("schema", "schema name", "fixed", "what kind of document this is"),
    Field("schema_version", "schema version", "fixed", "the version of this schema"),
    Field("software.chainveil", "text", "open", "version that made the certificate"),
    Field("software.python-flint", "text", "open", "version of the ball arithmetic it used"),
    Field("created", "time", "open", "when, in UTC"),
    Field("promise.unit", "unit", "recomputed", "the unit of privacy: `point`, or a number of "
          "consecutive points"),
    Field("promise.protected", "text", "recomputed", "the unit of privacy in words"),
    Field("promise.gaps", "yes", "recomputed", "true: points may be missing anywhere, and noise "
          "that holds its last report over them keeps the promise. Absent: false"),
    Field("promise.epsilon", "positive number", "bounded", "the budget asked for; the loss is "
          "never above it"),
    Field("promise.length", "length", "bounded", "points of a series the promise covers, no fewer "
          "than the longest series of the release has; null: any number"),
    Field("promise.adversary.model", "adversary", "recomputed", "whom the promise holds against; "
          "`any` is Bayesian differential privacy"),
    Field("promise.adversary.target", "index or null", "recomputed", "the point that the model "
          "`one` is after; else null"),
    Field("promise.adversary.known", "indices", "recomputed", "the points that the model `one` "
          "knows; else empty"),
    Field("promise.adversary.meaning", "text", "recomputed", "the adversary in words"),
    Field("promise.unprotected", "texts", "fixed", "what the promise does not cover"),
    Field("chain.transition", "matrix", "recomputed", "probability of each next state, a row a "
          "state"),
    Field("chain.initial", "vector or null", "recomputed", "law of the first point; null: "
          "stationary"),
    Field("chain.region", "region or null", "recomputed", "the least and largest q, and r, of the "
          "chains that the loss holds for; null: the chain above alone"),
    Field("chain.model", "model", "recomputed", "a model that is no chain of order 1: its kind "
          "(`higher order`: a chain of a higher order; `family`: several models, for each of which "
          "the loss holds) and its numbers, as [name, value] pairs, those of members likewise; "
          "`transition` and `initial` are then those of its hidden chain, that of contexts, and of "
          "a family those of its typical chain. Absent for a chain of order 1"),
    Field("chain.origin", "origin", "open", "`given`, `reference` or `private`"),
    Field("chain.meaning", "text", "recomputed", "the origin in words"),
    Field("noise.mechanism", "mechanism", "recomputed", "how the noise is drawn"),
    Field("noise.matrix", "kernel", "recomputed", "independent: probability of each report, a "
          "row a state; correlated: of going on and of stopping to flip; sticky and tracking: the "
          "first report by its state, then each by the last report, the state before (tracking) "
          "and its own state, then (tracking) those after a gap"),
    Field("noise.units", "units", "recomputed", "the same in whole numbers of 2^-53, as realised"),
    Field("noise.every", "every", "recomputed", "how many points there are to a report, which is "
          "that of the middle one. Absent: every point reports"),
    Field("noise.earlier", "noises", "recomputed", "the noise of earlier releases of the same "
          "series: kind, matrix and every of each; the loss is that of all together"),
    Field("noise.expected_flips", "share", "recomputed", "share of points changed on average"),
    Field("noise.objective", "objective", "open", "what was minimised: `wrong-reports`, `share`, "
          "`distance` or `smoothed`"),
    Field("loss.epsilon", "number", "bounded", "the loss of this noise on this chain: an "
          "upper bound"),
    Field("loss.effort", "effort", "open", "steps of the search for the loss, which the check "
          "takes again. Absent: the usual number"),
    Field("loss.lower", "number", "bounded", "a loss that the witness attains"),
    Field("loss.witness.target", "index", "recomputed", "the point attacked, counted from 0; the "
          "first one of the unit"),
    Field("loss.witness.known", "pairs", "recomputed", "[point, value] pairs known beforehand"),
    Field("loss.witness.value", "indices", "recomputed", "the values of the points of the unit "
          "that the output speaks for"),
    Field("loss.witness.other", "indices", "recomputed", "the values it speaks against"),
    Field("loss.witness.output", "runs", "recomputed", "the output from the first point on, as "
          "[observations, repetitions] pairs: an observation is a report, null where nothing is "
          "published, or a list of these, one for each release"),
    Field("loss.witness.member", "text", "recomputed", "of a family, the member that is attacked. "
          "Absent for one model"),
    Field("loss.witness.chain", "model", "recomputed", "of a family, the chain that is attacked: "
          "the member, or a chain of its box. Absent for one model"),
    Field("loss.witness.words", "text", "recomputed", "the attack in words"),
    Field("discretization.kind", "discretization", "recomputed", "`threshold` (one), "
          "`edges` (several thresholds) or `states`"),
    Field("discretization.edges", "edges", "open", "limits between states; a value on a "
          "limit belongs above it"),
    Field("discretization.labels", "labels", "release", "what each state is called in the release"),
    Field("discretization.origin", "edges origin", "open", "`given`, `private mean` or `private "
          "median`"),
    Field("discretization.meaning", "text", "recomputed", "the origin in words"),
    Field("randomness.source", "source", "open", "`release` or `study`"),
    Field("randomness.meaning", "text", "recomputed", "the source in words"),
    Field("release.column", "text", "release", "the published column"),
    Field("release.series_column", "text or null", "release", "the column that names the series"),
    Field("release.kept", "texts", "release", "the other columns that are published"),
    Field("release.time", "time form", "open", "how the time column is published: `as it was`, "
          "`positions`, or `rounded down to` a width; null: it is not"),
    Field("release.allowed_leaks", "texts", "open", "columns that are published although they "
          "were not tested, or may give the states away: the promise does not cover them"),
    Field("release.rows", "count", "release", "rows of the release"),
    Field("release.points", "count", "bounded", "rows of the table, where only those that report "
          "are published. Absent: all are"),
    Field("release.series", "count", "release", "series in the release"),
    Field("release.gaps", "count", "release", "rows without a value; which ones they are is "
          "not protected"),
    Field("release.splits", "count", "open", "steps in time that were too long for neighbouring "
          "points, by `max_gap`"),
    Field("release.parts", "index or null", "release", "part files of a release that is a "
          "folder; null: one file or frame"),
    Field("release.states_sha256", "digest", "release", "digest of the published states, in "
          "order, one byte each, 255 for a gap; of parts: of their listing"),
    Field("release.file.format", "text", "release", "format of the file or the parts"),
    Field("release.file.bytes", "count", "release", "its size; of parts: together"),
    Field("release.file.sha256", "digest", "release", "digest of its bytes; of parts: of their "
          "listing"),
    Field("groups.column", "text", "release", "the column that names the group of each series, "
          "where each group has a chain and noise of its own. Absent: one chain and one noise for "
          "all rows"),
    Field("groups.plans", "groups", "recomputed", "for each group its `label`, its `chain`, "
          "`noise` and `loss` with the fields above, which are null for all groups together, and "
          "of `release` what its rows show: `rows`, `series`, `gaps`, `splits`, `states_sha256`, "
          "`points`; `covers_gaps` is its `promise.gaps`. Absent without groups"),
    Field("cannot_be_checked", "texts", "fixed", "what verification must take on trust"),
    Field("seal.algorithm", "seal algorithm", "fixed", "how the seal is made"),
    Field("seal.digest", "digest", "recomputed", "checksum of everything above"),
)  # fmt: skip

BY_PATH = {field.path: field for field in FIELDS}


def validate(document: Any, name: str = "certificate") -> None:
    """Error unless ``document`` has exactly the fields of the schema, each with its kind."""
    if not isinstance(document, dict):
        raise InvalidInput(name, type(document).__name__, "a JSON object")
    _check_version(document, name)
    values = dict(leaves(document))
    grouped = "groups" in document
    empty = (*OPTIONAL, *OF_GROUPS) if grouped else OPTIONAL
    for path, value in values.items():
        if path in empty and value is None:
            continue
        if path not in BY_PATH:
            raise InvalidInput(name, f"an unknown field {path!r}", "the fields of schema 1")
        _check_kind(BY_PATH[path], value, name)
    missing = sorted(set(BY_PATH) - set(values) - set(_excused(values, empty)) - set(ABSENT))
    if missing:
        raise InvalidInput(name, f"no field {missing[0]!r}", "all fields of schema 1")
    if grouped:
        if any(document[section] is not None for section in OF_GROUPS):
            raise InvalidInput(name, "a chain beside groups", "null: each group has its own")
        check_groups(document, name)


def leaves(document: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every path and its value; objects are descended into, lists and empty objects are values."""
    if isinstance(document, dict) and document:
        for key, value in document.items():
            # A key with a dot in it must not pass for a path.
            name = repr(key) if "." in str(key) else str(key)
            yield from leaves(value, f"{path}.{name}" if path else name)
    else:
        yield path, document


def _check_version(document: dict[str, Any], name: str) -> None:
    found = document.get("schema"), document.get("schema_version")
    if found[0] != statements.SCHEMA:
        raise InvalidInput(
            name, f"schema {found[0]!r}", f"{statements.SCHEMA!r}", "Is this the right file?"
        )
    if isinstance(found[1], bool) or found[1] != statements.SCHEMA_VERSION:
        raise InvalidInput(
            name,
            f"schema version {found[1]!r}",
            f"version {statements.SCHEMA_VERSION}",
            "A later version of chainveil may be able to read it.",
        )


def _check_kind(field: Field, value: Any, name: str) -> None:
    check_kind(f"{name} field {field.path}", field.kind, value)


def check_kind(name: str, kind: str, value: Any) -> None:
    """Error unless ``value`` is of one of the :data:`KINDS`."""
    test, allowed = KINDS[kind]
    if not test(value):
        raise InvalidInput(name, value, allowed)


def _excused(values: dict[str, Any], empty: tuple[str, ...]) -> Iterator[str]:
    """Fields that need not be there because their section is null."""
    for section in empty:
        if section in values:
            yield from (path for path in BY_PATH if path.startswith(section + "."))


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_count(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and value >= 0 and value.bit_length() <= LONGEST_NUMBER


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_list(
    value: Any, test: Callable[[Any], bool], least: int = 0, most: float = math.inf
) -> bool:
    return isinstance(value, list) and least <= len(value) <= most and all(map(test, value))


def _is_matrix(value: Any, test: Callable[[Any], bool], most: int = MOST_STATES) -> bool:
    rows = _is_list(value, lambda row: _is_list(row, test, 2, MOST_OUTPUTS), 2, most)
    return rows and len(set(map(len, value))) == 1


def _is_kernel(value: Any, test: Callable[[Any], bool]) -> bool:
    """The rows of a noise, which are many where reports look back."""
    return _is_matrix(value, test, MOST_NUMBERS) and len(value) * len(value[0]) <= MOST_NUMBERS


def _is_pair(value: Any) -> bool:
    return _is_list(value, _is_count) and len(value) == 2


def _is_run(value: Any) -> bool:
    """Observations, at least one, and how often they are repeated."""
    pair = isinstance(value, list) and len(value) == 2 and _is_count(value[1]) and value[1] > 0
    return pair and _is_list(value[0], _is_observation, 1)


def _is_observation(value: Any) -> bool:
    """A report, null, or one of these for each release."""
    if isinstance(value, list):
        return _is_list(value, lambda one: one is None or _is_count(one), 2, MOST_RELEASES)
    return value is None or _is_count(value)


def _is_label(value: Any) -> bool:
    return isinstance(value, bool) or _is_text(value) or _is_number(value)


def _is_time(value: Any) -> bool:
    if not isinstance(value, str) or not value.endswith("Z"):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _one_of(*names: str) -> tuple[Callable[[Any], bool], str]:
    allowed = " or ".join(f'"{name}"' for name in names)
    return (lambda value: isinstance(value, str) and value in names), allowed


def _is_mechanism(value: Any) -> bool:
    """Whether a kind of noise is known, here or in an installed package."""
    try:
        noise_class(value)
    except InvalidInput:
        return False
    return True


def _is_noise(value: Any) -> bool:
    """A kind of noise with all its numbers."""
    if not isinstance(value, dict):
        return False
    parts = dict(value)
    named = _is_mechanism(parts.pop("kind", None))
    whole = _is_kernel(parts.pop("matrix", None), _is_number)
    timing = all(name == "every" and KINDS[name][0](n) for name, n in parts.items())
    return named and whole and timing


def _is_model(value: Any, depth: int = 2) -> bool:
    """A kind and its numbers; those of members are models themselves."""
    if not (_is_list(value, lambda _: True) and len(value) == 2 and isinstance(value[0], str)):
        return False
    return _is_list(value[1], lambda pair: _is_part(pair, depth))


def _is_part(pair: Any, depth: int) -> bool:
    """A name with numbers, with texts, or with models."""
    if not (_is_list(pair, lambda _: True) and len(pair) == 2 and isinstance(pair[0], str)):
        return False
    value = pair[1]
    if _is_numbers(value) or _is_list(value, _is_text, 1, MOST_ROWS):
        return True
    if depth == 1:
        return False
    members = _is_list(value, lambda one: _is_model(one, depth - 1), 1, MOST_ROWS)
    return members or _is_model(value, depth - 1)


def _is_numbers(value: Any, depth: int = 3) -> bool:
    """A number, or lists of them."""
    if isinstance(value, list) and depth:
        return len(value) <= MOST_ROWS and all(_is_numbers(item, depth - 1) for item in value)
    return _is_number(value)


KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "schema name": _one_of(statements.SCHEMA),
    "schema version": (lambda v: _is_count(v) and v == statements.SCHEMA_VERSION, "1"),
    "text": (_is_text, "a text"),
    "text or null": (lambda v: v is None or _is_text(v), "a text or null"),
    "time form": (
        lambda v: v is None or (_is_text(v) and v.startswith(statements.TIME_FORMS)),
        " or ".join(f'"{form}"' for form in statements.TIME_FORMS) + " or null",
    ),
    "texts": (lambda v: _is_list(v, _is_text), "a list of texts"),
    "time": (_is_time, "a time in UTC such as 2026-01-31T12:00:00Z"),
    "number": (lambda v: _is_number(v) and v >= 0, "a finite number of at least 0"),
    "positive number": (lambda v: _is_number(v) and v > 0, "a finite number above 0"),
    "share": (lambda v: _is_number(v) and 0 <= v <= 1, "a number from 0 to 1"),
    "count": (_is_count, "a whole number of at least 0"),
    "index": (_is_count, "a whole number of at least 0"),
    "index or null": (lambda v: v is None or _is_count(v), "a whole number or null"),
    "indices": (lambda v: _is_list(v, _is_count), "a list of whole numbers"),
    "length": (lambda v: v is None or (_is_count(v) and v >= 1), "null or at least 1"),
    "pairs": (lambda v: _is_list(v, _is_pair), "a list of pairs of whole numbers"),
    "runs": (
        lambda v: _is_list(v, _is_run, 1),
        "a list of pairs of observations and of how often they are repeated",
    ),
    "vector or null": (lambda v: v is None or _is_list(v, _is_number, 2), "null or numbers"),
    "matrix": (
        lambda v: _is_matrix(v, _is_number),
        f"a list of rows of numbers, at most {MOST_STATES} by {MOST_OUTPUTS}",
    ),
    "kernel": (
        lambda v: _is_kernel(v, _is_number),
        f"a list of rows of numbers, at most {MOST_OUTPUTS} to a row and {MOST_NUMBERS} in all",
    ),
    "noises": (
        lambda v: _is_list(v, _is_noise, 0, MOST_RELEASES),
        f"a list of kinds of noise with their matrices, at most {MOST_RELEASES}",
    ),
    "every": (lambda v: _is_count(v) and 2 <= v <= MOST_EVERY, f"2 to {MOST_EVERY}"),
    "unit": (
        lambda v: v == "point" or (_is_count(v) and 2 <= v <= MOST_UNIT),
        f"point, or 2 to {MOST_UNIT}",
    ),
    "effort": (lambda v: _is_count(v) and v >= 1, "a whole number of at least 1"),
    "yes": (lambda v: v is True, "true"),
    "region or null": (
        lambda v: v is None or (_is_matrix(v, _is_number) and len(v) == 2 == len(v[0])),
        "null, or the limits of q and of r",
    ),
    "units": (lambda v: _is_kernel(v, _is_count), "a list of rows of whole numbers"),
    "edges": (lambda v: _is_list(v, _is_number), "a list of numbers"),
    "labels": (
        lambda v: _is_list(v, _is_label, 2, MOST_STATES),
        f"a list of texts, numbers or booleans, at most {MOST_STATES}",
    ),
    "groups": (
        lambda v: _is_list(
            v, lambda one: isinstance(one, dict) and _is_label(one.get("label")), 1, MOST_GROUPS
        ),
        f"a list of groups with a label each, at most {MOST_GROUPS}",
    ),
    "few labels": (
        lambda v: _is_list(v, _is_label, 0, MOST_STATES),
        f"a list of texts, numbers or booleans, at most {MOST_STATES}",
    ),
    "digest": (_is_digest, "64 hexadecimal digits"),
    "adversary": _one_of("any", "ignorant", "informed", "one"),
    "origin": _one_of(*statements.ORIGIN),
    "edges origin": _one_of(*statements.EDGES_ORIGIN),
    "mechanism": (_is_mechanism, "a kind of noise that is known here"),
    "model": (_is_model, "the kind of a model, and [name, value] pairs"),
    "objective": _one_of("wrong-reports", "share", "distance", "smoothed"),
    "discretization": _one_of("threshold", "edges", "states"),
    "source": _one_of(*statements.RANDOMNESS),
    "seal algorithm": _one_of("sha256"),
}
