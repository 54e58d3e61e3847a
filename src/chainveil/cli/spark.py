"""``chainveil sanitize --engine spark``: the same command on a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import note, warn


def sanitize_folder(table: str, output: str, given: dict[str, Any], request: Any, rng: Any) -> Any:
    """Write the release folder and its certificate, which is returned."""
    from chainveil.spark.release import as_table
    from chainveil.spark.session import session
    from chainveil.spark.sink import FolderSink
    from chainveil.spark.staging import check_folder_goal, local_path
    from chainveil.spark.survey import SPARK
    from chainveil.spark.table import SparkTable
    from chainveil.table.release import release_table

    _check_series(request)
    _check_paths(output, table, given["reference"])
    _check_output(output)
    sink = FolderSink(local_path(output), given["certificate"], given["force"])
    check_folder_goal(sink.path, sink.force)
    sources = [_source(path, given) for path in (table, given["reference"]) if path is not None]
    request.check(sources[0])
    for source in sources[1:]:
        request.layout.check(source)
    for path in (table, given["reference"]):
        if path is not None:
            _check_text(path, given)
    note("starting Spark …")
    with session(given["master"]) as spark:
        frame = _read(spark, table, sources[0], given)
        if given["reference"] is not None:
            public = _read(spark, given["reference"], sources[1], given)
            request = replace(request, reference=as_table(public))
        return release_table(SparkTable(frame), sink, request, rng, reader=SPARK)


def _check_series(request: Any) -> None:
    """Series are not fitted one by one on Spark, which is said unless --pooled says it."""
    from chainveil.table.states.families import POOLED

    if request.layout.group is not None:
        raise click.UsageError(
            "--group is for tables on this machine (--engine here): a plan for each group is not "
            "made on Spark. Release each group on its own, with its own certificate."
        )
    if request.parts > 1:
        raise click.UsageError("--parts is not offered on Spark, where one chain is fitted.")
    fitted = request.chain is None and request.plan is None
    if fitted and request.layout.series is not None and not request.pooled:
        warn(f"on Spark one chain is fitted to all series, as if --pooled were given; {POOLED}")


def _check_paths(*paths: str | None) -> None:
    """Java takes paths as text."""
    from chainveil.errors import InvalidInput

    for path in paths:
        try:
            (path or "").encode()
        except UnicodeEncodeError:
            raise InvalidInput("path", path, "a path in UTF-8, on Spark") from None


def _check_output(output: str) -> None:
    from chainveil.table.read.formats import by_path, told_by

    if output == "-":
        raise click.UsageError("On Spark the release is a folder: give -o a name, not -.")
    if not told_by(output) or by_path(output, argument="output").name != "parquet":
        raise click.UsageError("On Spark the release is a folder of Parquet files: end its name "
                               "in .parquet.")  # fmt: skip


def _source(path: str, given: dict[str, Any]) -> Any:
    """The table as one machine would read it, for the types of its columns."""
    if path == "-":
        raise click.UsageError("On Spark the table is a file or a folder, not standard input.")
    source = options.read_source(str(_files(path)[0]), given, text=False)
    if source.format.name in ("text", "arrow"):
        raise click.UsageError(f"Spark does not read {source.format.name}: give CSV, TSV or "
                               "Parquet.")  # fmt: skip
    return source


def _files(path: str) -> list[Path]:
    """A file, or the files of a folder."""
    from chainveil.table.read.reading import part_files

    return part_files(Path(path)) if Path(path).is_dir() else [Path(path)]


def _check_text(path: str, given: dict[str, Any]) -> None:
    """Read text once as one machine would: Spark mends what is broken, without a word."""
    from chainveil.errors import InvalidInput
    from chainveil.table.error_text import row_text

    first = _source(path, given)
    for file in _files(path) if first.format.is_text else []:
        source = options.read_source(str(file), given, text=False)
        if source.columns != first.columns:
            raise InvalidInput(f"table {file}", "other columns than the first file has", "the same")
        rows = 0
        for batch in replace(source, types=first.schema).batches():
            empty = _first_empty(batch) if len(source.columns) == 1 else None
            if empty is not None:
                found = f"an empty line in {row_text(rows + empty)}"
                raise InvalidInput(f"table {file}", found, "a value in every row, on Spark")
            rows += batch.num_rows


def _first_empty(batch: Any) -> int | None:
    """The first row of a table of one column that is an empty line, which Spark leaves out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    row: int = pc.index(batch.column(0).cast(pa.string()).fill_null(""), "").as_py()
    return None if row < 0 else row


def _read(spark: Any, path: str, source: Any, given: dict[str, Any]) -> Any:
    """The table as a frame, in the types that one machine would find."""
    from chainveil.spark.release import spark_path
    from chainveil.spark.table import struct_type

    place = spark_path(Path(path).absolute())
    if source.format.name == "parquet":
        return spark.read.parquet(place)
    reader = spark.read.schema(struct_type(source.schema))
    # A value that does not fit its column is an error, not a missing value.
    reader = reader.option("mode", "FAILFAST").option("header", not given["no_header"])
    reader = reader.option("sep", source.format.separator)
    if not source.format.has_quotes:
        # An empty mark: quotes are characters like any other.
        return reader.option("quote", "").csv(place)
    return reader.option("multiLine", given["multiline"]).option("escape", '"').csv(place)
