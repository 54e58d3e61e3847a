"""``chainveil report``: what it reads, what it writes and where, and what it refuses."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import chainveil as cv
from chainveil.report import Page
from chainveil.table import review
from tests.cli.program import called
from tests.report.releases import SENTINELS, heart_rates


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A release with independent noise, without pages."""
    folder = tmp_path_factory.mktemp("plain")
    return heart_rates(folder, pages=False, mechanism="independent")


def _only_published(made: Any, folder: Path) -> Path:
    """A folder with certificate and release, and no way to the original."""
    for path in (made.certificate, made.release):
        shutil.copy(path, folder)
    return folder


def test_the_public_page_is_made_where_the_original_is_not(made: Any, tmp_path: Path) -> None:
    """And it is the page that is made where the original lies: it cannot depend on it."""
    folder = _only_published(made, tmp_path)
    called("report", made.certificate.name, made.release.name, folder=folder)
    assert (folder / made.public.name).read_bytes() == made.public.read_bytes()
    assert {path.name for path in folder.iterdir()} == {
        made.certificate.name, made.release.name, made.public.name,
    }  # fmt: skip


@pytest.mark.slow
def test_no_private_value_is_in_the_public_page_of_a_private_run(made: Any, tmp_path: Path) -> None:
    """The private page holds the original's shares; the public one, made after it, nothing."""
    called("report", made.certificate, made.release, "--private", "--original", made.original,
           "-o", tmp_path / "curator.html", folder=tmp_path)  # fmt: skip
    called("report", made.certificate, made.release, "-o", tmp_path / "public.html",
           folder=tmp_path)  # fmt: skip
    private, public = ((tmp_path / name).read_text("utf-8") for name in
                       ("curator.html", "public.html"))  # fmt: skip
    for word in (*SENTINELS, "diagnosis", "original beside", str(made.folder), "private: do not"):
        assert word not in public, word
    for one in review(made.document, *_tables(made)).series:
        for secret in (one.wrong, one.shares[1]):
            assert f'data-value="{secret!r}"' in private
            assert f'data-value="{secret!r}"' not in public


def _tables(made: Any) -> tuple[Any, Any]:
    from chainveil.table.read.reading import open_source

    return open_source(made.original), open_source(made.release)


def test_without_a_release_a_page_promises_and_estimates_nothing(
    plain: Any, tmp_path: Path
) -> None:
    done = called("report", plain.certificate, "-o", "a.html", "--json", folder=tmp_path)
    facts = json.loads(done.stdout)
    assert facts["verdict"] == "holds, with a weaker promise"
    text = (tmp_path / "a.html").read_text("utf-8")
    assert "no release was checked" in text
    assert "What the release says" not in text
    assert facts["bytes"] == (tmp_path / "a.html").stat().st_size


def test_a_plan_has_a_page(tmp_path: Path) -> None:
    called("calibrate", "--q", "0.2", "--r", "0.2", "--epsilon", "2", "--mechanism", "independent",
           "-o", "plan.json", folder=tmp_path)  # fmt: skip
    called("report", "plan.json", folder=tmp_path)
    text = (tmp_path / "plan.json.report.html").read_text("utf-8")
    assert "A plan for a private release" in text
    assert "How to estimate" not in text


def test_a_certificate_that_fails_says_so_on_the_page(plain: Any, tmp_path: Path) -> None:
    fields = json.loads(plain.certificate.read_text("utf-8"))
    fields["loss"]["epsilon"] = 0.5
    (tmp_path / "other.certificate.json").write_text(json.dumps(fields), "utf-8")
    done = called("report", "other.certificate.json", plain.release, folder=tmp_path, code=1)
    assert b"fails: not as claimed" in done.stdout
    text = (tmp_path / "other.report.html").read_text("utf-8")
    assert 'class="box bad"' in text
    assert "must not be relied on" in text
    assert "What the release says" not in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--private", "--original", "heart.parquet"], b"--private needs -o"),
        (["--private", "-o", "x/a.html"], b"--private needs RELEASE and --original"),
        (["--original", "heart.parquet"], b"--original is for --private"),
        (["-o", "page.pdf"], b"a file ending in .html"),
        (["--level", "1.5"], b"level: found 1.5"),
        (["--time", "hour"], b"time: found 'hour'"),
        (["--step", "60"], b"time: found None"),
        (["--private", "--original", "heart.parquet", "-o", "a.html"], b"another folder"),
        (["--private", "--original", "heart.parquet", "-o", "link/a.html"], b"another folder"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    plain: Any, arguments: list[str], complaint: bytes
) -> None:
    link = plain.folder / "link"
    if not link.exists():
        link.symlink_to(plain.folder)
    before = sorted(plain.folder.iterdir())
    done = called(
        "report", plain.certificate.name, plain.release.name, *arguments, folder=plain.folder,
        code=2,
    )  # fmt: skip
    assert complaint in done.stderr
    assert sorted(plain.folder.iterdir()) == before


@pytest.mark.slow
def test_a_private_page_is_not_saved_beside_the_release_by_python_either(plain: Any) -> None:
    page = cv.report.curator_page(plain.certificate, plain.release, plain.original)
    with pytest.raises(cv.InvalidInput, match="another folder than the release"):
        page.save(plain.folder / "curator.html")
    (plain.folder / "own").mkdir()
    assert page.save(plain.folder / "own" / "curator.html").is_file()


def test_a_release_that_is_a_folder_holds_no_private_page(plain: Any, tmp_path: Path) -> None:
    parts = tmp_path / "data" / "parts"
    (parts / "inside").mkdir(parents=True)
    page = Page("", "", (), not_beside=(parts, tmp_path / "certificates" / "a.json"))
    for place in (parts, parts / "inside", tmp_path / "data", tmp_path / "certificates"):
        place.mkdir(exist_ok=True)
        with pytest.raises(cv.InvalidInput, match="another folder than the release"):
            page.save(place / "curator.html")
    assert page.save(tmp_path / "curator.html").is_file()


def test_a_page_is_not_overwritten_unless_asked(plain: Any, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("mine")
    arguments = ("report", plain.certificate, "-o", "a.html")
    done = called(*arguments, folder=tmp_path, code=2)
    assert b"a.html" in done.stderr
    assert (tmp_path / "a.html").read_text() == "mine"
    called(*arguments, "--force", folder=tmp_path)
    assert (tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")


def test_without_the_extra_the_error_says_what_to_install(
    plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    done = called("report", plain.certificate, "-o", "a.html", folder=tmp_path, code=2)
    assert b"pip install 'chainveil[report]'" in done.stderr
    assert not (tmp_path / "a.html").exists()
