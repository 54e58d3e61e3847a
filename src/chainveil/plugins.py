"""Kinds of noise and models that installed packages bring, by their entry points."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping


def load_installed(group: str, known: Container[str]) -> None:
    """Import what installed packages offer under ``group`` and is not known; each registers."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        if entry.name not in known:
            entry.load()


def made_here(group: str, known: Mapping[str, type]) -> Iterator[str]:
    """The kinds that neither the package nor an installed one brings, and no other process has."""
    from importlib.metadata import entry_points

    others = [name for name, kind in known.items() if kind.__module__.split(".")[0] != "chainveil"]
    if others:
        installed = {entry.name for entry in entry_points(group=group)}
        yield from (name for name in others if name not in installed)
