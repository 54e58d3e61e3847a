"""Work on behalf of a document that anyone may have written: so much time and memory, no more.

What is certain to be small is computed at once, and so is what is about a kind of noise or of
models that this process alone knows, such as a class in a notebook. Everything else runs in a
process of its own that is stopped when its time is over, whatever it is doing then: the question
is then not decided. What is computed does not depend on the time.
"""

from __future__ import annotations

import contextlib
import json
import math
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from chainveil import checks
from chainveil.certificate import questions
from chainveil.errors import ChainveilError, InvalidInput, TooLarge
from chainveil.privacy.result import PrivacyLoss

SECONDS = 60.0
LONGEST_WAIT = 1e7
MEMORY = 4 << 30
# Entries of the joint law of all reports, a row a state, that are worth a try.
ENTRIES = 1 << 24
TOO_LARGE = "the loss is too large to check here"

_allowed: ContextVar[float] = ContextVar("seconds", default=SECONDS)

# The search path of this process comes along: the same chainveil, wherever it lies.
START = (
    "import json, sys; head = json.loads(sys.stdin.buffer.readline()); sys.path[:] = head['path']; "
    "from chainveil.certificate.work import serve; serve(head)"
)


@contextlib.contextmanager
def allowing(seconds: float | None) -> Iterator[None]:
    """So many seconds for each computation; None leaves it at what is allowed already."""
    if seconds is None:
        yield
        return
    before = _allowed.set(_read_seconds(seconds))
    try:
        yield
    finally:
        _allowed.reset(before)


def loss(question: str) -> PrivacyLoss:
    """The loss that a question asks for; see :mod:`chainveil.certificate.questions`."""
    return _bounded("loss", question, _allowed.get())  # type: ignore[no-any-return]


def replay(question: str) -> float:
    """What the attack in a question attains, computed independently of the search."""
    return _bounded("replay", question, _allowed.get())  # type: ignore[no-any-return]


def serve(head: dict[str, Any]) -> None:
    """The process that computes: a task on standard input, a pickled answer on standard output."""
    _take_less(head["seconds"], head["memory"])
    answer: Any
    try:
        answer = questions.TASKS[head["task"]](head["question"])
    except ChainveilError as error:
        answer = error
    except MemoryError:
        answer = TooLarge(f"{TOO_LARGE}: it takes more than {head['memory'] >> 20} MiB of memory.")
    sys.stdout.buffer.write(pickle.dumps(answer))


@lru_cache(maxsize=256)
def _bounded(task: str, question: str, seconds: float) -> Any:
    size = questions.entries(question)
    if size > ENTRIES:
        raise TooLarge(
            f"{TOO_LARGE}: the reports of all releases together have {size:.2g} probabilities, "
            f"and no more than {ENTRIES:.2g} are tried."
        )
    if questions.is_light(task, question) or not questions.is_known_elsewhere(question):
        return questions.TASKS[task](question)
    answer = _apart(task, question, seconds)
    if isinstance(answer, ChainveilError):
        raise answer
    return answer


def _apart(task: str, question: str, seconds: float) -> Any:
    head = {
        "task": task, "question": question, "seconds": seconds, "memory": MEMORY,
        "path": list(map(str, sys.path)),
    }  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", START], input=json.dumps(head).encode() + b"\n",
            capture_output=True, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _too_large(f"it takes more than {seconds:g} seconds") from None
    except OSError as error:
        raise ChainveilError(f"the check could not be started: {error}") from None
    if done.returncode == 0:
        return pickle.loads(done.stdout)
    if done.returncode < 0:
        raise _too_large(f"it was stopped by signal {-done.returncode}")
    words = done.stderr.decode(errors="replace").strip().splitlines()
    raise ChainveilError(f"the check could not be computed: {words[-1] if words else 'no reason'}")


def _too_large(reason: str) -> TooLarge:
    return TooLarge(f"{TOO_LARGE}: {reason}. More time: --max-seconds, or max_seconds= in Python.")


def _take_less(seconds: float, memory: int) -> None:
    """Hold this process to its time and memory, should nobody be there to stop it."""
    try:
        import resource
    except ImportError:
        return
    wanted = {resource.RLIMIT_CPU: math.ceil(seconds) + 1, resource.RLIMIT_AS: memory}
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (limit, hard))


def _read_seconds(seconds: Any) -> float:
    allowed = f"a number of seconds above 0, at most {LONGEST_WAIT:g}"
    number = checks.real("max_seconds", seconds, allowed)
    if not 0 < number <= LONGEST_WAIT:
        raise InvalidInput("max_seconds", seconds, allowed)
    return number
