"""A certificate as a value: what was asked, what was chosen, what was published, and the loss.

It is JSON that anyone may have written. It is read within bounds of size and depth, and has exactly
the fields below, each of its kind. That they are *true* is for ``verify.py`` to say.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from chainveil import notebook
from chainveil.errors import InvalidInput, NotSupported
from chainveil.noise.base import noise_class
from chainveil.privacy.problem import Objective
from chainveil.privacy.rounding import exact

if TYPE_CHECKING:
    from chainveil.next.certificate.verify import Verification
    from chainveil.plan import NoisePlan
    from chainveil.privacy.result import PrivacyLoss

SCHEMA, VERSION = "chainveil certificate", 2
# A certificate is a page of text; anything longer is not one. A model inside of a family inside of
# a plan is the deepest that chainveil writes: 14.
LARGEST, DEEPEST = 16 << 20, 17
# A state is one byte of a release. What one noise may report, and how many releases are told of.
MOST_STATES, MOST_OUTPUTS, MOST_RELEASES = 256, 4096, 256
# Plans, of which the number is a byte too, and columns that are published.
MOST_PLANS, MOST_COLUMNS = 255, 4096
# Numbers of a noise whose reports look back, a row a state and last report; rows of a model.
MOST_NUMBERS, MOST_ROWS = 1 << 20, 4096
# Points to a report, and points of a unit.
MOST_EVERY, MOST_UNIT = 10_000, 4096
# The longest whole number, in bits: far beyond any count, and short enough to be written out.
LONGEST_NUMBER = 4096
# Text in UTF-8 holds no lone surrogate; only an escape can bring one in.
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

# --- sentences that every certificate repeats ------------------------------------------------

NOT_PROTECTED = (
    "that a series exists, how long it is, and where it has gaps",
    "the overall level of a series: its share of each state can be estimated",
    "what several series that depend on each other say about one another",
    "what the columns that were declared public say about the series",
    "data that do not follow the model: the loss is computed for that model",
)
ORIGIN = {
    "given": "the model was given by hand, as public knowledge",
    "reference": "the model was fitted on a separate reference table, which is taken to be public",
    "private": (
        "the model was fitted on the private data and then rounded, so that no count of the data "
        "follows from what is published of it; the loss holds for every chain of the region, or "
        "for the rounded chain where there is no region; what the rounded figures say about the "
        "data as a whole is not covered by epsilon"
    ),
}
EDGES_ORIGIN = {
    "given": "the limits between states were given by hand",
    "private mean": (
        "the limit between states is the mean of the private data; it is published here "
        "without noise and is not covered by epsilon"
    ),
    "private median": (
        "the limit between states is the median of the private data; it is published here "
        "without noise and is not covered by epsilon"
    ),
}
RANDOMNESS = {
    "release": "keys from the operating system, used once; fit for publication",
    "study": "a seed: whoever knows it can take the noise away; not for publication",
}
SERIES_NAMES = {
    "pseudonyms": "random pseudonyms, new in this release",
    "original": "the names of the table, published as they are",
}
ON_TRUST = (
    "that the noise was drawn as described, from the randomness named",
    "where the model and the limits between states came from",
    "that the private data follow the model",
    "what was minimised when the noise was chosen",
    "that the columns declared public give nothing away beyond what was tested",
    "who made this certificate and when: the seal is a checksum, not a signature",
)


def protects(unit: int) -> str:
    """What is protected where so many consecutive points are the unit of privacy."""
    if unit == 1:
        return "the value of one point of one series"
    return f"the values of any {unit} consecutive points of one series"


# --- reading JSON from strangers -------------------------------------------------------------


def parse(text: str | bytes, name: str) -> Any:
    """JSON in UTF-8 without repeated keys, numbers beyond a double, or text that is none."""
    if len(text) > LARGEST:
        raise InvalidInput(name, f"{len(text)} bytes", f"at most {LARGEST} bytes")
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        document = json.loads(
            plain, object_pairs_hook=_no_repeats, parse_constant=_no_constants, parse_float=_finite
        )
        if SURROGATE.search(plain):
            json.dumps(document, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise InvalidInput(name, "text that is not UTF-8", "a JSON object in UTF-8") from None
    except UnicodeEncodeError:
        raise InvalidInput(name, "half of a surrogate pair", "text that can be written") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(name, f"text that is not JSON ({error})", "a JSON object") from None
    level = [document]
    for _ in range(DEEPEST):
        level = [
            item for held in level if isinstance(held, dict | list)
            for item in (held.values() if isinstance(held, dict) else held)
        ]  # fmt: skip
    if level:
        raise InvalidInput(name, f"lists or objects more than {DEEPEST} deep",
                           "a document of a known schema")  # fmt: skip
    return document


def read_text(path: str | Path) -> bytes:
    """The bytes of a file that was named, without reading a huge one by mistake."""
    with Path(path).open("rb") as file:
        return file.read(LARGEST + 1)


def read_regular(path: str | Path, largest: int) -> bytes | None:
    """The bytes of a file that nobody named: None unless it is a plain file, and not large.

    Links are not followed, and a pipe or device that takes the file's place is not waited for.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > largest:
        return None
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        text = file.read(largest + 1)
    return text if len(text) <= largest else None


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a field is given twice")
    return document


def _no_constants(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


# --- kinds of values -------------------------------------------------------------------------

Test = Callable[[Any], bool]


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


def _is_list(value: Any, test: Test, least: int = 0, most: float = math.inf) -> bool:
    return isinstance(value, list) and least <= len(value) <= most and all(map(test, value))


def _is_matrix(value: Any, test: Test, most: int = MOST_STATES) -> bool:
    rows = _is_list(value, lambda row: _is_list(row, test, 2, MOST_OUTPUTS), 2, most)
    return rows and len(set(map(len, value))) == 1


def _is_kernel(value: Any, test: Test) -> bool:
    """The rows of a noise, which are many where reports look back."""
    return _is_matrix(value, test, MOST_NUMBERS) and len(value) * len(value[0]) <= MOST_NUMBERS


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
    return named and whole and all(n == "every" and KINDS["every"][0](v) for n, v in parts.items())


def _is_model(value: Any, depth: int = 2) -> bool:
    """A kind and its numbers, as [name, value] pairs; those of members are models themselves."""
    if not (_is_list(value, lambda _: True, 2, 2) and isinstance(value[0], str)):
        return False
    return _is_list(value[1], lambda pair: _is_part(pair, depth))


def _is_part(pair: Any, depth: int) -> bool:
    if not (_is_list(pair, lambda _: True, 2, 2) and isinstance(pair[0], str)):
        return False
    value = pair[1]
    if _is_numbers(value) or _is_list(value, _is_text, 1, MOST_ROWS):
        return True
    if depth == 1:
        return False
    members = _is_list(value, lambda one: _is_model(one, depth - 1), 1, MOST_ROWS)
    return members or _is_model(value, depth - 1)


def _is_numbers(value: Any, depth: int = 3) -> bool:
    if isinstance(value, list) and depth:
        return len(value) <= MOST_ROWS and all(_is_numbers(item, depth - 1) for item in value)
    return _is_number(value)


def _is_column(value: Any) -> bool:
    """A public column: its name, the type of its values and their digest."""
    keys = {"name", "type", "sha256"}
    if not isinstance(value, dict) or set(value) != keys:
        return False
    return _is_text(value["name"]) and _is_text(value["type"]) and _is_digest(value["sha256"])


def _one_of(*names: str) -> tuple[Test, str]:
    allowed = " or ".join(f'"{name}"' for name in names)
    return (lambda value: isinstance(value, str) and value in names), allowed


def _or_null(kind: tuple[Test, str]) -> tuple[Test, str]:
    test, allowed = kind
    return (lambda value: value is None or test(value)), f"{allowed}, or null"


KINDS: dict[str, tuple[Test, str]] = {
    "schema": _one_of(SCHEMA),
    "version": (lambda v: _is_count(v) and v == VERSION, str(VERSION)),
    "text": (_is_text, "a text"),
    "texts": (lambda v: _is_list(v, _is_text, 0, MOST_COLUMNS), "a list of texts"),
    "time": (_is_time, "a time in UTC such as 2026-01-31T12:00:00Z"),
    "number": (lambda v: _is_number(v) and v >= 0, "a finite number of at least 0"),
    "positive": (lambda v: _is_number(v) and v > 0, "a finite number above 0"),
    "share": (lambda v: _is_number(v) and 0 <= v <= 1, "a number from 0 to 1"),
    "count": (_is_count, "a whole number of at least 0"),
    "counts": (lambda v: _is_list(v, _is_count), "a list of whole numbers"),
    "length": (lambda v: v is None or (_is_count(v) and v >= 1), "null or at least 1"),
    "truth": (lambda v: isinstance(v, bool), "true or false"),
    "pairs": (lambda v: _is_list(v, lambda p: _is_list(p, _is_count, 2, 2)),
              "a list of pairs of whole numbers"),
    "runs": (lambda v: _is_list(v, _is_run, 1),
             "a list of pairs of observations and of how often they are repeated"),
    "vector": (lambda v: _is_list(v, _is_number, 2), "a list of numbers"),
    "numbers": (lambda v: _is_list(v, _is_number, 0, MOST_STATES), "a list of numbers"),
    "matrix": (lambda v: _is_matrix(v, _is_number),
               f"a list of rows of numbers, at most {MOST_STATES} by {MOST_OUTPUTS}"),
    "kernel": (lambda v: _is_kernel(v, _is_number),
               f"a list of rows of numbers, at most {MOST_NUMBERS} in all"),
    "units": (lambda v: _is_kernel(v, _is_count), "a list of rows of whole numbers"),
    "noises": (lambda v: _is_list(v, _is_noise, 0, MOST_RELEASES),
               f"a list of kinds of noise with their matrices, at most {MOST_RELEASES}"),
    "every": (lambda v: _is_count(v) and 1 <= v <= MOST_EVERY, f"1 to {MOST_EVERY}"),
    "unit": (lambda v: _is_count(v) and 1 <= v <= MOST_UNIT, f"1 to {MOST_UNIT}"),
    "region": (lambda v: _is_matrix(v, _is_number) and len(v) == 2 == len(v[0]),
               "the limits of q and of r"),
    "labels": (lambda v: _is_list(v, _is_label, 2, MOST_STATES),
               f"a list of texts, numbers or booleans, at most {MOST_STATES}"),
    "label": (_is_label, "a text, a number or a boolean"),
    "digest": (_is_digest, "64 hexadecimal digits"),
    "columns": (lambda v: _is_list(v, _is_column, 0, MOST_COLUMNS),
                "a list of columns with name, type and sha256"),
    "adversary": _one_of("any", "ignorant", "informed", "one"),
    "origin": _one_of(*ORIGIN),
    "edges origin": _one_of(*EDGES_ORIGIN),
    "mechanism": (_is_mechanism, "a kind of noise that is known here"),
    "model": (_is_model, "the kind of a model, and [name, value] pairs"),
    "objective": _one_of(*get_args(Objective)),
    "states": _one_of("threshold", "edges", "states"),
    "source": _one_of(*RANDOMNESS),
    "series names": _one_of(*SERIES_NAMES),
    "algorithm": _one_of("sha256"),
}  # fmt: skip


def check_kind(name: str, kind: str, value: Any) -> None:
    """Error unless ``value`` is of one of the :data:`KINDS`; "kind?" also allows null."""
    found = KINDS[kind.removesuffix("?")]
    test, allowed = _or_null(found) if kind.endswith("?") else found
    if not test(value):
        raise InvalidInput(name, value, allowed)


# --- fields ----------------------------------------------------------------------------------

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


# Sections that may be null as a whole.
OPTIONAL = ("states", "randomness", "release", "release.file", "loss.witness", "shown")
FIELDS = (
    Field("schema", "schema", "fixed", "what kind of document this is"),
    Field("schema_version", "version", "fixed", "the version of this schema"),
    Field("software.chainveil", "text", "open", "version that made the certificate"),
    Field("created", "time", "open", "when, in UTC"),
    Field("guarantee.unit", "unit", "recomputed", "unit of privacy: so many consecutive points"),
    Field("guarantee.protects", "text", "recomputed", "the unit of privacy in words"),
    Field("guarantee.epsilon", "positive", "bounded", "the budget asked for; no loss is above it"),
    Field("guarantee.max_length", "length", "bounded", "points of a series that the guarantee "
          "covers; null: any number"),
    Field("guarantee.adversary.model", "adversary", "recomputed", "whom the guarantee holds "
          "against; `any` is Bayesian differential privacy"),
    Field("guarantee.adversary.target", "count?", "recomputed", "the point that the adversary "
          "`one` is after; else null"),
    Field("guarantee.adversary.known", "counts", "recomputed", "the points that the adversary "
          "`one` knows; else empty"),
    Field("guarantee.adversary.meaning", "text", "recomputed", "the adversary in words"),
    Field("guarantee.not_protected", "texts", "fixed", "what the guarantee does not cover"),
    Field("states.kind", "states", "recomputed", "`threshold` (one), `edges` (several thresholds) "
          "or `states`"),
    Field("states.edges", "numbers", "open", "limits between states; a value on a limit belongs "
          "above it"),
    Field("states.labels", "labels", "release", "what each state is called in the release"),
    Field("states.origin", "edges origin", "open", "`given`, `private mean` or `private median`"),
    Field("states.meaning", "text", "recomputed", "the origin in words"),
    Field("randomness.source", "source", "open", "`release` or `study`"),
    Field("randomness.meaning", "text", "recomputed", "the source in words"),
    Field("release.column", "text", "release", "the column of the reports"),
    Field("release.series_names", "series names?", "open", "`pseudonyms` or `original`; null: one "
          "series, and no column `series`"),
    Field("release.columns", "texts", "release", "all columns, in order"),
    Field("release.public", "columns", "release", "the columns that the curator declared public, "
          "with the type and the digest of their values"),
    Field("release.allowed_leaks", "texts", "open", "columns that are published although the check "
          "before the release was overridden"),
    Field("release.group_column", "text?", "release", "the public column that tells the plan of a "
          "row; null: one plan for all rows"),
    Field("release.rows", "count", "release", "rows of the release"),
    Field("release.points", "count", "bounded", "points of the table; more than rows where only "
          "some points report"),
    Field("release.series", "count", "release", "series in the release"),
    Field("release.gaps", "count", "release", "rows without a value; which ones they are is "
          "not protected"),
    Field("release.splits", "count", "bounded", "steps of more than one position"),
    Field("release.reports_sha256", "digest", "release", "digest of the reports, in order, one "
          "byte each, 255 for a gap"),
    Field("release.rows_sha256", "digest", "release", "digest of the series and positions"),
    Field("release.file.format", "text", "release", "format of the file, or of the part files"),
    Field("release.file.parts", "count?", "release", "part files of a folder; null: one file"),
    Field("release.file.bytes", "count", "release", "its size; of parts: together"),
    Field("release.file.sha256", "digest", "release", "digest of its bytes; of parts: of their "
          "listing"),
    Field("on_trust", "texts", "fixed", "what verification must take on trust"),
    Field("seal.algorithm", "algorithm", "fixed", "how the seal is made"),
    Field("seal.digest", "digest", "recomputed", "checksum of everything above"),
)  # fmt: skip
# The fields of each plan, of which a release has one, or one for each group of series.
PLAN_FIELDS = (
    Field("label", "label?", "release", "the group; null: one plan for all rows"),
    Field("gaps", "truth", "bounded", "whether points may be missing anywhere without more loss "
          "than is stated"),
    Field("model.transition", "matrix", "recomputed", "probability of each next state, a row a "
          "state"),
    Field("model.initial", "vector?", "recomputed", "law of the first point; null: stationary"),
    Field("model.region", "region?", "recomputed", "the least and largest q, and r, of the chains "
          "that the loss holds for; null: the chain above alone"),
    Field("model.description", "model?", "recomputed", "a model that is no chain of order 1: its "
          "kind (`higher order`; `family`: several models, for each of which the loss holds) and "
          "its numbers as [name, value] pairs; `transition` and `initial` are then those of its "
          "hidden chain, or of its typical member; null: a chain"),
    Field("model.origin", "origin", "open", "`given`, `reference` or `private`"),
    Field("model.meaning", "text", "recomputed", "the origin in words"),
    Field("noise.mechanism", "mechanism", "recomputed", "how the noise is drawn"),
    Field("noise.matrix", "kernel", "recomputed", "independent: probability of each report, a "
          "row a state; correlated: of going on and of stopping to flip; sticky and tracking: the "
          "first report by its state, then each by the last report, the state before (tracking) "
          "and its own state, then (tracking) those after a gap"),
    Field("noise.units", "units", "recomputed", "the same in whole numbers of 2^-53, as realised"),
    Field("noise.every", "every", "recomputed", "points to a report, which is that of the middle "
          "one"),
    Field("noise.earlier", "noises", "recomputed", "the noise of earlier releases of the same "
          "series: kind, matrix and every of each; the loss is that of all together"),
    Field("noise.wrong_reports", "share", "recomputed", "share of points changed on average"),
    Field("noise.objective", "objective", "open", "what was minimised"),
    Field("loss.epsilon", "number", "bounded", "the loss of this noise on this model: an upper "
          "bound"),
    Field("loss.lower", "number", "bounded", "a loss that the witness attains"),
    Field("loss.effort", "count?", "bounded", "steps of the search for the loss; null: the usual "
          "number"),
    Field("loss.witness.target", "count", "recomputed", "the first point attacked, from 0"),
    Field("loss.witness.known", "pairs", "recomputed", "[point, value] pairs known beforehand"),
    Field("loss.witness.value", "counts", "recomputed", "the values of the points of the unit "
          "that the output speaks for"),
    Field("loss.witness.other", "counts", "recomputed", "the values it speaks against"),
    Field("loss.witness.output", "runs", "recomputed", "the output from the first point on, as "
          "[observations, repetitions] pairs: an observation is a report, null where nothing is "
          "published, or a list of these, one for each release"),
    Field("loss.witness.member", "text?", "recomputed", "of a family, the member attacked"),
    Field("loss.witness.chain", "model?", "recomputed", "of a family, the chain attacked"),
    Field("loss.witness.words", "text", "recomputed", "the attack in words"),
    Field("shown.rows", "count", "release", "rows of the group"),
    Field("shown.points", "count", "bounded", "points of the group"),
    Field("shown.series", "count", "release", "series of the group"),
    Field("shown.gaps", "count", "release", "rows of the group without a value"),
    Field("shown.splits", "count", "bounded", "steps of more than one position in the group"),
    Field("shown.reports_sha256", "digest", "release", "digest of the reports of the group"),
)  # fmt: skip
BY_PATH = {field.path: field for field in FIELDS}
BY_PLAN_PATH = {field.path: field for field in PLAN_FIELDS}
# What is added up over the groups.
COUNTED = ("rows", "points", "series", "gaps", "splits")


def leaves(document: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every path and its value; objects are descended into, lists and empty objects are values."""
    if isinstance(document, dict) and document:
        for key, value in document.items():
            # A key with a dot in it must not pass for a path.
            name = repr(key) if "." in str(key) else str(key)
            yield from leaves(value, f"{path}.{name}" if path else name)
    else:
        yield path, document


def validate(document: Any, name: str = "certificate") -> None:
    """Error unless ``document`` has exactly the fields of the schema, each with its kind."""
    if not isinstance(document, dict):
        raise InvalidInput(name, type(document).__name__, "a JSON object")
    if document.get("schema") != SCHEMA:
        raise InvalidInput(name, f"schema {document.get('schema')!r}", f"{SCHEMA!r}",
                           "Is this the right file?")  # fmt: skip
    version = document.get("schema_version")
    if isinstance(version, bool) or version != VERSION:
        raise InvalidInput(name, f"schema version {version!r}", f"version {VERSION}",
                           "Another version of chainveil may be able to read it.")  # fmt: skip
    plans: Any = document.get("plans")
    if not _is_list(plans, lambda plan: isinstance(plan, dict), 1, MOST_PLANS):
        raise InvalidInput(f"{name} field plans", plans, f"1 to {MOST_PLANS} plans")
    _check_fields({k: v for k, v in document.items() if k != "plans"}, BY_PATH, name)
    for plan in plans:
        _check_fields(plan, BY_PLAN_PATH, name)
    _check_plans(document, plans, name)


def _check_fields(document: dict[str, Any], known: Mapping[str, Field], name: str) -> None:
    values = dict(leaves(document))
    empty = [path for path in OPTIONAL if path in values and values[path] is None]
    for path, value in values.items():
        if path in empty:
            continue
        if path not in known:
            raise InvalidInput(
                name, f"an unknown field {path!r}", f"the fields of schema {VERSION}"
            )
        check_kind(f"{name} field {path}", known[path].kind, value)
    excused = tuple(f"{path}." for path in empty)
    missing = [p for p in sorted(known) if p not in values and not p.startswith(excused or "\0")]
    if missing:
        raise InvalidInput(name, f"no field {missing[0]!r}", f"all fields of schema {VERSION}")


def _check_plans(document: dict[str, Any], plans: list[Any], name: str) -> None:
    labels = [plan["label"] for plan in plans]
    release = document["release"]
    grouped = release is not None and release["group_column"] is not None
    if not grouped:
        if len(plans) > 1 or labels != [None] or plans[0]["shown"] is not None:
            raise InvalidInput(name, "a group without a column of groups", "one plan without label")
        return
    if None in labels or any(plan["shown"] is None for plan in plans):
        raise InvalidInput(name, "a group without its label or its rows", "both, for each group")
    # 1 and true are the same key, 1 and "1" the same cell: of such a pair one would go unchecked.
    if min(len(set(labels)), len(set(map(str, labels)))) < len(labels):
        raise InvalidInput(name, "the same group twice", "a label of its own for each group")


# --- the value -------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Certificate:
    """What was guaranteed and published, in the fields of ``docs/certificate.md``.

    Attributes
    ----------
    document : dict
        The fields as JSON values. Validated; that they are *true* is for :meth:`verify` to say.
    """

    document: Mapping[str, Any]

    def __post_init__(self) -> None:
        validate(self.document)

    @cached_property
    def groups(self) -> dict[Any, Certificate]:
        """The certificate of each group's rows, by its label; empty where there are no groups.

        Each is what a release of these rows alone would have: a plan, a loss, a digest.
        """
        if self["release.group_column"] is None:
            return {}
        return {plan["label"]: self._of_group(plan) for plan in self.document["plans"]}

    def _of_group(self, plan: Mapping[str, Any]) -> Certificate:
        rows = self.document["release"] | {"group_column": None, "file": None} | plan["shown"]
        fields = {k: v for k, v in self.document.items() if k != "seal"}
        fields |= {"release": rows, "plans": [{**plan, "label": None, "shown": None}]}
        return Certificate.sealed(fields)

    def of_one_noise(self, purpose: str) -> Certificate:
        """The certificate itself; an error where each group has noise of its own."""
        if self.groups:
            raise NotSupported(
                f"{purpose} of a release with noise by group: there is a plan for each group. Take "
                f"the rows of one group (column {self['release.group_column']!r}) and its "
                "certificate, certificate.groups[label]"
            )
        return self

    @classmethod
    def sealed(cls, fields: Mapping[str, Any]) -> Certificate:
        """A certificate of these fields, with the seal put on."""
        return cls({**fields, "seal": {"algorithm": "sha256", "digest": seal(fields)}})

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """Read and validate; unknown, missing, repeated or ill-typed fields are errors."""
        return cls(parse(text, "certificate"))

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read a certificate file."""
        try:
            return cls.from_json(read_text(path))
        except (FileNotFoundError, IsADirectoryError):
            raise InvalidInput("certificate", str(path), "a file that exists") from None

    def to_json(self) -> str:
        """JSON in which every number is written so that it is read back to the last bit."""
        return json.dumps(self.document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def with_file(self, **file: Any) -> Certificate:
        """The same certificate with the file that the release was written to."""
        fields = {k: v for k, v in self.document.items() if k != "seal"}
        return Certificate.sealed(fields | {"release": {**fields["release"], "file": file}})

    def verify(self, max_seconds: float | None = None) -> Verification:
        """Compute everything again; :func:`chainveil.verify` also takes the release.

        ``max_seconds`` is what each computation may take: 60 seconds unless told.
        """
        from chainveil.next.certificate.verify import allowing, check

        with allowing(max_seconds):
            return check(self)

    @cached_property
    def loss(self) -> PrivacyLoss:
        """The loss of the noise on the model, computed anew."""
        from chainveil.next.certificate.verify import loss_of

        return loss_of(self.of_one_noise("the loss"))

    def plan(self, max_seconds: float | None = None) -> NoisePlan:
        """The plan that the certificate describes, its loss computed anew.

        ``max_seconds`` as in :meth:`verify`; an error where that is too little.
        """
        from chainveil.next.certificate.verify import allowing, plan_of

        with allowing(max_seconds):
            return plan_of(self.of_one_noise("the plan"))

    def __getitem__(self, path: str) -> Any:
        """The value at a path such as ``"loss.epsilon"``; None inside a section that is null.

        Of the fields of a plan, those of the only one; None where there are several.
        """
        value: Any = self.document
        if path.split(".")[0] not in value:
            plans = value["plans"]
            value = plans[0] if len(plans) == 1 else dict.fromkeys(plans[0])
        for key in path.split("."):
            value = None if value is None else value[key]
        return value

    @property
    def model(self) -> tuple[str, dict[str, Any]] | None:
        """Kind and numbers of a model that is no chain of order 1; None for a chain."""
        found = self["model.description"]
        return None if found is None else (found[0], dict(found[1]))

    def __str__(self) -> str:
        return self.to_json()

    def __repr__(self) -> str:
        said = "a plan" if self["release"] is None else f"column {self['release.column']!r}"
        noise = f"noise for {len(self.groups)} groups" if self.groups else (
            f"{self['noise.mechanism']} noise"
        )  # fmt: skip
        return (
            f"Certificate of {said}: {noise}, epsilon {exact(self['guarantee.epsilon'])}, sealed "
            f"{self['seal.digest'][:12]}"
        )

    def _repr_html_(self) -> str:
        from chainveil.next.certificate.verify import in_words

        (_, guarantee), *rest = in_words(self)
        lines = [line for line in rest if line[0] != "not protected"]
        lines.append(("seal", self["seal.digest"][:12]))
        note = "What it claims; verify() computes it again."
        return notebook.card(f"certificate: {guarantee}", lines, note)


def seal(fields: Mapping[str, Any]) -> str:
    """SHA-256 of all fields but the seal itself, in canonical form.

    Canonical: keys sorted, no white space, ASCII, whole numbers without a decimal point.
    The form survives other programs that read the certificate and write it again.
    """
    plain = {key: canonical(value) for key, value in fields.items() if key != "seal"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(value: Any) -> Any:
    """``value`` with whole floats as ints, all the way down."""
    if isinstance(value, Mapping):
        return {str(key): canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value
