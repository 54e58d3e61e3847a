"""Processes that answer heavy questions, forked from one that has loaded everything already.

A process of its own costs most of a second before it begins to compute. Here only the start is
another one: :func:`chainveil.certificate.work.serve` runs as ever, with its limits, and is stopped
when its time is over.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import Any

from chainveil.certificate import work

# What ``work`` needs of a module that stands in for subprocess, beside ``run``.
TimeoutExpired = subprocess.TimeoutExpired


def run(command: list[str], *, input: bytes, timeout: float, **how: Any) -> Any:
    """What :func:`subprocess.run` gives for the process that ``work`` starts."""
    assert command[-1] == work.START
    if json.loads(input)["path"] != _PATH:
        # Packages that a test brings along are not those of the process that is forked.
        return subprocess.run(command, input=input, timeout=timeout, **how)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.loaded"])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(input, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(timeout):
            process.kill()
            raise subprocess.TimeoutExpired(command, timeout)
        answer = ours.recv_bytes()
    except EOFError:
        answer = b""
    finally:
        process.join()
        ours.close()
    assert process.exitcode is not None
    return subprocess.CompletedProcess(command, process.exitcode, answer, b"")


# The search path when the tests begin.
_PATH: list[str] = []


def begin() -> None:
    """Remember the search path: for it, processes are forked."""
    _PATH[:] = map(str, sys.path)


def _serve(told: bytes, pipe: Connection) -> None:
    sys.stdout = io.TextIOWrapper(io.BytesIO())
    work.serve(json.loads(told))
    pipe.send_bytes(sys.stdout.buffer.getvalue())
