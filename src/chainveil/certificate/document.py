"""A certificate as a value: made from JSON, written as JSON, sealed against change."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chainveil import notebook
from chainveil.certificate.groups import together
from chainveil.certificate.reading import parse, read_text
from chainveil.certificate.schema import ABSENT, validate
from chainveil.errors import InvalidInput, NotSupported
from chainveil.privacy.rounding import exact

if TYPE_CHECKING:
    from chainveil.certificate.results import Verification
    from chainveil.plan import NoisePlan
    from chainveil.privacy.result import PrivacyLoss


@dataclass(frozen=True)
class Certificate:
    """What was promised and done, in the fields of ``docs/certificate.md``.

    Attributes
    ----------
    document : dict
        The fields as JSON values. Validated; that they are *true* is for :meth:`verify` to say.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), epsilon=2.0)
    >>> certificate = plan.certificate()
    >>> certificate["promise.epsilon"], certificate.verify().holds
    (2.0, True)
    """

    document: Mapping[str, Any]

    def __post_init__(self) -> None:
        validate(self.document)
        # What each group adds is validated as part of the certificate that it makes.
        _ = self.groups

    @cached_property
    def groups(self) -> dict[Any, Certificate]:
        """The certificate of each group's rows, by its label; empty where there are no groups.

        Each is what a release of these rows alone would have: a plan, a loss, a digest.
        """
        if "groups" not in self.document:
            return {}
        return {
            group["label"]: Certificate.sealed(together(self.document, group))
            for group in self.document["groups"]["plans"]
        }

    def of_one_noise(self, purpose: str) -> Certificate:
        """The certificate itself; an error where each group has noise of its own."""
        if self.groups:
            raise NotSupported(
                f"{purpose} of a release with noise by group: there is a plan for each group. Take "
                f"the rows of one group (column {self['groups.column']!r}) and its certificate, "
                "certificate.groups[label]"
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

    def verify(self, max_seconds: float | None = None) -> Verification:
        """Compute everything again; :func:`chainveil.verify` also takes the release.

        ``max_seconds`` is what each computation may take: 60 seconds unless told.
        """
        from chainveil.certificate.checking import check
        from chainveil.certificate.work import allowing

        with allowing(max_seconds):
            return check(self)

    @cached_property
    def loss(self) -> PrivacyLoss:
        """The loss of the noise on the chain, computed anew."""
        from chainveil.certificate.maths import loss_of

        return loss_of(self.of_one_noise("the loss"))

    def plan(self, max_seconds: float | None = None) -> NoisePlan:
        """The plan that the certificate describes, its loss computed anew.

        ``max_seconds`` as in :meth:`verify`; an error where that is too little.
        """
        from chainveil.certificate.maths import plan_of
        from chainveil.certificate.work import allowing

        with allowing(max_seconds):
            return plan_of(self.of_one_noise("the plan"))

    def __getitem__(self, path: str) -> Any:
        """The value at a path such as ``"loss.epsilon"``; None inside a section that is null."""
        value: Any = self.document
        for key in path.split("."):
            if path in ABSENT and value is not None and key not in value:
                return ABSENT[path]
            value = None if value is None else value[key]
        return value

    @property
    def model(self) -> tuple[str, dict[str, Any]] | None:
        """Kind and numbers of a model that is no chain of order 1; None for a chain."""
        found = self["chain.model"]
        return None if found is None else (found[0], dict(found[1]))

    def __str__(self) -> str:
        return self.to_json()

    def __repr__(self) -> str:
        said = "a plan" if self["release"] is None else f"column {self['release.column']!r}"
        noise = f"noise for {len(self.groups)} groups" if self.groups else (
            f"{self['noise.mechanism']} noise"
        )  # fmt: skip
        return (
            f"Certificate of {said}: {noise}, epsilon "
            f"{exact(self['promise.epsilon'])}, sealed {self['seal.digest'][:12]}"
        )

    def _repr_html_(self) -> str:
        from chainveil.certificate.promise import in_words

        (_, promise), *rest = in_words(self)
        lines = [line for line in rest if line[0] != "not protected"]
        lines.append(("seal", self["seal.digest"][:12]))
        note = "What it claims; verify() computes it again. promise.unprotected: what is not."
        return notebook.card(f"certificate: {promise}", lines, note)


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
