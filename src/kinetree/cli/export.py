"""`kinetree export`: the dynamics of one robot as self-contained C99."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetree.cli import source
from kinetree.cli.status import OK, Misuse
from kinetree.cli.text import closest, printable

if TYPE_CHECKING:
    from kinetree.model import Model

SUMMARY = "export the dynamics of a robot as C99"
DESCRIPTION = """Write a C99 header, a C99 source and a self-test with the dynamics of a robot: no heap, no
globals, no library but the C standard library."""
EXAMPLES = """  kinetree export panda.urdf
  kinetree export zoo:puma560 --function mass_matrix --output build
  kinetree export zoo:puma560 --function jacobian --frame flange --prefix puma"""

DEFAULT = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser)
    chosen = f"function to export; may be repeated (default: {', '.join(DEFAULT)})"
    parser.add_argument("--function", action="append", metavar="NAME", help=chosen)
    frame = "frame or body, for functions that take one"
    parser.add_argument("--frame", metavar="NAME", help=frame)
    dtype = "floating-point type (default float64)"
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64", help=dtype)
    cmake = "also write a CMakeLists.txt for a static library"
    parser.add_argument("--cmake", action="store_true", help=cmake)
    parser.add_argument("--prefix", metavar="WORD", help="prefix of all C names (default: the robot's name)")
    where = "output folder (default: the current one)"
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help=where)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    import kinetree as kt

    names = list(dict.fromkeys(options.function or DEFAULT))
    functions = [chosen(name, options.frame) for name in names]
    if options.prefix is not None and not (options.prefix.isidentifier() and options.prefix.isascii()):
        raise Misuse(f"--prefix '{options.prefix}' cannot begin a C name; use letters, digits and _")
    model = source.read(options)
    check_frame(model, options.frame)
    try:
        chosen_form = {"prefix": options.prefix, "dtype": options.dtype, "cmake": options.cmake}
        written = kt.export_c(functions, model, options.output, **chosen_form)
    except OSError as fault:
        raise Misuse(f"'{options.output}' cannot be written: {fault.strerror}") from None
    if options.json:
        files = [str(path) for path in written]
        print(json.dumps({"model": model.name, "functions": names, "files": files}, indent=2))
    else:
        print(f"{printable(model.name)}: {', '.join(names)}")
        for path in written:
            print(f"  {printable(path)}  {path.stat().st_size:,} bytes")
    return OK


def chosen(name: str, frame: str | None) -> tuple[Any, dict[str, Any]]:
    """The function with this name and its options; Misuse if it does not exist or needs a missing option."""
    import kinetree
    from kinetree.names import MODULE_OF
    from kinetree.stages import Function

    functions = {n: f for n in MODULE_OF if isinstance(f := getattr(kinetree, n), Function)}
    known = {n: f for n, f in functions.items() if not {"frames", "accelerate"} & set(f.options)}
    if name not in known:
        hint = closest(name, known) or f"Functions: {', '.join(sorted(known))}."
        raise Misuse(f"there is no function '{name}' to export. {hint}")
    if "frame" not in known[name].options:
        return known[name], {}
    if frame is None:
        raise Misuse(f"{name} needs a frame: give --frame NAME")
    return known[name], {"frame": frame}


def check_frame(model: Model, frame: str | None) -> None:
    """Misuse if the robot has no such frame."""
    known = (*model.frame_names, *model.body_names)
    if frame is not None and frame not in known:
        raise Misuse(f"'{model.name}' has no frame '{frame}'. {closest(frame, known)}")
