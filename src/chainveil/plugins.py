"""Kinds of noise and models that installed packages bring, by their entry points."""

from __future__ import annotations

from collections.abc import Container


def load_installed(group: str, known: Container[str]) -> None:
    """Import what installed packages offer under ``group`` and is not known; each registers."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        if entry.name not in known:
            entry.load()
