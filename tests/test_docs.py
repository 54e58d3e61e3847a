"""Documentation is tested: examples in Markdown and in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import chainveil

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])
# Pages whose examples run on Spark: in the process that has one.
ON_SPARK = {ROOT / "docs" / "spark.md"}
EXAMPLES = [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page in ON_SPARK else [])
    for page in PAGES
]
# Pages whose examples take seconds.
LONG = {
    "compare.md", "estimates.md", "families.md", "higher-order.md",
    "memory.md", "report.md", "spark.md", "study.md",
}  # fmt: skip
MOST = [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in LONG else [])
    for page in PAGES
]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+?)(?:#[^)]*)?\)")


def _examples(page: Path) -> str:
    """The Python blocks of a page that show a session, in order: they share their names."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return "\n".join(block for block in blocks if ">>>" in block)


@pytest.fixture
def engine(page: Path, request: pytest.FixtureRequest) -> None:
    """A Spark for the pages that need one."""
    if page in ON_SPARK:
        request.getfixturevalue("spark_session")


@pytest.mark.parametrize("page", MOST)
@pytest.mark.usefixtures("engine")
def test_examples_in_pages(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = doctest.DocTestParser().get_doctest(_examples(page), {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    output: list[str] = []
    runner.run(session, out=output.append)
    assert not runner.failures, "".join(output)


@pytest.mark.parametrize("page", EXAMPLES)
@pytest.mark.usefixtures("engine")
def test_other_python_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = [b for b in BLOCK.findall(page.read_text(encoding="utf-8")) if ">>>" not in b]
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


CITED = re.compile(r"\b(?:tests|benchmarks|experiments|docs)/[\w/]+\.(?:py|md|csv|json)\b")
WRITTEN = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "experiments")
    for path in (ROOT / folder).rglob("*.py")
)


def test_files_that_are_cited_exist() -> None:
    for path in [*PAGES, ROOT / "CONTRIBUTING.md", *WRITTEN]:
        for cited in CITED.findall(path.read_text(encoding="utf-8")):
            assert (ROOT / cited).exists(), f"{path.relative_to(ROOT)} cites {cited}"


def _modules() -> list[str]:
    found = pkgutil.walk_packages(chainveil.__path__, "chainveil.")
    return sorted(module.name for module in found if not module.name.endswith("__main__"))


def _source(name: str) -> str:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


# Told by their text: what is collected must not depend on the extras that are installed.
WITH_EXAMPLES = [name for name in _modules() if ">>> " in _source(name)]


def _imported(name: str) -> ModuleType | None:
    """A module, or None where an extra that it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if not isinstance(error, chainveil.MissingExtra) and error.name != "torch":
            raise
        return None


def test_every_module_can_be_imported() -> None:
    assert "chainveil.privacy.loss" in {name for name in _modules() if _imported(name) is not None}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings(name: str) -> None:
    module = _imported(name)
    if module is None:
        pytest.skip("an extra is not installed")
    result = doctest.testmod(module, optionflags=OPTIONS)
    assert result.attempted
    assert result.failed == 0


def test_public_names_have_an_example() -> None:
    for name in chainveil.__all__:
        thing = getattr(chainveil, name)
        error = isinstance(thing, type) and issubclass(thing, Exception)
        if error or isinstance(thing, ModuleType):
            continue
        assert ">>> " in (thing.__doc__ or ""), name
