"""Write the pages that follow from the code: ``python docs/pages.py [FOLDER]``.

``command-line.md`` is the help of every command; the table of fields in ``certificate.md``
is the schema. The tests hold both pages to this program.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from chainveil.certificate.schema import FIELDS, OPTIONAL
from chainveil.cli import cli

HERE = Path(__file__).parent
WIDTH = 88
BEGIN, END = "<!-- fields: begin -->", "<!-- fields: end -->"
CHECKED = {
    "recomputed": "computed again from the other fields",
    "fixed": "must be the text of the schema",
    "release": "against the release, where it is given",
    "bounded": "computed again; may err on the safe side only",
    "open": "cannot be checked",
}


def command_line() -> str:
    """Help of every command, as one page."""
    parts = [
        "# The command line\n",
        "The help of every command, written by `python docs/pages.py` and held to the program "
        "by the tests. [Release a table](curator.md) shows the commands at work.\n",
    ]
    for path, command in _commands(cli, ("chainveil",)):
        level = "##" if len(path) < 3 else "###"
        parts.append(f"{level} {' '.join(path)}\n\n```text\n{_help(path, command)}\n```\n")
    return "\n".join(parts)


def fields() -> str:
    """The table of fields of a certificate."""
    lines = ["| field | holds | meaning | checked |", "|---|---|---|---|"]
    for field in FIELDS:
        row = (f"`{field.path}`", field.kind, field.meaning, CHECKED[field.checked])
        lines.append("| " + " | ".join(row) + " |")
    null = ", ".join(f"`{section}`" for section in OPTIONAL)
    return "\n".join([*lines, "", f"The sections {null} may be null as a whole."])


def certificate(page: str) -> str:
    """The page with its table of fields made anew."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{fields()}\n{END}{rest.split(END)[1]}"


def _commands(
    group: click.Group, path: tuple[str, ...]
) -> list[tuple[tuple[str, ...], click.Command]]:
    found: list[tuple[tuple[str, ...], click.Command]] = [(path, group)]
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += _commands(command, (*path, name))
        else:
            found.append(((*path, name), command))
    return found


def _help(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(path), max_content_width=WIDTH)
    context.terminal_width = WIDTH
    lines = command.get_help(context).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    """Write both pages."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (folder / "command-line.md").write_text(command_line(), encoding="utf-8")
    page = (HERE / "certificate.md").read_text(encoding="utf-8")
    (folder / "certificate.md").write_text(certificate(page), encoding="utf-8")


if __name__ == "__main__":
    main()
