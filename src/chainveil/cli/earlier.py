"""Earlier releases of what may be the same data, and what they and a new one lose together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chainveil.certificate import Certificate
from chainveil.errors import ChainveilError
from chainveil.noise.base import Noise
from chainveil.privacy.loss import privacy_loss
from chainveil.privacy.rounding import upper

# A warning need not be computed to the last digit; the bound holds whenever it stops.
SECONDS = 10.0
SHAPE = ("release.column", "release.series_column", "release.rows", "release.series")

Known = list[tuple[Path, Certificate]]


def certificates(goal: Path | None, spent: Sequence[str]) -> Known:
    """The certificates in the folder of a new one, without those it was told of.

    They are read before the release is written: ``--force`` may be about to replace one.
    """
    if goal is None:
        return []
    told = {Path(path).resolve() for path in spent}
    found: Known = []
    for path in sorted(goal.parent.glob("*.certificate.json")):
        try:
            if path.resolve() not in told:
                found.append((path, Certificate.read(path)))
        except (ChainveilError, OSError):
            continue
    return found


def same_data(new: Certificate, known: Known) -> Known:
    """Those of releases that have the column, the rows and the series of the new one.

    No certificate holds anything of the private values, so more cannot be compared.
    """
    if new["randomness.source"] == "study":
        return []
    return [
        (path, old)
        for path, old in known
        if old["randomness.source"] == "release" and all(old[part] == new[part] for part in SHAPE)
    ]


def in_words(new: Certificate, known: Known) -> str:
    """What two releases of the same data mean, and how to plan them; of several, the latest."""
    path, old = max(known, key=lambda pair: str(pair[1]["created"]))
    more = f" (and so are {len(known) - 1} more)" if len(known) > 1 else ""
    return (
        f"{path} is the certificate of an earlier release with the same column, rows and "
        f"series{more}. If it was of the same data, {_together(new, old)}. To publish the same "
        f"data again within a budget, name what was published: --epsilon TOTAL --spent {path}"
    )


def _together(new: Certificate, old: Certificate) -> str:
    each = upper(new["loss.epsilon"])
    try:
        noises = [*_noises(old), *_noises(new)]
        loss = privacy_loss(
            new.plan().chain, noises, new["promise.length"], new["promise.adversary.model"],
            max_seconds=SECONDS,
        )  # fmt: skip
    except ChainveilError:
        return f"the two together lose more than the {each} of this one"
    return f"the two together lose {upper(loss.epsilon)}, not {each}"


def _noises(certificate: Certificate) -> list[Noise]:
    plan = certificate.plan()
    return [*plan.spent, plan.channel]
