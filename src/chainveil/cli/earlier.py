"""Earlier releases of what may be the same data, and what they and a new one lose together."""

from __future__ import annotations

import heapq
import os
from collections.abc import Sequence
from pathlib import Path

from chainveil.certificate import Certificate, questions
from chainveil.certificate.reading import read_regular
from chainveil.errors import ChainveilError
from chainveil.privacy.rounding import upper

# Nobody named the files in a folder, so that no more than this is done on their behalf.
MOST_FILES, LARGEST = 200, 1 << 20
SHAPE = ("release.column", "release.series_column")

Known = list[tuple[Path, Certificate]]


def certificates(goal: Path | None, spent: Sequence[str]) -> Known:
    """The certificates in the folder of a new one, without those it was told of.

    They are read before the release is written: ``--force`` may be about to replace one. Only
    plain files of the size of a certificate are looked at, and only so many; nothing in them is
    computed, their fields are compared.
    """
    if goal is None:
        return []
    told = {_identity(path) for path in spent}
    found: Known = []
    for path in _candidates(goal.parent):
        try:
            text = None if _identity(path) in told else read_regular(path, LARGEST)
            if text is not None:
                found.append((path, Certificate.from_json(text)))
        except (ChainveilError, OSError):
            continue
    return found


def _candidates(folder: Path) -> list[Path]:
    """The first so many files of the folder that are called like certificates."""
    try:
        with os.scandir(folder) as entries:
            names = (entry.name for entry in entries)
            called = (name for name in names if name.endswith(".certificate.json"))
            return [folder / name for name in heapq.nsmallest(MOST_FILES, called)]
    except OSError:
        return []


def _identity(path: str | Path) -> object:
    """The file itself, whatever it is called; a name that leads nowhere stands for itself."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a loop of links is an OSError here, not so there
    except OSError:
        return str(path)
    return found.st_dev, found.st_ino


def same_data(new: Certificate, known: Known) -> Known:
    """Those of releases that have the column, the rows and the series of the new one.

    No certificate holds anything of the private values, so more cannot be compared.
    """
    if new["randomness.source"] == "study":
        return []
    return [
        (path, old)
        for path, old in known
        if old["randomness.source"] == "release" and _same_shape(old, new)
    ]


def _same_shape(old: Certificate, new: Certificate) -> bool:
    """Whether the tables had the same column and rows; series without a report are not counted."""
    rows = [made["release.points"] or made["release.rows"] for made in (old, new)]
    all_series = all(made["release.points"] is None for made in (old, new))
    same = rows[0] == rows[1] and all(old[part] == new[part] for part in SHAPE)
    return same and (not all_series or old["release.series"] == new["release.series"])


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
    """The loss of both, where it takes no time: a stranger's file is not worth more of it."""
    if new.groups or old.groups:
        return "the two together lose more than this one"
    each = upper(new["loss.epsilon"])
    more = f"the two together lose more than the {each} of this one"
    question = questions.ask_together(new, old)
    if not questions.is_light("loss", question):
        return more
    try:
        loss = questions.find_loss(question)
    except ChainveilError:
        return more
    return f"the two together lose {upper(loss.epsilon)}, not {each}"
