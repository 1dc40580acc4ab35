"""`python -m benchmarks`: timings on this computer, as tables.

Times are processor times: medians, with half the interquartile range. Pinocchio's batches are
`rneaInParallel` and `abaInParallel` with one thread; where it has no C++ loop (marked ~), a loop in Python
less the time of the same call for a single pendulum. MuJoCo's calls do more than the quantity asked for: it
has no smaller entry point. Compile times include the trace. *One call* is `kt.f(robot, ...)`, as a user types
it. Trajectories are `kt.simulate` with its result, and MuJoCo's `rollout`, in one thread. Batches inside JAX
and PyTorch are timed by wall clock.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import bridges, calls, cases, contact, loops, machine, motion, page, table
from benchmarks.peers import Peers
from kinetree.compiler.runtime import threads


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write all numbers to FILE")
    parser.add_argument("--page", metavar="FILE", help="also write the tables as a page of the documentation")
    parser.add_argument(
        "--seconds", type=float, default=0.4, help="measuring time of each number (default 0.4)"
    )
    parser.add_argument("--robots", default="", help="only robots whose name contains this")
    parser.add_argument("--functions", default="", help="only functions whose name contains this")
    parser.add_argument(
        "--largest", type=int, default=100_000, help="most bodies of chains and trees; 0: none"
    )
    parser.add_argument("--brief", action="store_true", help="leave out threads, imports and first calls")
    asked = parser.parse_args()
    threads.set_threads(1)
    with tempfile.TemporaryDirectory() as home, _cache_in(home):
        results = run(asked)
    if asked.page:
        Path(asked.page).write_text(page.text(_said), encoding="utf-8")
    if asked.json:
        Path(asked.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


def run(asked: argparse.Namespace) -> dict[str, Any]:
    results: dict[str, Any] = {"machine": machine.description()}
    results |= {part: [] for part in ("robots", "calls", "loops", "motion", "contact", "bridges", "sizes")}
    _say(*table.machine_lines(results["machine"]), "", table.ROBOT_HEAD)
    for robot, make in cases.ROBOTS.items():
        if asked.robots not in robot:
            continue
        model = make()
        peers = Peers(model)
        for name in cases.functions(model):
            if asked.functions in name:
                row = cases.robot_row(robot, model, name, peers, asked.seconds)
                results["robots"].append(row)
                _say(table.robot_line(row))
    _say("", table.CALL_HEAD)
    for name in calls.functions():
        if asked.functions in name:
            row = calls.row(name, asked.seconds / 4)
            results["calls"].append(row)
            _say(table.call_line(row))
    _say("", loops.HEAD)
    for name in loops.MACHINES if asked.functions in "forward_dynamics" else ():
        if asked.robots in name:
            results["loops"].append(loops.row(name, asked.seconds))
            _say(loops.line(results["loops"][-1]))
    _say("", motion.HEAD)
    for robot in motion.ROBOTS if asked.functions in "simulate" else ():
        for integrator in motion.INTEGRATORS if asked.robots in robot else ():
            for states in motion.BATCHES:
                row = motion.row(robot, integrator, states, asked.seconds)
                results["motion"].append(row)
                _say(motion.line(row))
    _say("", contact.HEAD)
    for robot in contact.ROBOTS if asked.functions in "simulate" else ():
        for dtype in ("float64", "float32") if asked.robots in robot else ():
            results["contact"].append(contact.row(robot, dtype, asked.seconds))
            _say(contact.line(results["contact"][-1]))
    if bridges.is_worthwhile():
        _say("", bridges.HEAD)
        for robot in bridges.ROBOTS:
            for name in bridges.FUNCTIONS if asked.robots in robot else ():
                if asked.functions in name:
                    row = bridges.row(robot, name, asked.seconds)
                    results["bridges"].append(row)
                    _say(bridges.line(row))
    sizes = [n for n in cases.SIZES if n <= asked.largest]
    if sizes:
        _say("", table.SIZE_HEAD)
    for tree in cases.TREES:
        for name in ("inverse_dynamics", "forward_dynamics"):
            for n in sizes if asked.functions in name else []:
                row = cases.size_row(tree, n, name, Peers, asked.seconds)
                results["sizes"].append(row)
                _say(table.size_line(row))
    if not asked.brief:
        threads.set_threads(None)
        results["threads"] = cases.thread_row(2 * asked.seconds)
        _say("", *table.thread_lines(results["threads"]))
        results["starts"] = machine.starts()
        _say("", *(f"- {what}: {1e3 * seconds:.0f} ms" for what, seconds in results["starts"].items()))
    return results


def _cache_in(home: str) -> Any:
    """An empty cache, so that everything is compiled."""
    import os
    from unittest import mock

    return mock.patch.dict(os.environ, XDG_CACHE_HOME=home)


_said: list[str] = []


def _say(*lines: str) -> None:
    _said.extend(lines)
    print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
