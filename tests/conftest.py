"""A real Spark for the tests that need one, started once in the one process that runs them."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import hypothesis
import pytest

from chainveil.spark.needs import java_is_missing

# .ci/run sets it: there, a Spark that cannot start is a failure.
NEEDED = "CHAINVEIL_NEED_SPARK"
# Programs of a few seconds do not live to see what better compiled code would bring.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


# Programs that tests start read what was compiled to bytecode before, also where none may be
# written by default.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No example fails for the time that it took on a busy machine.
hypothesis.settings.register_profile("chainveil", deadline=None)
hypothesis.settings.load_profile("chainveil")

# Tests of several files that share what is dear to make, by words in their names: one worker runs
# all of them.
TOGETHER = ("spark", "tests/test_site.py", "tests/report/")
# What is begun first: long files, so that none is left for the end, and those that compile most,
# so that two workers seldom compile the same.
FIRST = (
    "spark",
    # What the first tests of Spark compile as well comes a while later.
    "tests/privacy/letters/test_calibrate.py",
    "tests/privacy/orders/test_loss.py",
    "tests/privacy/letters/test_definition.py",
    "tests/recorded/test_losses.py",
    "tests/recorded/test_plans.py",
    "tests/recorded/test_answers.py",
    "tests/privacy/odds/test_precision.py",
    "tests/privacy/test_calibrate_memory.py",
    "tests/inference/test_remembering.py",
    "tests/fuzz/test_documents.py",
    "tests/report/",
    "tests/cli/test_session.py",
    "tests/cli/test_faults.py",
    "tests/table/write/test_publishing.py",
    "tests/certificate/test_promise.py",
    "tests/test_docs.py",
    "tests/experiments/test_quick.py",
    "tests/privacy/family/test_calibrate.py",
    "tests/cli/test_examples.py",
    "tests/statistical/test_estimate_coverage.py",
    "tests/privacy/odds/test_independent.py",
    "tests/privacy/odds/test_memory.py",
    "tests/privacy/letters/test_loss.py",
    "tests/privacy/family/test_loss.py",
    "tests/cli/test_data.py",
    "tests/cli/test_unwritable.py",
    "tests/estimate/questions/test_small_groups.py",
    "tests/test_site.py",
    "tests/certificate/test_memory.py",
    "tests/certificate/test_memory_many_states.py",
    "tests/table/test_families.py",
    "tests/test_notebooks.py",
)


# Fixtures that take many seconds: a browser, the pages of a release of six people, Spark. What uses
# them runs with the slow tests.
DEAR = {"browser", "made", "spark_session"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses a dear fixture, before tests are chosen by their marks."""
    for item in items:
        if not DEAR.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker runs a whole file, which makes its fixtures once, and what belongs together.

    The marks that pytest-xdist has for this come to nothing with pytest 9.2, where a test
    cannot be given another name.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((word for word in TOGETHER if word in nodeid), file)

        def _assign_work_unit(self, node: Any) -> None:
            for scope in reversed(FIRST):
                if scope in self.workqueue:
                    self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return Together(config, log)


@pytest.fixture(scope="session", autouse=True)
def _forked() -> Iterator[None]:
    """Losses that are checked apart are computed by forked processes, not by ones started anew."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        yield
        return
    from chainveil.certificate import work
    from tests import apart

    apart.begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "subprocess", apart)
        yield


@pytest.fixture
def started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the processes themselves."""
    monkeypatch.setattr("chainveil.certificate.work.subprocess", subprocess)


def why_no_spark() -> str | None:
    """Why Spark cannot start here; None if it can."""
    return "pyspark is not installed" if find_spec("pyspark") is None else java_is_missing()


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Any]:
    """Spark on two cores, in which a task may fail once."""
    reason = why_no_spark()
    if reason is not None and os.environ.get(NEEDED):
        pytest.fail(f"Spark is needed here: {reason}")
    if reason is not None:
        pytest.skip(f"Spark cannot start: {reason}")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("JDK_JAVA_OPTIONS", QUICK_JAVA)
    with warnings.catch_warnings():
        # Spark's own imports; nothing of ours.
        warnings.simplefilter("ignore")
        session = _start()
        # What Spark imports when a frame is first made from Arrow, or shows one.
        session.createDataFrame([(1,)], "x int").toArrow()
    yield session
    session.stop()


def _start() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,2]").appName("tests")
    settings = {
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.io.encryption.enabled": True,
        "spark.sql.shuffle.partitions": 3,
        # Few rows and many partitions: Spark would otherwise join them to one.
        "spark.sql.adaptive.enabled": False,
        "spark.sql.execution.arrow.maxRecordsPerBatch": 100,
        "spark.sql.session.timeZone": "Europe/Vienna",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
