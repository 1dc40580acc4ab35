"""`kinetree examples`: list, print and run the examples that come with the library."""

from __future__ import annotations

import argparse
import ast
import json
import runpy
import sys
from pathlib import Path
from textwrap import wrap

from kinetree.cli.status import OK, Misuse
from kinetree.cli.text import closest, printable, table

SUMMARY = "list, print and run the example programs"
DESCRIPTION = """List the examples; with a NAME, print its source or run it. Some need packages that are not
installed with kinetree."""
EXAMPLES = """  kinetree examples
  kinetree examples crane > crane.py
  kinetree examples crane --run"""
WIDTH = 80


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the example (default: list all)")
    parser.add_argument("--run", action="store_true", help="run the example", dest="runs")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(options: argparse.Namespace) -> int:
    known = examples()
    if options.name is None:
        if options.runs:
            raise Misuse("examples: --run needs the NAME of an example. See: kinetree examples --help")
        write(known, options.json)
        return OK
    if options.name not in known:
        hint = closest(options.name, known) or f"There are: {', '.join(known)}."
        raise Misuse(f"examples: there is no '{printable(options.name)}'. {hint}")
    path = known[options.name]
    if options.runs:
        sys.argv = [str(path)]
        runpy.run_path(str(path), run_name="__main__")
    else:
        print(path.read_text("utf-8"), end="")
    return OK


def examples() -> dict[str, Path]:
    """The examples by name: in the package, or in the repository it is used from."""
    package = Path(__file__).parents[1]
    for folder in (package / "examples", package.parents[1] / "examples"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.py"))}
    return {}


def summary(path: Path) -> str:
    """The first line of an example's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]


def write(known: dict[str, Path], as_json: bool) -> None:
    found = {name: summary(path) for name, path in known.items()}
    if as_json:
        print(json.dumps([{"name": name, "summary": text} for name, text in found.items()], indent=2))
        return
    room = WIDTH - 2 - max(map(len, found), default=0)
    rows = [[name, wrap(text, room)] for name, text in found.items()]
    print(table([[name if not k else "", line] for name, lines in rows for k, line in enumerate(lines)]))
