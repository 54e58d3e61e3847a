"""Check a certificate again, from its own contents and from the release if it is at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from chainveil.certificate import promise, questions, statements
from chainveil.certificate.document import Certificate, seal
from chainveil.certificate.groups import SECTIONS, totals
from chainveil.certificate.make import Released
from chainveil.certificate.maths import check_line, maths
from chainveil.certificate.results import Check, Verification
from chainveil.certificate.schema import BY_PATH, leaves
from chainveil.noise.base import noise_class


def check(
    certificate: Certificate, seen: Released | None = None, trouble: str | None = None
) -> Verification:
    """Compute again whatever a certificate claims.

    ``seen`` is what its release shows; ``trouble`` says why a release that was given could not
    be read.
    """
    computed = [line for label, part in _parts(certificate) for line in _named(label, maths(part))]
    checks = [
        *_seal(certificate),
        *_fixed(certificate),
        *_unit(certificate),
        *_words(certificate),
        *computed,
        *_complete(certificate),
        *_of_each_plan(certificate, seen),
        *([Check("release", "fails", trouble)] if trouble else _release(certificate, seen)),
        *_groups(certificate, seen),
        *_open(certificate),
    ]
    return Verification(
        tuple(checks),
        tuple(promise.in_words(certificate)),
        tuple(promise.weaker(certificate, checks)),
        tuple(
            line.text for line in computed if (line.field, line.status) == ("loss.epsilon", "open")
        ),
    )


def _parts(certificate: Certificate) -> list[tuple[Any, Certificate]]:
    """The groups with the certificate of each; where there are none, the whole under no label."""
    return list(certificate.groups.items()) or [(None, certificate)]


def _named(label: Any, checks: Iterable[Check]) -> Iterator[Check]:
    """Checks that say which group they are about."""
    for line in checks:
        yield line if label is None else replace(line, text=f"group {label}: {line.text}")


def _of_each_plan(certificate: Certificate, seen: Released | None) -> Iterator[Check]:
    """Whether each promise covers the series that it is for."""
    for label, part in _parts(certificate):
        rows = seen if seen is None or label is None else seen.groups.get(label)
        yield from _named(label, (*_length(part, rows), *_gaps(part)))
        if label is not None:
            yield from _named(label, _words_of_chain(part))


def _groups(certificate: Certificate, seen: Released | None) -> Iterator[Check]:
    """Whether the groups are all there is, and whether the rows of each are those certified.

    The digest of a group is one of its own rows: a row under another label changes two of them.
    """
    if not certificate.groups:
        return
    parts = [part["release"] for part in certificate.groups.values()]
    added = totals(parts)
    same = all(certificate[f"release.{name}"] == number for name, number in added.items())
    text = f"{len(parts)} groups, which are all rows together"
    yield check_line("groups.plans", same, text if same else "the groups are not all rows")
    listed = certificate["groups.column"] in certificate["release.kept"]
    text = "published" if listed else "not published, which it must be to tell the noise of a row"
    yield check_line("groups.column", listed, f"{certificate['groups.column']}: {text}")
    if seen is None or not seen.groups:
        return
    for label, part in certificate.groups.items():
        found = seen.groups.get(label)
        if found is None:
            yield Check("release.rows", "fails", f"group {label}: has no rows in the release")
            continue
        for name in ("rows", "series", "gaps", "states_sha256"):
            line = _same(f"release.{name}", part, getattr(found, name))
            moved = line.status == "fails" and seen.states_sha256 == certificate[STATES]
            # The states are all there, in their order: only their groups can have changed.
            yield from _named(label, [replace(line, field="groups.plans") if moved else line])


STATES = "release.states_sha256"


def _seal(certificate: Certificate) -> Iterator[Check]:
    same = certificate["seal.digest"] == seal(certificate.document)
    text = "the checksum fits the fields" if same else "a field was changed after sealing"
    yield check_line("seal", same, text)


def _fixed(certificate: Certificate) -> Iterator[Check]:
    """The texts that are the same in every certificate."""
    expected = {
        "promise.unprotected": list(statements.UNPROTECTED),
        "cannot_be_checked": list(statements.CANNOT_BE_CHECKED),
    }
    for path, words in expected.items():
        same = certificate[path] == words
        text = "as in every certificate" if same else "differs from the schema"
        yield check_line(path, same, text)


def _unit(certificate: Certificate) -> Iterator[Check]:
    same = certificate["promise.protected"] == statements.protected(certificate["promise.unit"])
    text = "says what is protected" if same else "does not say what is protected"
    yield check_line("promise.protected", same, text)


def _words(certificate: Certificate) -> Iterator[Check]:
    """The texts that follow from another field."""
    origins = [
        ("chain", statements.ORIGIN, "origin"),
        ("discretization", statements.EDGES_ORIGIN, "origin"),
        ("randomness", statements.RANDOMNESS, "source"),
    ]
    for section, texts, key in origins:
        if certificate[section] is not None:
            yield _meaning(certificate, section, texts, key)
    if certificate["discretization"] is not None:
        yield from (_discretization(part) for _, part in _parts(certificate))


def _words_of_chain(certificate: Certificate) -> Iterator[Check]:
    yield _meaning(certificate, "chain", statements.ORIGIN, "origin")


def _meaning(certificate: Certificate, section: str, texts: dict[str, str], key: str) -> Check:
    same = certificate[f"{section}.meaning"] == texts[certificate[f"{section}.{key}"]]
    text = f"says what {section}.{key} means" if same else f"does not say what {key} means"
    return check_line(f"{section}.meaning", same, text)


def _discretization(certificate: Certificate) -> Check:
    kind, edges = certificate["discretization.kind"], certificate["discretization.edges"]
    labels, states = certificate["discretization.labels"], _states_of(certificate)
    keys = {(isinstance(label, str), label) for label in labels}
    # One limit is a threshold, more are edges, none means that the values were states already.
    sound = kind == {0: "states", 1: "threshold"}.get(len(edges), "edges")
    sound = sound and len(edges) in (0, states - 1) and edges == sorted(set(edges))
    sound = sound and len(labels) == len(keys) == states
    text = f"{states} states, a label each" if sound else "does not fit the number of states"
    return check_line("discretization", sound, text)


def _states_of(certificate: Certificate) -> int:
    """How many states the series have; the hidden chain of another model may have more."""
    if certificate.model is None:
        return len(certificate["chain.transition"])
    return questions.claim(questions.ask(certificate)).model.states


def _complete(certificate: Certificate) -> Iterator[Check]:
    """A release has noise that came from somewhere, and states that are called something."""
    if certificate["release"] is None:
        return
    for section in ("discretization", "randomness"):
        if certificate[section] is None:
            yield Check(section, "fails", "missing, where there is a release")


def _length(certificate: Certificate, seen: Released | None) -> Iterator[Check]:
    """Whether the promise covers the longest series."""
    promised = certificate["promise.length"]
    if promised is None or certificate["release"] is None:
        return
    if certificate["release.splits"]:
        text = f"{promised}, where series are split at gaps that hide how many points lie in them"
        yield Check("promise.length", "fails", text)
        return
    rows, series = certificate["release.rows"], certificate["release.series"]
    longest = None if seen is None else seen.longest
    # Not all series can be shorter than they are on average.
    least = -(-rows // series) if series else rows
    least, most = _points(certificate, least if longest is None else longest)
    if least <= promised and (longest is None or most > promised):
        yield Check("promise.length", "open", "not checked: how long the longest series is")
        return
    found = f"{longest}" if least == longest else f"at least {least}"
    covered = longest is not None and most <= promised
    words = "covers" if covered else "does not cover"
    yield check_line(
        "promise.length", covered, f"{promised} {words} the longest series, of {found} points"
    )


def _points(certificate: Certificate, rows: int) -> tuple[int, int]:
    """The fewest and the most points of a series with so many rows in the release."""
    every = certificate["noise.every"]
    if certificate["release.points"] is None or rows == 0:
        return rows, rows
    first = (every - 1) // 2
    return first + (rows - 1) * every + 1, first + rows * every


def _gaps(certificate: Certificate) -> Iterator[Check]:
    """Whether the promise covers the points that are missing in the release."""
    if certificate["release"] is None:
        return
    yield from _rare(certificate)
    missing = certificate["release.gaps"] > 0 or certificate["release.splits"] > 0
    if not missing or not noise_class(certificate["noise.mechanism"]).holds:
        return
    covered = certificate["promise.gaps"]
    words = "points are missing, over which the last report is held"
    yield check_line("promise.gaps", covered, f"{'covered' if covered else 'not covered'}: {words}")


def _rare(certificate: Certificate) -> Iterator[Check]:
    """The count that only releases of rare reports have."""
    rare, points = certificate["noise.every"] > 1, certificate["release.points"]
    if not rare and points is None:
        return
    sound = rare and points is not None and points >= certificate["release.rows"]
    text = "the rows that report" if sound else "not what such noise leaves"
    yield check_line("release.rows", sound, text)


def _release(certificate: Certificate, seen: Released | None) -> Iterator[Check]:
    if certificate["release"] is None:
        given = "" if seen is None else "; a release was given but the certificate knows of none"
        yield Check("release", "open" if seen is None else "fails", "a plan, no release" + given)
        return
    if seen is None:
        yield Check("release", "open", "not checked: the release was not given")
        return
    for name in ("column", "series_column", "rows", "series", "gaps"):
        yield _same(f"release.{name}", certificate, getattr(seen, name))
    yield _kept(certificate, seen)
    yield from _states(certificate, seen)
    if certificate["release.file"] is None:
        text = "not checked: the certificate is that of a data frame, and names no file"
        yield Check("release.file", "open", text)
        return
    if seen.file is None:
        yield Check("release.file", "open", "not checked: a data frame was given, no file")
        return
    for name in ("format", "bytes", "sha256"):
        yield _same(f"release.file.{name}", certificate, getattr(seen.file, name))


def _kept(certificate: Certificate, seen: Released) -> Check:
    """The other columns, in whatever order."""
    claimed, found = sorted(certificate["release.kept"]), sorted(seen.kept)
    same = claimed == found and set(certificate["release.allowed_leaks"]) <= set(claimed)
    text = ", ".join(found) or "no other column"
    return check_line("release.kept", same, text if same else f"claimed {claimed}, found {found}")


def _states(certificate: Certificate, seen: Released) -> Iterator[Check]:
    """Which states are published, in which order and in how many parts."""
    if certificate["release.parts"] is not None and seen.parts is None and seen.file is None:
        text = "not checked: the release is a folder of part files, a data frame was given"
        yield Check("release.parts", "open", text)
        yield Check("release.states_sha256", "open", text)
        return
    for name in ("parts", "states_sha256"):
        yield _same(f"release.{name}", certificate, getattr(seen, name))


def _open(certificate: Certificate) -> Iterator[Check]:
    """What has to be taken on trust, field by field and then in words."""
    yield from _stated(certificate)
    for label, part in certificate.groups.items():
        own = (line for line in _stated(part) if line.field.split(".")[0] in SECTIONS)
        yield from _named(label, own)
    for sentence in statements.CANNOT_BE_CHECKED:
        yield Check("cannot_be_checked", "open", sentence)


def _stated(certificate: Certificate) -> Iterator[Check]:
    for path, _ in leaves(certificate.document):
        if path in BY_PATH and BY_PATH[path].checked == "open":
            yield Check(path, "open", f"{certificate[path]}: taken as stated")


def _same(path: str, certificate: Certificate, found: Any) -> Check:
    claimed = certificate[path]
    same = bool(claimed == found)
    return check_line(path, same, f"{found}" if same else f"claimed {claimed}, found {found}")
