"""A release of several groups: one certificate, and the plain one of each group inside of it.

What is the same for all groups stands once: promise, limits, randomness, columns. Each group adds
its chain, noise and loss and what its rows show. Put together they are the certificate that a
release of the group's rows alone would have, so that whatever reads certificates reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chainveil.errors import InvalidInput

# What is told of each group: sections of its own, and what its rows show.
SECTIONS = ("chain", "noise", "loss")
SHOWN = ("rows", "series", "gaps", "splits", "states_sha256")
SHOWN_WHERE_RARE = ("points",)
# The promise covers missing points, where the noise of this group holds its reports over them.
COVERS_GAPS = "covers_gaps"


def apart(certificate: Mapping[str, Any], label: Any) -> dict[str, Any]:
    """Of the certificate of one group's rows: what stands under its label."""
    release = certificate["release"]
    shown = (*SHOWN, *(name for name in SHOWN_WHERE_RARE if name in release))
    covered = {COVERS_GAPS: True} if "gaps" in certificate["promise"] else {}
    return {
        "label": label,
        **covered,
        **{name: certificate[name] for name in SECTIONS},
        **{name: release[name] for name in shown},
    }


def together(document: Mapping[str, Any], group: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the certificate of one group's rows, without a seal."""
    shown = {name: group[name] for name in (*SHOWN, *SHOWN_WHERE_RARE) if name in group}
    shared = {k: v for k, v in document["release"].items() if k not in SHOWN_WHERE_RARE}
    promise = {k: v for k, v in document["promise"].items() if k != "gaps"}
    return {
        **{name: part for name, part in document.items() if name not in ("groups", "seal")},
        "promise": promise | ({"gaps": True} if group.get(COVERS_GAPS) else {}),
        **{name: group[name] for name in SECTIONS},
        "release": {**shared, **shown, "parts": None, "file": None},
    }


def check_groups(document: Mapping[str, Any], name: str) -> None:
    """Error unless the groups of a certificate have a label each and the fields they need."""
    groups = document["groups"]["plans"]
    labels = [group.get("label") for group in groups]
    known = {"label", COVERS_GAPS, *SECTIONS, *SHOWN, *SHOWN_WHERE_RARE}
    needed = {"label", *SECTIONS, *SHOWN}
    strange = [key for group in groups for key in group if key not in known]
    missing = [key for key in sorted(needed) for group in groups if key not in group]
    if strange or missing:
        found = f"an unknown field {strange[0]!r}" if strange else f"no field {missing[0]!r}"
        raise InvalidInput(name, f"{found} in a group", "the fields of schema 1")
    # 1 and true are the same key, 1 and "1" the same cell: of such a pair one would go unchecked.
    if min(len(set(labels)), len(set(map(str, labels)))) < len(labels):
        raise InvalidInput(name, "the same group twice", "a label of its own for each group")
    if document["release"] is None:
        raise InvalidInput(name, "groups without a release", "a release, where there are groups")


def totals(parts: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """What the rows of all groups together show, for what can be added up."""
    names = [name for name in SHOWN if name != "states_sha256"]
    sums = {name: sum(part[name] for part in parts) for name in names}
    if any("points" in part for part in parts):
        # Where a group has no rare reports, all its rows are there.
        sums["points"] = sum(part.get("points", part["rows"]) for part in parts)
    return sums
