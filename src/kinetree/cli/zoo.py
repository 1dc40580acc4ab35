"""`kinetree zoo`: list the robots that come with the library."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from textwrap import fill
from typing import Any

from kinetree.cli.source import ZOO, robots
from kinetree.cli.status import OK
from kinetree.cli.text import columns, table, widest, wrapped

SUMMARY = "list the robots that come with the library"
DESCRIPTION = """List the robots of the zoo and their arguments. Use them wherever a command takes a FILE, as
zoo:NAME or zoo:NAME:ARGUMENT,..."""
EXAMPLES = """  kinetree zoo
  kinetree info zoo:chain:20"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    found = [described(name, make) for name, make in robots().items()]
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        rows = [[f"{ZOO}{robot['name']}", robot["arguments"], robot["summary"]] for robot in found]
        write(rows, columns(sys.stdout))
    return OK


def write(rows: list[list[str]], room: int | None) -> None:
    """Print the robots as a table; where it does not fit, the summaries are below the names."""
    whole = table(rows, ["robot", "arguments", ""])
    if room is None or widest(whole) <= room:
        print(whole)
        return
    heads = table([row[:2] for row in rows]).split("\n")
    for head, (*_, summary) in zip(heads, rows, strict=True):
        print(wrapped(head, room))
        print(fill(summary, room, initial_indent="  ", subsequent_indent="  "))


def described(name: str, make: Any) -> dict[str, str]:
    """A robot as plain data: its name, its arguments and a one-sentence summary."""
    parameters = inspect.signature(make).parameters.values()
    arguments = ", ".join(
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in parameters
        if p.kind is not p.KEYWORD_ONLY and (p.default is p.empty or isinstance(p.default, int | float))
    )
    summary = (inspect.getdoc(make) or "").split("\n\n")[0]
    return {"name": name, "arguments": arguments, "summary": " ".join(summary.split()).partition(". ")[0]}
