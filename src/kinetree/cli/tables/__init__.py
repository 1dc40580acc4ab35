"""`kinetree tables`: the tables and figures of Echeandia (2020), printed and computed values side by side."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from kinetree.cli.status import OK, Misuse
from kinetree.cli.tables.table import Table, printed
from kinetree.cli.text import Style, closest, printable, progress

SUMMARY = "reproduce the tables of Echeandia (2020)"
DESCRIPTION = """Reproduce the results of Echeandia (2020) on the Coriolis matrix, the Christoffel symbols and
rotors: every table and figure, printed values next to those computed here, and an explanation where the
printed values are wrong. NUMBER is 3.1 to 3.3, 4.1 to 4.6, fig3.2 to fig3.4, fig4.4, fig4.5 or complexity;
all of them take about a minute."""
EXAMPLES = """  kinetree tables 4.3 4.4 4.5
  kinetree tables 4.1 --markdown > table.md
  kinetree tables 3.1 --plots figures"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help="tables to compute (default: all)")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--plots", metavar="DIR", help="also plot each as a PNG file (needs matplotlib)")


def run(options: argparse.Namespace) -> int:
    from kinetree.cli.tables import writing

    wanted = [chosen(number) for number in options.numbers] or list(printed())
    found = [measured(table) for table in progress(wanted, len(wanted), "computing")]
    if options.json:
        print(json.dumps([table.to_dict() for table in found], indent=2))
    elif options.markdown:
        print("\n\n".join(map(writing.markdown, found)))
    else:
        style = Style(sys.stdout)
        print("\n\n".join(writing.text(table, style) for table in found))
    if options.plots:
        for table in found:
            writing.plot(table, Path(options.plots))
    return OK


def chosen(number: str) -> Table:
    """The table with a number, in any common spelling."""
    tables = {table.id: table for table in printed()}
    name = number.lower().replace("table", "").replace("figure", "fig").strip()
    if name not in tables:
        hint = closest(name, tables) or f"There are: {', '.join(tables)}."
        raise Misuse(f"tables: there is no '{printable(number)}'. {hint}")
    return tables[name]


def measured(table: Table) -> Table:
    """The table with the values computed here."""
    from kinetree.cli.tables import measures

    return table.filled(getattr(measures, table.measure)())
