"""Photograph the demo's public page: ``python docs/figures/public_page.py``; needs chromium.

The noise is fresh at each run, since the certificate of a seeded release says that it is for study.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from chainveil.cli import run
from chainveil.cli.demo import page_steps, simulated, steps, write_sample

HERE = Path(__file__).resolve().parent
WIDE, HIGH, EDGE = 820, 1180, 12
# What stands at the top of each of the two parts of the picture.
SHOWN = ("body", "section:has(h2:text-is('What the release says'))")


def main() -> None:
    """Write public-page.png: the beginning of the page, and its estimates, side by side."""
    with tempfile.TemporaryDirectory() as folder:
        page = _made(Path(folder))
        parts = [Image.open(io.BytesIO(data)) for data in _photographed(page)]
    whole = Image.new("RGB", (2 * WIDE + EDGE, HIGH), "#8a919c")
    for place, part in enumerate(parts):
        whole.paste(part, (place * (WIDE + EDGE), 0))
    whole.quantize(200).save(HERE / "public-page.png", optimize=True)


def _made(place: Path) -> Path:
    """The demo's release and its public page."""
    write_sample(place / "heart.csv")
    sample = simulated(place / "heart.csv")
    for step in [*steps(place, sample, 2.0)[:3], page_steps(place, sample)["public"]]:
        code = run(step)
        if code:
            raise SystemExit(code)
    return place / "release.report.html"


def _photographed(path: Path) -> list[bytes]:
    with sync_playwright() as started:
        browser: Any = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDE, "height": HIGH}, color_scheme="light")
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        taken = []
        for shown in SHOWN:
            page.locator(shown).evaluate("part => part.scrollIntoView()")
            taken.append(page.screenshot())
        browser.close()
    return taken


if __name__ == "__main__":
    main()
