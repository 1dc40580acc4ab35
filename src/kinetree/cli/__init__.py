"""The command `kinetree`: one module per command, one contract for all of them.

A command is a module with `SUMMARY`, `DESCRIPTION`, `EXAMPLES`, `configure(parser)` and `run(options)`, which
returns the exit status. Results go to standard output, errors to standard error as one line, which a
terminal shows wrapped. With `--json`, errors also go to standard output as `{"error": ...}`.
Exit status: 0 success, 1 problem in the robot or its file, 2 usage error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from textwrap import fill
from typing import NoReturn, Protocol

from kinetree.cli import (
    bench,
    check,
    completion,
    convert,
    demo,
    examples,
    export,
    info,
    simulate,
    sweep,
    tables,
    view,
    zoo,
)
from kinetree.cli.status import BROKEN_PIPE, FINDINGS, INTERNAL, INTERRUPTED, MISUSE, Misuse
from kinetree.cli.text import closest, columns, printable, wrapped
from kinetree.errors import KinetreeError


class Command(Protocol):
    """What the module of a command provides."""

    SUMMARY: str
    DESCRIPTION: str
    EXAMPLES: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, options: argparse.Namespace) -> int: ...


MODULES = (
    info, check, convert, simulate, sweep, view, bench, export, zoo, tables, examples, demo, completion,
)  # fmt: skip
COMMANDS: dict[str, Command] = {module.__name__.rpartition(".")[2]: module for module in MODULES}

STATUSES = "exit status: 0 success, 1 problem in the robot or its file, 2 usage error"
WIDTH = 80  # columns of the help


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        raise Misuse(f"{self.prog}: {message}. See: {self.prog} --help")


def parser() -> Parser:
    """The parser of the whole command line."""
    top = Parser(
        prog="kinetree",
        description="Rigid multibody dynamics of robots from files.",
        epilog="FILE is a robot file (URDF, MJCF, SDF, USD or kinetree JSON), - for standard\n"
        f"input, or a robot of the zoo, such as zoo:puma560.\n{STATUSES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, command in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=command.SUMMARY,
            description=fill(" ".join(command.DESCRIPTION.split()), WIDTH),
            epilog=f"examples:\n{command.EXAMPLES}\n\n{STATUSES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(sub)
        sub.add_argument("--traceback", action="store_true", help="print the traceback of an error")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = dispatch(arguments)
        sys.stdout.flush()
        return status
    except SystemExit as stop:  # how argparse exits after --help
        return stop.code if isinstance(stop.code, int) else MISUSE
    except KeyboardInterrupt:
        return complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Misuse as fault:
        return complain(str(fault), MISUSE, arguments, fault)
    except KinetreeError as fault:
        return complain(str(fault), FINDINGS, arguments, fault)
    except Exception as fault:
        hint = "This is a bug in kinetree; --traceback shows where."
        return complain(f"{type(fault).__name__}: {fault}. {hint}", INTERNAL, arguments, fault)


def dispatch(arguments: list[str]) -> int:
    """Parse the arguments and run the command they name."""
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        hint = closest(arguments[0], COMMANDS) or f"Commands: {', '.join(COMMANDS)}."
        raise Misuse(f"there is no command '{printable(arguments[0])}'. {hint}")
    top = parser()
    options = top.parse_args(arguments)
    if options.version:
        from importlib.metadata import version

        print(f"kinetree {version('kinetree')}")
        return 0
    if options.command is None:
        top.print_help(sys.stderr)
        return MISUSE
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    return COMMANDS[options.command].run(options)


def complain(
    message: str, status: int, arguments: Sequence[str] = (), fault: Exception | None = None
) -> int:
    """Print one line to standard error, wrapped on a terminal.

    If asked for, the traceback comes first, and JSON goes to standard output.
    """
    if "--traceback" in arguments:
        traceback.print_exc()
    line = " ".join(printable(message).split())
    if "--json" in arguments and fault is not None:
        error = {"kind": type(fault).__name__, "message": line, "status": status}
        finding = getattr(fault, "finding", None)
        print(json.dumps({"error": error | ({"finding": finding.to_dict()} if finding else {})}, indent=2))
    line = line if line.startswith("kinetree") else f"kinetree: {line}"
    print(wrapped(line, columns(sys.stderr)), file=sys.stderr)
    return status
