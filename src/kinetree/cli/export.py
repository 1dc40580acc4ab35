"""`kinetree export`: the dynamics of one robot as C99 that needs nothing else."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from kinetree.cli import source
from kinetree.cli.status import OK, Misuse
from kinetree.cli.text import closest, printable

SUMMARY = "the dynamics of this robot as C99"
DESCRIPTION = """Write a C99 header and a C99 source with the dynamics of this robot: no heap, no
globals, no library but that of C."""
EXAMPLES = """  kinetree export panda.urdf
  kinetree export zoo:puma560 --function inverse_dynamics --function mass_matrix --output build/puma"""

DEFAULT = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser)
    chosen = f"what to export; may be repeated (default: {', '.join(DEFAULT)})"
    parser.add_argument("--function", action="append", metavar="NAME", help=chosen)
    parser.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="where to write (default: here)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    import kinetree as kt
    from kinetree import functions

    known = {n: f for n, f in vars(functions).items() if isinstance(f, functions.ModelFunction)}
    names = list(dict.fromkeys(options.function or DEFAULT))
    for name in names:
        if name not in known:
            hint = closest(name, known) or f"Functions: {', '.join(known)}."
            raise Misuse(f"there is no function '{name}' to export. {hint}")
    model = source.read(options)
    try:
        written = [Path(p) for p in kt.export_c([known[name] for name in names], model, options.output)]
    except OSError as fault:
        raise Misuse(f"'{options.output}' cannot be written: {fault.strerror}") from None
    if options.json:
        print(
            json.dumps(
                {"model": model.name, "functions": names, "files": [str(p) for p in written]}, indent=2
            )
        )
    else:
        print(f"{printable(model.name)}: {', '.join(names)}")
        for path in written:
            print(f"  {printable(path)}  {path.stat().st_size:,} bytes")
    return OK
