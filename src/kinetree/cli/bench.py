"""`kinetree bench`: time a robot's dynamics on this computer, next to Pinocchio and MuJoCo."""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from typing import TYPE_CHECKING, Any

from kinetree.cli import source
from kinetree.cli.status import OK
from kinetree.cli.text import Style, duration, indent, plural, printable, progress, table
from kinetree.cli.timing import best
from kinetree.errors import KinetreeError

if TYPE_CHECKING:
    from kinetree.model import Model

SUMMARY = "time the dynamics of a robot, next to Pinocchio and MuJoCo"
DESCRIPTION = """Compile the dynamics of a robot and time them: on a batch of states, and one state at a time
from Python. Pinocchio and MuJoCo are timed as well if they are installed and can represent the robot."""
EXAMPLES = """  kinetree bench panda.urdf
  kinetree bench zoo:humanoid --batch 1024 --dtype float32
  kinetree bench zoo:puma560 --json"""

# function -> its arguments among q, v and x; x is an acceleration or a force
FUNCTIONS = {
    "inverse_dynamics": "qvx", "forward_dynamics": "qvx", "mass_matrix": "q", "coriolis_matrix": "qv",
    "christoffel_symbols": "q",
}  # fmt: skip
MEMORY = 64 << 20  # most bytes of results per batch


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser)
    count = source.within(int, 1, math.inf, "a whole number from 1 up")
    batch = "states per batch (default 4096)"
    parser.add_argument("--batch", type=count, default=4096, metavar="N", help=batch)
    dtype = "floating-point type (default float64)"
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64", help=dtype)
    seconds = source.within(float, 1e-300, 60.0, "a time between 0 and 60 s")
    each = "time per measurement (default 0.2)"
    parser.add_argument("--seconds", type=seconds, default=0.2, metavar="S", help=each)
    parser.add_argument("--json", action="store_true", help="print JSON (times in seconds)")


def run(options: argparse.Namespace) -> int:
    model = source.read(options)
    if model.nv == 0:
        raise KinetreeError(f"'{model.name}' has no degrees of freedom: there is nothing to time")
    result = measure(model, options)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        write(Style(sys.stdout), model, result)
    return OK


def measure(model: Model, options: argparse.Namespace) -> dict[str, Any]:
    """All measurements as plain data, times in seconds."""
    import numpy as np

    from kinetree.cli.peers import peers
    from kinetree.compiler.runtime.threads import thread_limit

    rng = np.random.default_rng(0)
    states = [model.random_state(rng) for _ in range(options.batch)]
    q, v = (np.array(x, dtype=options.dtype) for x in zip(*states))
    x = rng.standard_normal(v.shape).astype(options.dtype)
    others, absent = peers(model)
    rows = [
        figures(model, name, [{"q": q, "v": v, "x": x}[letter] for letter in needs], others, options)
        for name, needs in progress(FUNCTIONS.items(), len(FUNCTIONS), "timing")
    ]
    about = {"model": model.name, "nbodies": model.nbodies, "nv": model.nv, "dtype": options.dtype}
    machine = {"threads": thread_limit(), "processor": processor()}
    versions = {peer.name: peer.version for peer in others}
    return {**about, **machine, "peers": versions, "absent": absent, "functions": rows}


def figures(model: Model, name: str, arrays: list, others: list, options: Any) -> dict[str, Any]:
    """The measurements of one function: kinetree on a batch and on one state, and the other libraries."""
    import numpy as np

    import kinetree as kt

    start = time.perf_counter()
    kernel = kt.compile(getattr(kt, name), model, dtype=options.dtype)
    one = [array[0] for array in arrays]
    expected = kernel(*one)
    batch = [array[: max(1, MEMORY // max(1, expected.nbytes))] for array in arrays]
    out, single = kernel(*batch), np.empty_like(expected)
    ready = time.perf_counter() - start
    count = len(batch[0])
    kernel.threads = 1
    one_core = best(lambda: kernel(*batch, out=out), options.seconds) / count
    kernel.threads = None
    every_core = best(lambda: kernel(*batch, out=out), options.seconds) / count
    return {
        "function": name,
        "flops": kernel.ops["flops"],
        "ready": ready,
        "batch": count,
        "state_one_core": one_core,
        "state_all_cores": every_core,
        "call": best(lambda: kernel(*one, out=single), options.seconds),
        "peers": {peer.name: peer.figures(name, batch, expected, options.seconds) for peer in others},
    }


def processor() -> str:
    """The name of the processor, as the system reports it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as facts:
            return next(line.split(":", 1)[1].strip() for line in facts if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write(style: Style, model: Model, result: dict[str, Any]) -> None:
    """Print the measurements as two tables: batches, and calls on one state."""
    threads, names, rows = result["threads"], list(result["peers"]), result["functions"]
    print(f"{style.bold(printable(model.name))}, {plural(model.nv, 'degree')} of freedom, {result['dtype']}")
    print(style.dim(f"{result['processor']}, {plural(threads, 'thread')}") + "\n")

    def theirs(row: dict[str, Any], name: str, key: str) -> str:
        value = (row["peers"][name] or {}).get(key)
        return "-" if value is None else duration(value)

    looping = [
        name for name in names if any((row["peers"][name] or {}).get("state_one_core") for row in rows)
    ]
    print(style.bold(f"time per state in a batch of {rows[0]['batch']}"))
    header = ["", "flops", "ready in", "1 thread", plural(threads, "thread")]
    lines = [
        [row["function"], f"{row['flops']:,}", duration(row["ready"])]
        + [duration(row["state_one_core"]), duration(row["state_all_cores"])]
        + [theirs(row, name, "state_one_core") for name in looping]
        for row in rows
    ]
    print(indent(table(lines, [*header, *(f"{name}, 1 thread" for name in looping)], "<>")))
    print("\n" + style.bold("time of one call from Python"))
    lines = [
        [row["function"], duration(row["call"])] + [theirs(row, name, "call") for name in names]
        for row in rows
    ]
    print(indent(table(lines, ["", "kinetree", *names], "<>")))
    print()
    for name, version in result["peers"].items():
        apart = max((row["peers"][name]["apart"] for row in rows if row["peers"][name]), default=0.0)
        print(style.dim(f"largest difference from {name} {version}: {apart:.0e} of the result"))
    for line in result["absent"]:
        print(style.dim(printable(line)))
