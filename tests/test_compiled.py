"""Compiled loops that are kept: used again while their sources are the same, and no longer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHARED = """
import numba
from numba import types
from numba.extending import intrinsic

SCALE = 10

@intrinsic
def shifted(_context, _value):
    def generate(_target, builder, _signature, arguments):
        return builder.add(arguments[0], arguments[0].type(1))
    return types.int64(types.int64), generate
"""
LOOP = """
from chainveil.compiled import compiled
from shared import SCALE, shifted

@compiled()
def loop(n):
    return SCALE * n + shifted(n)

print(loop(2), sum(loop.stats.cache_hits.values()))
"""


def _run(folder: Path) -> list[int]:
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "loop.py"],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [int(number) for number in done.stdout.split()]


@pytest.mark.slow
def test_a_change_in_what_a_loop_uses_compiles_it_again(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "shared.py").write_text(SHARED)
    (tmp_path / "plain.py").write_text("nothing = 0")
    assert _run(tmp_path) == [23, 0]
    (tmp_path / "plain.py").write_text("nothing = 1")
    assert _run(tmp_path) == [23, 1]
    (tmp_path / "shared.py").write_text(SHARED.replace("SCALE = 10", "SCALE = 20"))
    assert _run(tmp_path) == [43, 0]
    (tmp_path / "shared.py").write_text(SHARED.replace("type(1)", "type(7)"))
    assert _run(tmp_path) == [29, 0]
