"""Fetching from a real server on this machine, and from servers that fail."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.cli import run
from tests.cli.program import environment, program

PATH = "/meditation/1.0.0/"
FILE = PATH + "data/normal/N10"


def beats() -> bytes:
    """A record in the form of the collection: seconds, and beats a minute."""
    states = cv.MarkovChain.binary(0.09, 0.11).sample(3000, rng=1)
    spread = np.random.default_rng(1).gamma(2.0, 2.0, 3000)
    rates = np.where(states == 1, 76 + spread, 75.9 - spread)
    seconds = 51962.555 + np.cumsum(60 / rates)
    return "".join(f"{s:.3f} {r:.6g}\n" for s, r in zip(seconds, rates, strict=True)).encode()


def sums(held: bytes) -> bytes:
    """As PhysioNet writes them; other files of a record have other endings."""
    other = "0" * 64
    digest = hashlib.sha256(held).hexdigest()
    return (
        f"{other} ANNOTATORS\n{other} data/N10.hea\n{other} data/N10.qrs\n"
        f"{digest} data/normal/N10\n{other} data/normal/N1\n"
    ).encode()


class Server:
    """Files by path; a path may be slow, cut off, or not there."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut: set[str] = set()
        self.hang = threading.Event()
        self.slow: set[str] = set()
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        held = self.files.get(request.path)
        if held is None:
            request.send_error(404)
            return
        if request.path in self.slow:
            self.hang.wait(20)
            return
        request.send_response(200)
        request.send_header("Content-Length", str(len(held)))
        request.end_headers()
        request.wfile.write(held[: len(held) // 2] if request.path in self.cut else held)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A collection of one record, and an empty cache."""
    found = Server()
    held = beats()
    found.files = {PATH + "SHA256SUMS.txt": sums(held), FILE: held}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CHAINVEIL_MIRROR", found.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("CHAINVEIL_DATA", raising=False)
    yield found
    found.hang.set()
    found.http.shutdown()
    found.http.server_close()


def cached(folder: Path) -> list[str]:
    """Names in our cache, without the digests that pooch puts before them."""
    ours = folder / "cache" / "chainveil"
    return sorted(path.name.split("-")[-1] for path in ours.rglob("*") if path.is_file())


def test_a_file_is_fetched_once_and_checked(server: Server, tmp_path: Path) -> None:
    out = tmp_path / "N10.txt"
    assert run(["data", "fetch", "meditation/N10", "-o", str(out)]) == 0
    assert out.read_bytes() == beats()
    assert cached(tmp_path) == ["N10", "SHA256SUMS.txt"]
    assert server.asked == [PATH + "SHA256SUMS.txt", FILE]
    server.http.shutdown()
    assert run(["data", "fetch", "meditation/normal/N10"]) == 2
    assert run(["data", "fetch", "meditation/data/normal/N10", "--json"]) == 0
    assert len(server.asked) == 2
    # The program never writes over what is there.
    out.write_text("mine")
    assert run(["data", "fetch", "meditation/N10", "-o", str(out)]) == 2
    assert out.read_text() == "mine"


Broken = tuple[str, str]
WRONG: list[Broken] = [
    ("changed", "another checksum"),
    ("cut off", "no copy of"),
    ("cut off, sums", "no copy of"),
    ("not there", "404"),
    ("no sums", "404"),
    ("a page", "no list of checksums"),
    ("hangs", "no answer in 1 seconds"),
    ("hangs, sums", "no answer in 1 seconds"),
    ("closed", "Try again when the network is there"),
]


def _break(server: Server, how: str) -> None:
    if how == "changed":
        server.files[FILE] = beats().replace(b"7", b"8", 1)
    elif how == "not there":
        del server.files[FILE]
    elif how == "no sums":
        del server.files[PATH + "SHA256SUMS.txt"]
    elif how == "a page":
        server.files[PATH + "SHA256SUMS.txt"] = b"<html>Please log in</html>\n"
    elif how == "closed":
        server.http.shutdown()
        server.http.server_close()
    else:
        broken = server.cut if how.startswith("cut") else server.slow
        broken.add(PATH + "SHA256SUMS.txt" if how.endswith("sums") else FILE)


@pytest.mark.parametrize(("how", "message"), WRONG)
def test_what_goes_wrong_is_said_and_nothing_is_kept(
    how: str, message: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = dict(server.files)
    _break(server, how)
    out = tmp_path / "N10.txt"
    arguments = ["data", "fetch", "meditation/N10", "-o", str(out), "--timeout", "1"]
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert not out.exists()
    # The list of checksums may be there, whole; nothing else.
    assert cached(tmp_path) in ([], ["SHA256SUMS.txt"])
    if how != "closed":
        # Once the server is well again, so is the program.
        server.files, server.cut, server.slow = whole, set(), set()
        assert run(arguments) == 0
        assert out.read_bytes() == beats()


def test_names_that_are_not_there(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["data", "fetch", "meditation/N11"]) == 2
    assert "N10" in capsys.readouterr().err
    for name in ("elsewhere/N10", "N10", "meditation/"):
        assert run(["data", "fetch", name]) == 2
        assert "meditation" in capsys.readouterr().err


@pytest.mark.slow
def test_the_demo_takes_the_record_where_it_can(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chainveil.cli import demo

    monkeypatch.setattr(demo, "SERIES", 2)
    place = tmp_path / "shown"
    assert run(["demo", "--folder", str(place), "--epsilon", "3"]) == 0
    for folder in (place, place / "N10"):
        names = {path.name for path in folder.iterdir() if path.is_file()}
        assert names >= {"chain.json", "plan.json", "release.parquet", "release.png",
                         "release.certificate.json"}  # fmt: skip
    certificate = place / "N10" / "release.certificate.json"
    assert cv.verify(certificate, place / "N10" / "release.parquet").holds
    document = json.loads(certificate.read_text())
    assert document["release"]["rows"] == 3000
    # Where each beat stands, not when it was: the time between two beats is the heart rate.
    assert document["release"]["time"] == "positions"
    beats = pq.read_table(place / "N10" / "release.parquet")["column1"].to_pylist()
    assert beats == list(range(3000))
    assert document["discretization"]["origin"] == "private mean"
    # A second time it comes from the cache.
    asked = len(server.asked)
    server.http.shutdown()
    monkeypatch.setattr(demo, "page_steps", lambda *_: {})
    assert run(["demo", "--folder", str(place), "--json"]) == 0
    assert len(server.asked) == asked


@pytest.mark.slow
def test_the_demo_goes_on_without_a_network(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from chainveil.cli import demo

    monkeypatch.setattr(demo, "SERIES", 2)
    server.slow.add(PATH + "SHA256SUMS.txt")
    monkeypatch.setattr(demo, "SECONDS", 0.5)
    place = tmp_path / "shown"
    assert run(["demo", "--folder", str(place)]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if line.startswith("N10")]
    assert len(told) == 1
    assert "no answer in 0.5 seconds" in told[0]
    # It ends with two pages, the private one in a folder of its own, and says how to open them.
    pages = (place / "release.report.html", place / "private" / "curator.html")
    assert all(page.as_uri() in line for page, line in zip(pages, lines[-2:], strict=True))
    marked = ["private: do not publish" in page.read_text(encoding="utf-8") for page in pages]
    assert marked == [False, True]
    assert cached(tmp_path) == []
    assert run(["demo", "--folder", str(place), "--offline", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["record"] == {"name": "N10", "path": None, "reason": "left out"}
    assert facts["pages"] == {"public": str(pages[0]), "private": str(pages[1])}


@pytest.mark.slow
@pytest.mark.parametrize(("how", "below"), [("option", "."), ("variable", "physionet-meditation")])
def test_the_demo_takes_the_record_from_a_folder_that_is_named(
    how: str, below: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from chainveil.cli import demo

    monkeypatch.setattr(demo, "SERIES", 2)
    monkeypatch.setattr(demo, "page_steps", lambda *_: {})
    held = tmp_path / "data" / below / "N10"
    held.parent.mkdir(parents=True)
    held.write_bytes(beats())
    named = ["--data", str(tmp_path / "data")] if how == "option" else []
    if how == "variable":
        monkeypatch.setenv("CHAINVEIL_DATA", str(tmp_path / "data"))
    assert run(["demo", "--folder", str(tmp_path / "shown"), "--json", *named]) == 0
    assert json.loads(capsys.readouterr().out)["record"]["path"] == str(held)
    assert not server.asked


def test_the_demo_looks_in_no_folder_that_was_not_named(tmp_path: Path) -> None:
    """Not in the one it stands in, nor above that, nor above the one it is installed in."""
    for above in (tmp_path, tmp_path / "here"):
        folder = above / "shared" / "data" / "physionet-meditation"
        folder.mkdir(parents=True)
        (folder / "N10").write_bytes(beats())
    shutil.copytree(Path(cv.__file__).parent, tmp_path / "here" / "src" / "chainveil")
    code = "from chainveil.cli.demo import _record; print(_record(None, 'http://127.0.0.1:9'))"
    variables = environment() | {
        "PYTHONPATH": str(tmp_path / "here" / "src"), "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }  # fmt: skip
    variables.pop("CHAINVEIL_DATA", None)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "here", env=variables, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.startswith("(None, 'left out: network: found no copy of")


@pytest.mark.slow
def test_the_program_itself_fetches(server: Server, tmp_path: Path) -> None:
    done = program("data", "fetch", "meditation/N10", "-o", "N10.txt", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["path"] == "N10.txt"
    assert not done.stderr
    how = ["--no-header", "--column", "column2", "--time", "column1", "--threshold", "mean"]
    found = program("fit", "N10.txt", *how, "--json", folder=tmp_path)
    assert json.loads(found.stdout)["rows"] == 3000
