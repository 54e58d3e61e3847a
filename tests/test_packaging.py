"""What is imported is declared, and what is declared is pinned."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import chainveil
from tests.packages import lowest_pins

HOME = Path(__file__).resolve().parents[1]
SOURCE = Path(chainveil.__file__).parent
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
# Frames that a user hands over come with their package: nothing here needs it otherwise.
BROUGHT = {"duckdb", "pandas", "polars"}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _declared(requirements: list[str]) -> set[str]:
    return {_normal(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in requirements}


def _imported() -> dict[str, str]:
    """Every package that a file of the source imports, anywhere in it, and one such file."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            found |= {name.split(".")[0]: str(path.relative_to(SOURCE)) for name in names}
    return {
        name: where
        for name, where in found.items()
        if name not in sys.stdlib_module_names and name not in {"chainveil", *BROUGHT}
    }


def test_every_package_that_is_imported_is_declared() -> None:
    extras = {name: _declared(lines) for name, lines in PROJECT["optional-dependencies"].items()}
    declared = _declared(PROJECT["dependencies"]).union(
        *(extras[e] for e in ("plot", "report", "lstm", "spark"))
    )
    homes = packages_distributions()
    for package, where in _imported().items():
        distributions = {_normal(name) for name in homes.get(package, [package])}
        assert distributions & declared, f"{where} imports {package}, which pyproject.toml lacks"


def test_the_check_sees_imports_inside_functions() -> None:
    """As those of requests, py4j and llvmlite are."""
    assert {"requests", "py4j", "llvmlite", "numpy", "flint"} <= set(_imported())


def test_everything_declared_is_pinned() -> None:
    pins = (HOME / "constraints.txt").read_text().splitlines()
    pinned = {_normal(line.split("==")[0]) for line in pins if "==" in line}
    extras = list(PROJECT["optional-dependencies"].values())
    declared = _declared(PROJECT["dependencies"]).union(*map(_declared, extras)) - {"chainveil"}
    assert declared <= pinned


def test_one_version_everywhere() -> None:
    number = chainveil.__version__
    assert f"version: {number}\n" in (HOME / "CITATION.cff").read_text(encoding="utf-8")
    assert f"Version {number}" in (HOME / "docs/cite.md").read_text(encoding="utf-8")
    assert f"\n## {number}\n" in (HOME / "CHANGELOG.md").read_text(encoding="utf-8")


def test_lowest_versions_are_declared_for_all() -> None:
    assert all(">=" in line for line in PROJECT["dependencies"])
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", pin) for pin in lowest_pins())


def test_the_readme_names_the_licences_inside_python_flint() -> None:
    text = (HOME / "README.md").read_text(encoding="utf-8")
    assert all(name in text for name in ("FLINT", "GMP", "MPFR", "LGPL"))
