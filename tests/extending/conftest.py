"""The examples of docs/extending.md, installed as a package of its own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from chainveil.model import base as model_base
from chainveil.noise import base as noise_base
from tests.extending import page


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the modules of the page and the metadata of a package of them.

    Other tests do not find the package, nor the kinds that it registers.
    """
    folder = tmp_path_factory.mktemp("site")
    page.install(folder)
    with pytest.MonkeyPatch.context() as patch:
        for base in (noise_base, model_base):
            patch.setattr(base, "KINDS", dict(base.KINDS))
        patch.syspath_prepend(folder)
        yield folder
    for name in page.modules():
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def repeating(installed: Path) -> ModuleType:
    return importlib.import_module("repeating")


@pytest.fixture(scope="module")
def seasonal(installed: Path) -> ModuleType:
    return importlib.import_module("seasonal")
