"""A real browser for the tests of pages, started once, and releases for pages to be about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.report.browsing import Opened
from tests.report.releases import Made, heart_rates

# .ci/run sets it: there, a browser that is missing is a failure.
NEEDED = "CHAINVEIL_NEED_BROWSER"


def why_no_browser() -> str | None:
    """Why there is no browser here; None if there is one."""
    if find_spec("playwright") is None:
        return "playwright is not installed"
    return None if shutil.which("chromium") else "chromium is not installed (apt-get install it)"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium."""
    reason = why_no_browser()
    if reason is not None and os.environ.get(NEEDED):
        pytest.fail(f"a browser is needed here: {reason}")
    if reason is not None:
        pytest.skip(f"no browser: {reason}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A release of six people's heart rates, and both of its pages."""
    return heart_rates(tmp_path_factory.mktemp("heart"))


@pytest.fixture(scope="module")
def public(browser: Any, made: Made) -> Iterator[Opened]:
    """The public page, open."""
    with Opened.of(browser, made.public) as opened:
        yield opened


@pytest.fixture(scope="module")
def private(browser: Any, made: Made) -> Iterator[Opened]:
    """The curator's page, open."""
    with Opened.of(browser, made.private) as opened:
        yield opened


@pytest.fixture
def opening(browser: Any) -> Any:
    """A function that opens a page, with settings of the browser."""

    def open_page(path: Path, **settings: Any) -> Any:
        return Opened.of(browser, path, **settings)

    return open_page
