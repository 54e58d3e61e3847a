"""The one-way flow of the data, and what an import may cost."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import chainveil
from chainveil.compiled import _COMPILED

ROOT = Path(chainveil.__file__).parent

# A room may import rooms to its left only, and itself. docs/architecture.md draws the same line.
ORDER = [
    "errors",
    "text",
    "checks",
    "notebook",
    "progress",
    "counts",
    "sequences",
    "compiled",
    "plugins",
    "model",
    "noise",
    "privacy",
    "mechanism",
    "plan",
    "calibration",
    "inference",
    "attack",
    "estimate",
    "certificate",
    "device",
    "table",
    "contract",
    "spark",
    "next",
    "plot",
    "report",
    "comparison",
    "cli",
]

# The ways back: a plan hands out its certificate, which is made from plans; plans and answers
# draw themselves; the checks of a model and of a noise are public beside them.
BACKWARDS = {
    "plan": {"certificate", "plot"}, "estimate": {"plot"}, "table": {"plot"},
    "model": {"contract"}, "noise": {"contract"},
}  # fmt: skip


def _room(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imported_names(path: Path) -> list[list[str]]:
    """Names that a file imports when it runs, in parts; those for type checkers do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name.split(".") for name in names]


def _imported_rooms(path: Path) -> set[str]:
    parts = _imported_names(path)
    return {part[1] for part in parts if part[0] == "chainveil" and len(part) > 1}


FILES = sorted(
    path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent != ROOT
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_later_stage_imports_earlier_ones_never_the_reverse(path: Path) -> None:
    room = _room(path)
    assert room in ORDER, f"{room} has no place in the flow yet"
    for other in (_imported_rooms(path) & set(ORDER)) - BACKWARDS.get(room, set()):
        assert ORDER.index(other) <= ORDER.index(room), f"{room} imports {other}"


def test_loops_are_compiled_in_one_way() -> None:
    """What is kept, where, and until when is decided there, and nowhere else."""
    asking = [path.name for path in FILES if re.search(r"njit\(\s*cache", path.read_text("utf-8"))]
    assert asking == ["compiled.py"]


def _compiled_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    marks = ("compiled", "_compiled", "_reordering", "intrinsic", "inner")
    return [
        function
        for function in functions
        if any(ast.unparse(mark).split("(")[0] in marks for mark in function.decorator_list)
    ]


def _imported_from(tree: ast.Module) -> dict[str, str]:
    """The module of the package behind each name that a file imports."""
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and "chainveil" in node.module
        for alias in node.names
    }


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if "import compiled" in path.read_text("utf-8")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_compiled_loops_use_compiled_files_of_their_folder_only(path: Path) -> None:
    """The name under which a loop is kept follows these files: ``chainveil.compiled``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions, origin = _compiled_functions(tree), _imported_from(tree)
    assert functions
    for function in functions:
        used = {
            node.id
            for part in function.body
            for node in ast.walk(part)
            if isinstance(node, ast.Name)
        }
        for name in used & set(origin):
            source = ROOT.parent / (origin[name].replace(".", "/") + ".py")
            assert source.parent == path.parent, f"{function.name} uses {name} of {origin[name]}"
            assert _COMPILED.search(source.read_bytes()), (
                f"{function.name} uses {name} of {source.name}"
            )


# What lies beside the package in a checkout, and in no wheel.
CHECKOUT = ROOT.parents[1]
OUTSIDE = {"experiments", "benchmarks", "tests", "docs"}


def test_the_package_imports_nothing_that_lies_beside_it() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        assert not {part[0] for part in _imported_names(path)} & OUTSIDE, path


def test_the_wheel_carries_the_package_alone() -> None:
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/chainveil"]}
    rooms = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert rooms
    assert not rooms & OUTSIDE


def test_the_experiments_import_the_package_and_nothing_beside_it() -> None:
    """They run in a checkout without tests, and their results are those of the package."""
    files = sorted((CHECKOUT / "experiments").rglob("*.py"))
    assert files
    used = {part[0] for path in files for part in _imported_names(path)}
    assert used & (OUTSIDE | {"chainveil"}) == {"chainveil", "experiments"}


def test_nothing_private_of_torch_is_used() -> None:
    """Names that begin with an underscore may go with the next version."""
    places = (ROOT, CHECKOUT / "experiments", CHECKOUT / "benchmarks")
    files = [file for place in places for file in sorted(place.rglob("*.py"))]
    using = [file for file in files if "torch" in file.read_text(encoding="utf-8")]
    assert using
    for path in using:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        used += [".".join(name) for name in _imported_names(path)]
        assert not [name for name in used if re.match(r"torch\..*(?<=\.)_(?!_)", name)], path


# Folders of tests that belong to no single room.
ACROSS = {"oracle", "property", "statistical", "fuzz", "recorded", "extending", "experiments"}


def test_tests_lie_where_the_code_lies_that_they_test() -> None:
    tests = CHECKOUT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert folders
    for folder in sorted(folders):
        assert str(folder) in ACROSS or (ROOT / folder).is_dir(), folder


ASKING = ("isinstance", "issubclass", "checks.instance")
NOISES = {"Channel", "StickyNoise", "TrackingNoise", "CorrelatedNoise", "RememberingNoise"}
KINDS = {"MarkovChain", "HigherOrderChain", "ChainRegion", "ModelFamily", *NOISES}
# Rooms and files that ask a noise for its automaton, its parametrization, its laws and its tags.
ASK_NOISE = ("privacy", "certificate", "mechanism", "inference", "estimate", "comparison", "attack")
# What searches for noise of a kind makes it: it does not ask which kind a noise is.
MAKE_NOISE = ("privacy/letters", "privacy/orders", "privacy/enumeration/calibrate", "attack/audit")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_kinds_are_asked_for_properties_never_for_their_names(path: Path) -> None:
    if _room(path) in ("model", "noise"):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ASKING:
            asked = {
                name.id
                for part in node.args[1:]
                for name in ast.walk(part)
                if isinstance(name, ast.Name)
            }
            assert not asked & KINDS, f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_solver_sampler_or_estimator_knows_a_kind_of_noise(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    if _room(path) not in ASK_NOISE or name.startswith(MAKE_NOISE):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert not used & NOISES
    assert not words & {"sticky", "tracking", "correlated"}


def test_estimates_compile_nothing_but_counting() -> None:
    """Forward-backward recursions have one room, inference."""
    compiled = {
        str(path.relative_to(ROOT))
        for path in FILES
        if _room(path) in ("attack", "estimate") and "numba" in path.read_text(encoding="utf-8")
    }
    assert compiled
    assert all(name.startswith("estimate/counts/") for name in compiled), compiled


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports_at_the_top(path: Path, modules: set[str]) -> set[str]:
    """Modules of the package that a file imports when it is imported itself."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            inside = named & modules
            found |= inside or ({node.module} & modules)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & modules
    return found - {_module(path)}


def test_no_import_cycles_between_or_inside_rooms() -> None:
    paths = {_module(path): path for path in FILES}
    graph = {name: _imports_at_the_top(path, set(paths)) for name, path in paths.items()}
    cycle = next((error for error in [_cycle(graph)] if error), None)
    assert cycle is None, " -> ".join(cycle or ())


def _cycle(graph: dict[str, set[str]]) -> tuple[str, ...] | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return None


def test_the_import_is_light() -> None:
    heavy = (
        "numba", "flint", "scipy", "matplotlib", "torch", "pyspark", "cryptography", "polars",
        "pandas", "pyarrow", "rich", "click", "narwhals", "altair", "jinja2", "vl_convert",
    )  # fmt: skip
    code = f"import sys, chainveil; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist_and_are_documented() -> None:
    for name in chainveil.__all__:
        assert getattr(chainveil, name).__doc__, name
