"""Every series fitted and checked on its own, beside reading the table alone.

    python -m benchmarks.series_check [--series 10000] [--points 1000] [--repeat 3]

The table has a person and a heart rate, a row a point; every person has a chain of their own. Read
by pyarrow: the file as a table in memory. Read: all rows through the table reader, and nothing done
with them; ratios to reading are to this, which takes no longer. Laid out: also discretized and put
together by series. Checked: laid out, all series counted, fitted, tested for order and drift, and
the loss of a plan for all of them computed on each own chain. Seconds of the processor, the median
of several turns after one that compiles; ratios are to reading, and to laying out.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

THRESHOLD = 70.0


def write_tables(folder: Path, series: int, points: int) -> list[Path]:
    """One table in two formats: q and r of each person from a spread of 5 to 20%."""
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    q, r = rng.beta(5, 45, (2, series))
    draws = rng.random((series, points))
    x = np.zeros((series, points), np.uint8)
    x[:, 0] = draws[:, 0] < q / (q + r)
    for t in range(1, points):
        x[:, t] = np.where(x[:, t - 1] == 0, draws[:, t] < q, draws[:, t] >= r)
    rate = 60.0 + 20 * x.reshape(-1) + rng.integers(-9, 9, series * points)
    person = np.repeat(np.arange(series, dtype=np.int32), points)
    table = pa.table({"person": person, "rate": rate})
    pq.write_table(table, folder / "table.parquet")
    csv.write_csv(table, folder / "table.csv")
    return [folder / "table.parquet", folder / "table.csv"]


def seconds(run: Callable[[], object], repeat: int) -> float:
    """Of the processor, in all threads; the median."""
    run()
    taken = []
    for _ in range(repeat):
        begin = time.process_time()
        run()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


def _on(checked: Callable[..., object], path: Path) -> Callable[[], object]:
    """The same on a file that is opened anew each time."""
    from chainveil.table.read.reading import open_source

    return lambda: checked(open_source(path))


def rows(path: Path, repeat: int) -> list[str]:
    """A line for each thing done with one file."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    import chainveil as cv
    from chainveil.table.read.reading import open_source
    from chainveil.table.request.discretize import make_discretizer
    from chainveil.table.request.request import Layout
    from chainveil.table.series_check import check_table
    from chainveil.table.states.by_series import read_states

    layout, states = Layout("rate", "person"), make_discretizer(threshold=THRESHOLD)
    plans = {
        name: cv.calibrate(cv.MarkovChain.binary(0.1, 0.1), 2.0, mechanism=name)
        for name in ("independent", "sticky")
    }

    def read() -> None:
        for _ in open_source(path).batches(layout.names):
            pass

    by_pyarrow = pq.read_table if path.suffix == ".parquet" else csv.read_csv
    found = {
        "read by pyarrow": seconds(lambda: by_pyarrow(path), repeat),
        "read": seconds(read, repeat),
        "laid out": seconds(lambda: read_states(open_source(path), layout, states), repeat),
    }
    for name, plan in plans.items():
        checked = partial(check_table, layout=layout, discretizer=states, plan=plan)
        found[f"checked, {name}"] = seconds(_on(checked, path), repeat)
    first, second = found["read"], found["laid out"]
    return [
        f"| {path.suffix[1:]} | {name} | {taken:.2f} | {taken / first:.1f} | {taken / second:.1f} |"
        for name, taken in found.items()
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print("| file | what | seconds | to reading | to laying out |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in write_tables(Path(folder), given.series, given.points):
            print("\n".join(rows(path, given.repeat)), flush=True)


if __name__ == "__main__":
    main()
