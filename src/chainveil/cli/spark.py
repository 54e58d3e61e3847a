"""``chainveil sanitize --engine spark``: the same command on a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from chainveil.cli.output import note


def sanitize_folder(table: str, output: str, given: dict[str, Any], request: Any, rng: Any) -> Any:
    """Write the release folder and its certificate, which is returned."""
    from chainveil.spark.release import Goal, as_table, release
    from chainveil.spark.session import session
    from chainveil.spark.sink import check_folder_goal, local_path
    from chainveil.spark.table import SparkTable

    _check_output(output, given["output_format"])
    goal = Goal(local_path(output), given["certificate"], given["force"])
    check_folder_goal(goal.path, goal.force)
    sources = [_source(path, given) for path in (table, given["reference"]) if path is not None]
    request.check(sources[0])
    for source in sources[1:]:
        request.layout.check(source)
    note("starting Spark …")
    with session(given["master"]) as spark:
        frame = _read(spark, table, sources[0], given)
        if given["reference"] is not None:
            public = _read(spark, given["reference"], sources[1], given)
            request = replace(request, reference=as_table(public))
        return release(SparkTable(frame), request, goal, rng).certificate


def _check_output(output: str, form: str | None) -> None:
    from chainveil.table.formats import by_path

    if output == "-":
        raise click.UsageError("On Spark the release is a folder: give -o a name, not -.")
    if by_path(output, form, "output").name != "parquet":
        raise click.UsageError("On Spark the release is a folder of Parquet files: end its name "
                               "in .parquet, or say --output-format parquet.")  # fmt: skip


def _source(path: str, given: dict[str, Any]) -> Any:
    """The table as one machine would read it, for the types of its columns."""
    from chainveil.table.reading import open_source, part_files

    if path == "-":
        raise click.UsageError("On Spark the table is a file or a folder, not standard input.")
    file = part_files(Path(path))[0] if Path(path).is_dir() else Path(path)
    text = given["text"]
    source = open_source(file, given["form"], not given["no_header"], text)
    if source.format.name in ("text", "arrow"):
        raise click.UsageError(f"Spark does not read {source.format.name}: give CSV, TSV or "
                               "Parquet.")  # fmt: skip
    return source


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
    reader = reader.option("sep", source.format.separator).option("multiLine", True)
    return reader.option("escape", '"').csv(place)
