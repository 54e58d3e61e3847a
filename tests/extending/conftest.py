"""The examples of docs/extending.md, installed as a package of its own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.extending import page


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the modules of the page and the metadata of a package of them."""
    folder = tmp_path_factory.mktemp("site")
    page.install(folder)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def repeating(installed: Path) -> ModuleType:
    return importlib.import_module("repeating")


@pytest.fixture(scope="session")
def seasonal(installed: Path) -> ModuleType:
    return importlib.import_module("seasonal")
