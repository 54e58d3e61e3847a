"""Bars: on terminals, in notebooks, and nowhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from chainveil.progress import Stages, cell, in_notebook, showing, visible

WORK = """
import time
from chainveil.progress import showing
with showing({total}, {wanted}) as tell:
    if tell is not None:
        tell("fitting \x1b[31m[red]", 0)
        for _ in range(3):
            tell("releasing", 100)
            time.sleep(0.25)
    else:
        print("no bar")
"""


def test_nothing_is_shown_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    assert not in_notebook()
    for wanted in (None, True, False):
        with showing(10, wanted) as tell:
            assert tell is None
    assert capfd.readouterr() == ("", "")


def on_terminal(code: str) -> str:
    """What a terminal gets to see of a program."""
    ours, theirs = pty.openpty()
    environment = dict(os.environ, TERM="xterm", COLUMNS="120", LINES="40")
    done = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs,
                            env=environment)  # fmt: skip
    os.close(theirs)
    told = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            # The program has closed its end.
            break
        if not part:
            break
        told += part
    assert done.wait() == 0
    os.close(ours)
    return told.decode()


def test_a_terminal_shows_percent_and_time_left() -> None:
    told = on_terminal(WORK.format(total=300, wanted=True))
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)
    assert re.search(r"releasing .*\b(33|67)% .*(100|200) rows .*left", plain)
    assert "\x1b[31m[red]" not in told
    assert "[red]" in plain


def test_a_terminal_shows_no_bar_unasked() -> None:
    assert "no bar" in on_terminal(WORK.format(total=300, wanted=None))


def test_later_stages_know_what_the_first_one_counted() -> None:
    stages = Stages(None)
    assert stages.advance("fitting", 70)
    assert not stages.advance("fitting", 30)
    assert stages.end(100) is None
    assert stages.advance("calibrating", 0)
    assert stages.end(0) is None
    assert stages.advance("releasing", 10)
    assert stages.end(10) == 100


@pytest.mark.parametrize(
    ("done", "total", "words", "bar"),
    [
        (0, None, "fitting …", "<progress aria"),
        (50, None, "fitting: 50 rows", "<progress aria"),
        (50, 200, "fitting: 50 of 200 rows, 25%, 6 s left", 'max="200" value="50"'),
        (200, 200, "fitting: 200 of 200 rows, 100%", 'max="200" value="200"'),
        # An estimate of the rows that was too low.
        (300, 200, "fitting: 300 rows", "<progress aria"),
    ],
)
def test_a_bar_in_a_notebook(done: int, total: int | None, words: str, bar: str) -> None:
    look = cell("fitting", done, total, "rows", 2.0)
    assert look["text/plain"] == words
    assert words in look["text/html"]
    assert bar in look["text/html"]


def test_names_of_stages_are_harmless() -> None:
    assert "<img" not in cell("mean of <img src=x>", 1, 2, "rows", 1.0)["text/html"]
    assert "\x1b" not in visible("a\x1b[2J\u202eb")


CARDS = """
import chainveil as cv
chain = cv.MarkovChain.binary(q=0.1, r=0.2)
plan = cv.calibrate(chain, epsilon=3.0)
"""
CHART = "cv.estimate.frequency(plan.sanitize(chain.sample(1000, rng=1)), plan).plot()"
TABLE = """
import polars as pl
frame = pl.DataFrame({"awake": chain.sample(1000, rng=1)})
done = cv.sanitize_table(frame, "awake", epsilon=3.0, chain=chain, states=[0, 1])
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a kernel of Jupyter, started as Jupyter starts one."""
    pytest.importorskip("ipykernel", reason="needs ipykernel, a kernel of Jupyter")
    manager = pytest.importorskip("jupyter_client.manager", reason="needs jupyter_client")
    kernel, client = manager.start_new_kernel(cwd=str(tmp_path_factory.mktemp("notebook")))
    yield client
    client.stop_channels()
    kernel.shutdown_kernel(now=True)


def sent(client: Any, code: str) -> list[tuple[str, dict[str, Any]]]:
    """What the page gets for a cell: kinds of messages and what they show."""
    told: list[dict[str, Any]] = []
    reply = client.execute_interactive(code, output_hook=told.append, timeout=120)
    assert reply["content"]["status"] == "ok", reply["content"]
    return [(one["msg_type"], one["content"]["data"]) for one in told if "data" in one["content"]]


@pytest.mark.slow
def test_a_notebook_shows_a_bar_of_its_own_accord_and_clears_it(client: Any) -> None:
    kinds, data = zip(*sent(client, WORK.format(total=300, wanted=None)), strict=True)
    assert kinds[0] == "display_data"
    assert set(kinds[1:]) == {"update_display_data"}
    assert any("200 of 300 rows, 67%" in one["text/plain"] for one in data)
    assert data[-1]["text/html"] == ""
    assert not any("\x1b" in one["text/html"] for one in data)


@pytest.mark.slow
def test_a_notebook_shows_cards_charts_and_what_sanitizing_does(client: Any) -> None:
    ((kind, card),) = sent(client, CARDS + "plan")
    assert kind == "execute_result"
    assert "of the points change on average" in card["text/html"]
    ((_, chart),) = sent(client, CHART)
    assert chart["image/png"].startswith("iVBOR")
    stages = [data["text/plain"] for _, data in sent(client, TABLE)]
    assert stages[0] == "calibrating …"
    assert stages[-1] == ""
