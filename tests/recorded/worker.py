"""A process that answers questions within a limit of processor time.

The operating system enforces the limit: it does not depend on other work of the machine, and it
ends compiled loops too.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from tests.recorded import adapter

AGAIN = 1.5  # seconds; questions that take less are asked twice, so that compilation is left out
PATIENCE = 40  # limit of the elapsed time, as a multiple of that of the processor time


class Answer(NamedTuple):
    """The outcome of a question: "done", "refused", "failed" or "late"."""

    status: str
    result: Any = None
    seconds: float = 0.0


def serve(connection: Connection, measured: bool) -> None:
    """Answer questions one by one: function of the adapter, argument, limit in seconds."""
    while True:
        try:
            name, argument, limit = connection.recv()
        except EOFError:
            return
        connection.send(_answer(getattr(adapter, name), argument, limit, measured))


def _answer(function: Any, argument: Any, limit: float, measured: bool) -> Answer:
    begin = time.process_time()
    # Limits are whole seconds.
    most = int(begin + limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    try:
        result = function(argument)
        seconds = time.process_time() - begin
        if measured and seconds < AGAIN:
            begin = time.process_time()
            function(argument)
            seconds = min(seconds, time.process_time() - begin)
        return Answer("done", result, seconds)
    except adapter.Refused as reason:
        return Answer("refused", str(reason), time.process_time() - begin)
    except Exception:
        return Answer("failed", traceback.format_exc(), time.process_time() - begin)


class Worker:
    """Asks a process, and starts a new one after an answer that did not come in time.

    ``measured``: quick questions are asked twice, and the lesser time counts.
    """

    def __init__(self, measured: bool = False) -> None:
        self._measured = measured
        self._process: Any = None
        self._connection: Any = None

    def ask(self, name: str, argument: Any, limit: float) -> Answer:
        """The answer, or "late" after ``limit`` seconds of processor time."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, far = context.Pipe()
            self._process = context.Process(target=serve, args=(far, self._measured), daemon=True)
            self._process.start()
            far.close()
            # Imports and loading do not count.
            self._answered("known", None, 120.0)
        return self._answered(name, argument, limit)

    def _answered(self, name: str, argument: Any, limit: float) -> Answer:
        self._connection.send((name, argument, limit))
        try:
            if self._connection.poll(PATIENCE * limit):
                answer: Answer = self._connection.recv()
                return answer
        except EOFError:
            # The process reached its limit.
            pass
        self.end()
        return Answer("late", None, limit)

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
