"""The argument FILE: a robot from a file, or one of the zoo."""

from __future__ import annotations

import argparse
import inspect
import math
import os
import stat
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetree.cli.status import Misuse
from kinetree.cli.text import closest

if TYPE_CHECKING:
    from kinetree.io.files import Document
    from kinetree.model import Model

ZOO = "zoo:"
STANDARD_INPUT = "-"
_GIVEN = ("format", "repair", "snap", "base", "density", "loops")  # options of `kinetree.load`


def configure(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    """Add FILE and the options that say how to read it."""
    what = "robot file, - for standard input, zoo:NAME or zoo:NAME:ARGUMENT,..."
    parser.add_argument("file", metavar="FILE", nargs="?" if optional else None, help=what)
    parser.add_argument("--format", metavar="NAME", help="file format (default: by content)")
    root = "weld the root to the world, or let it float"
    parser.add_argument("--base", choices=("fixed", "free"), help=root)
    parser.add_argument("--repair", action="store_true", help="repair what can be repaired")
    near = "make placements within TOL of right angles exact"
    parser.add_argument("--snap", type=float, default=0.0, metavar="TOL", help=near)
    fill = "kg/m^3 for the geometry of URDF links without inertia"
    parser.add_argument("--density", type=float, metavar="RHO", help=fill)
    close = "close loops (default) or leave them open"
    parser.add_argument("--loops", choices=("close", "ignore"), default="close", help=close)
    configure_reach(parser)


def configure_reach(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what FILE may refer to."""
    begin = "folder for package:// paths; $NAME for an environment variable"
    parser.add_argument("--package-dir", action="append", default=[], metavar="DIR", help=begin)
    others = "further folder for included files and meshes"
    parser.add_argument("--include-dir", action="append", default=[], metavar="DIR", help=others)
    trust = "expand FILE with xacro, which runs the code in it"
    parser.add_argument("--xacro", action="store_true", help=trust)
    argument = "argument of the xacro template; implies --xacro"
    parser.add_argument("--xacro-arg", action="append", default=[], metavar="NAME:=VALUE", help=argument)


def reach(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `configure_reach` as arguments of `kinetree.load`."""
    pairs = [word.partition(":=") for word in options.xacro_arg]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise Misuse(f"--xacro-arg takes NAME:=VALUE, not '{wrong[0]}'")
    arguments = {name: value for name, _, value in pairs} if pairs or options.xacro else None
    folders = {"package_dirs": tuple(options.package_dir), "include_dirs": tuple(options.include_dir)}
    return {**folders, "xacro_args": arguments}


def read(options: argparse.Namespace) -> Model:
    """The robot that FILE names."""
    check_format(options.format)
    return from_zoo(options.file) if options.file.startswith(ZOO) else load(opened(options.file), options)


def load(document: Document, options: argparse.Namespace) -> Model:
    """The robot that a document describes."""
    import kinetree as kt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.errors.FileWarning)  # commands show the report
        given = {name: getattr(options, name) for name in _GIVEN}
        return kt.load(document, **reach(options), **given)


def check_format(name: str | None) -> None:
    """Misuse if there is no such file format."""
    if name is not None:
        from kinetree.io.formats import FORMATS

        if name not in FORMATS:
            hint = closest(name, FORMATS) or f"Give one of: {', '.join(FORMATS)}."
            raise Misuse(f"there is no format '{name}'. {hint}")


def opened(file: str) -> Document:
    """The content of a readable file, or of standard input for `-`."""
    from kinetree.io.files import Document, read_bytes
    from kinetree.io.xml import LIMITS

    if file == STANDARD_INPUT:
        return Document(sys.stdin.buffer.read(LIMITS.size + 1), "<stdin>", None)
    path = existing(file)
    return Document(read_bytes(path), file, path.resolve().parent)


def existing(file: str) -> Path:
    """The path of a readable file."""
    path = Path(file)
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):  # opening it could block
            what = "a directory" if stat.S_ISDIR(mode) else "a pipe or a device"
            raise Misuse(f"'{file}' is {what}; give a robot file")
        with path.open("rb"):
            return path
    except FileNotFoundError:
        raise Misuse(f"there is no file '{file}'") from None
    except (OSError, ValueError) as fault:
        raise Misuse(f"'{file}' cannot be read: {getattr(fault, 'strerror', None) or fault}") from None


def check_file(file: str) -> None:
    """Misuse if FILE is neither a readable file nor a robot of the zoo."""
    if file.startswith(ZOO):
        from_zoo(file)
    elif file != STANDARD_INPUT:
        existing(file)


def robots() -> dict[str, Any]:
    """The robots of the zoo by name."""
    from kinetree import zoo

    return {name: getattr(zoo, name) for name in zoo.__all__}


def from_zoo(source: str) -> Model:
    """The robot of the zoo that `zoo:NAME` or `zoo:NAME:ARGUMENT,...` names."""
    name, _, text = source.removeprefix(ZOO).partition(":")
    kinds = robots()
    if name not in kinds:
        hint = closest(name, kinds) or f"It has: {', '.join(sorted(kinds))}."
        raise Misuse(f"the zoo has no '{name}'. {hint}")
    signature = inspect.signature(kinds[name])
    try:
        arguments = [literal(word) for word in text.split(",")] if text else []
        signature.bind(*arguments)
        return kinds[name](*arguments)
    except (TypeError, ValueError) as fault:
        takes = ", ".join(signature.parameters) or "no arguments"
        raise Misuse(f"zoo:{name} takes {takes}, not '{text}': {fault}") from None


def within(kind: Callable[[str], Any], least: float, most: float, what: str) -> Callable[[str], Any]:
    """A type for argparse: a number between two bounds."""

    def read_number(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
        return value

    return read_number


def literal(word: str) -> Any:
    """A number typed on the command line."""
    try:
        return int(word)
    except ValueError:
        return float(word)
