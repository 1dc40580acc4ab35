"""`kinetree convert`: convert a robot from one file format to another."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from kinetree.cli import source
from kinetree.cli.status import OK, Misuse
from kinetree.cli.text import printable
from kinetree.errors import ModelError

SUMMARY = "convert a robot from one file format to another"
DESCRIPTION = """Read a robot and write it to OUT in the format given by its extension: .urdf, .xml, .mjcf,
.sdf or .json. Anything the format cannot express is an error that names it: nothing is lost silently."""
EXAMPLES = """  kinetree convert panda.urdf panda.xml
  kinetree convert humanoid.xml humanoid.sdf
  kinetree convert zoo:puma560 puma.urdf --force"""


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser)
    parser.add_argument("output", metavar="OUT", type=Path, help="the file to write")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    import kinetree as kt
    from kinetree.io.save import written_format

    try:
        written_format(options.output)
    except ModelError as fault:
        raise Misuse(str(fault)) from None
    if os.path.lexists(options.output) and not options.force:
        raise Misuse(f"'{options.output}' exists: use --force to overwrite it")
    model = source.read(options)
    try:
        path = kt.save(model, options.output)
    except OSError as fault:
        raise Misuse(f"'{options.output}' cannot be written: {fault.strerror}") from None
    warnings = [] if model.report is None else [str(f) for f in model.report.warnings]
    if options.json:
        print(json.dumps({"model": model.name, "file": str(path), "warnings": warnings}, indent=2))
    else:
        print(f"{printable(model.name)}: {printable(path)}  {path.stat().st_size:,} bytes")
        for warning in warnings:
            print(f"warning: {printable(warning)}")
    return OK
