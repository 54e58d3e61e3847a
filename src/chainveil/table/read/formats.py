"""File formats by name, by ending and by their first bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from chainveil.errors import InvalidInput

Name = Literal["csv", "tsv", "text", "parquet", "arrow"]
Compression = Literal["gzip", "zstd"]

ENDINGS: dict[str, Name] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "text",
    ".dat": "text",
    ".text": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
COMPRESSED: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
NAMES: tuple[Name, ...] = ("csv", "tsv", "text", "parquet", "arrow")


@dataclass(frozen=True)
class Format:
    """A format, how the file as a whole is compressed, and what stands between cells of CSV."""

    name: Name
    compression: Compression | None = None
    delimiter: str = ","

    @property
    def is_text(self) -> bool:
        """Whether the file holds lines of text, and no types."""
        return self.name in ("csv", "tsv", "text")

    @property
    def separator(self) -> str:
        """What stands between the cells of a line."""
        return {"csv": self.delimiter, "tsv": "\t", "text": " "}[self.name]

    @property
    def has_quotes(self) -> bool:
        """Whether a quote is more than a character: only in CSV."""
        return self.name == "csv"

    def delimited(self, delimiter: str | None) -> Format:
        """The format with another delimiter for CSV; None keeps the one it has."""
        if delimiter is None:
            return self
        one = len(delimiter) == 1 and delimiter.isascii()
        if not one or delimiter in '"\r\n' or not (delimiter == "\t" or delimiter.isprintable()):
            raise InvalidInput(
                "delimiter", delimiter, "one ASCII character other than a quote or a line end"
            )
        if self.name in ("tsv", "text"):
            raise InvalidInput(
                "delimiter", f"{delimiter!r} for a table in {self.name}", "CSV alone has one",
                "If the table is CSV, say --format csv.",
            )  # fmt: skip
        return replace(self, delimiter=delimiter)

    def __str__(self) -> str:
        return self.name + (f"+{self.compression}" if self.compression else "")


def read_name(name: str | None, argument: str) -> Name | None:
    """``name`` if it is a format; None stays None."""
    if name is None or name in NAMES:
        return name
    raise InvalidInput(argument, name, " or ".join(NAMES))


def told_by(path: str | Path) -> bool:
    """Whether the name of a file tells its format."""
    return any(ending.lower() in ENDINGS for ending in Path(path).suffixes)


def by_path(path: str | Path, name: str | None = None, argument: str = "table") -> Format:
    """The format of a file by its ending; ``name`` decides where it is given."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    compression = COMPRESSED.get(endings[-1]) if endings else None
    bare = endings[:-1] if compression else endings
    found = read_name(name, "format") or (ENDINGS.get(bare[-1]) if bare else None)
    if found is None:
        raise InvalidInput(
            argument,
            str(path),
            f"a file that ends in {', '.join(ENDINGS)} (and .gz or .zst)",
            "" if argument == "output" else "Or say the format with --format.",
        )
    return _checked(Format(found, compression), argument)


def by_bytes(start: bytes, name: str | None = None) -> Format:
    """The format of a stream by its first bytes: Parquet, Arrow, or else CSV."""
    compression: Compression | None = None
    if start[:2] == b"\x1f\x8b":
        compression = "gzip"
    elif start[:4] == b"\x28\xb5\x2f\xfd":
        compression = "zstd"
    found = read_name(name, "format")
    if found is None:
        is_arrow = start[:6] == b"ARROW1" or start[:4] == b"\xff\xff\xff\xff"
        found = "parquet" if start[:4] == b"PAR1" else "arrow" if is_arrow else "csv"
    return _checked(Format(found, compression), "table")


def _checked(form: Format, argument: str) -> Format:
    if form.compression and not form.is_text:
        raise InvalidInput(
            argument, str(form), "Parquet and Arrow without .gz or .zst",
            "These formats compress their columns themselves.",
        )  # fmt: skip
    return form
