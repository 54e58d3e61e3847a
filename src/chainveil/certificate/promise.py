"""What a certificate promises, in words, and what makes the promise a weaker one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chainveil.certificate import questions
from chainveil.certificate.document import Certificate
from chainveil.certificate.results import Check
from chainveil.errors import ChainveilError
from chainveil.noise.base import NEEDS, noise_class
from chainveil.privacy.rounding import exact, upper

Line = tuple[str, str]


def in_words(certificate: Certificate) -> Iterator[Line]:
    """How much is promised, against whom, for which series, and what is not protected."""
    yield "promise", _how_much(certificate)
    yield "against", certificate["promise.adversary.meaning"]
    yield "series", _length(certificate["promise.length"])
    if certificate.groups:
        yield from _groups(certificate)
    else:
        yield "chain", _chain(certificate)
        yield from _reports(certificate)
    earlier = [len(part["noise.earlier"]) for part in parts(certificate)]
    if any(earlier):
        yield "together with", f"{max(earlier)} earlier releases of the same series"
    yield "randomness", certificate["randomness.meaning"] or "none was drawn"
    yield "release", _release(certificate)
    for sentence in (*certificate["promise.unprotected"], *_published(certificate)):
        yield "not protected", sentence


def parts(certificate: Certificate) -> list[Certificate]:
    """The certificate of each group; the whole where there is none."""
    return list(certificate.groups.values()) or [certificate]


def _groups(certificate: Certificate) -> Iterator[Line]:
    """What each group has for itself."""
    column = certificate["groups.column"]
    yield "groups", f"by {column}, each with a chain and noise of its own"
    for label, part in certificate.groups.items():
        noise, wrong = part["noise.mechanism"], part["noise.expected_flips"]
        yield (
            f"group {label}",
            f"{part['release.series']:,} series, {noise} noise, {wrong:.2%} of the reports wrong, "
            f"loss at most {upper(part['loss.epsilon'])}; {_chain(part)}",
        )
        yield from ((f"group {label}, {name}", text) for name, text in _reports(part))


def weaker(certificate: Certificate, checks: Iterable[Check]) -> Iterator[str]:
    """Why the promise is less than one that holds for a release against anyone, if it is."""
    if certificate["promise.adversary.model"] != "any":
        yield f"it is not against anyone: {certificate['promise.adversary.meaning']}"
    if certificate["randomness.source"] == "study":
        yield f"the noise is from {certificate['randomness.meaning']}"
    if certificate["release.allowed_leaks"]:
        names = ", ".join(certificate["release.allowed_leaks"])
        yield f"columns were published without a test of what they say about the states: {names}"
    if certificate["release"] is None:
        yield "no release was checked: this is a plan"
    elif not any(c.field == "release.states_sha256" and c.status != "open" for c in checks):
        yield "no release was checked: what is published may be something else"


def _how_much(certificate: Certificate) -> str:
    budget = certificate["promise.epsilon"]
    loss = max(part["loss.epsilon"] for part in parts(certificate))
    return (
        f"epsilon {exact(budget)}: the odds about {certificate['promise.protected']} change by at "
        f"most a factor of e^{upper(loss, 10)}"
    )


def _reports(certificate: Certificate) -> Iterator[Line]:
    """Which points report, who has to see what, and what is not promised of the noise."""
    kind, every = noise_class(certificate["noise.mechanism"]), certificate["noise.every"]
    if every > 1:
        yield "reports", f"{_which(every)}; the silent points are protected like the others"
    if kind.holds:
        covered = "" if certificate["promise.gaps"] else "not "
        yield "gaps", f"{covered}covered: missing points over which the last report is held"
    if kind.holds or every > 1 or certificate["promise.unit"] != "point":
        yield "made by", NEEDS[kind.sees]
        yield "noise", "the best that was found; that no less would do is not promised"


def _which(every: int) -> str:
    return f"one point in {every} reports, the middle one of each block, from the first on"


def _length(length: int | None) -> str:
    return "of any length" if length is None else f"of at most {length:,} points"


def _chain(certificate: Certificate) -> str:
    # What a fit of private data means is said once, with what is not protected.
    private = certificate["chain.origin"] == "private"
    meaning = "" if private else f": {certificate['chain.meaning']}"
    if certificate.model is not None:
        return _model(certificate) + meaning
    transition, region = certificate["chain.transition"], certificate["chain.region"]
    words = f"{len(transition)} states"
    if len(transition) == 2:
        words += f", 0 to 1 with {transition[0][1]!r}, 1 to 0 with {transition[1][0]!r}"
    if certificate["chain.initial"] is not None:
        words += ", with a start law of its own"
    if region is not None:
        (q_low, q_high), (r_low, r_high) = region
        words += f"; any chain with {q_low!r} to {q_high!r} and {r_low!r} to {r_high!r}"
    return words + meaning


def _model(certificate: Certificate) -> str:
    """A model that is no chain of order 1, in its own words where its numbers make sense."""
    try:
        return questions.claim(questions.ask(certificate)).model.describe()
    except ChainveilError:
        return f"a model of the kind {certificate.model[0]!r}"  # type: ignore[index]


def _release(certificate: Certificate) -> str:
    if certificate["release"] is None:
        return "none: this is a plan"
    rows, series = certificate["release.rows"], certificate["release.series"]
    words = f"column {certificate['release.column']}, {rows:,} rows in {series:,} series"
    if certificate["release.points"] is not None:
        words += f", those of {certificate['release.points']:,} that report"
    return words


def _published(certificate: Certificate) -> Iterator[str]:
    """What was taken from the private data and is published as it is."""
    if certificate.groups:
        yield f"which group each series is in: column {certificate['groups.column']} says it"
    fitted = [part for part in parts(certificate) if part["chain.origin"] == "private"]
    if fitted:
        yield fitted[0]["chain.meaning"]
    if str(certificate["discretization.origin"]).startswith("private"):
        yield certificate["discretization.meaning"]
