"""Settings of the experiments: one TOML file each, with a table ``quick`` and a table ``full``."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def load(name: str, size: str) -> dict[str, Any]:
    """Table ``size`` ("quick" or "full") of an experiment's settings."""
    return dict(_read(name)[size])


def reported() -> dict[str, Any]:
    """Numbers that the authors reported."""
    return _read("reported")


def _read(name: str) -> dict[str, Any]:
    text = files("experiments.settings").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)
