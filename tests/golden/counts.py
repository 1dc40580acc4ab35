"""Operation counts of every algorithm on a few robots: a measure of the compiler without noise.

python -m tests.golden.counts      # rewrite counts.json and the table of docs/loops.md, and show what changed
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import kinetree as kt
from kinetree import algorithms
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.passes.fuse import fuse
from kinetree.compiler.passes.pipeline import PASSES, without_garbage_collection
from kinetree.compiler.passes.simplify import simplify
from kinetree.model.loop import LoopNode
from kinetree.ops import PRIMITIVES, Expr
from kinetree.stages import sweeps
from kinetree.sweep import REGISTRY, Algorithm
from kinetree.zoo.arm7 import LINKS

FILE = Path(__file__).with_name("counts.json")
PAGE = Path(__file__).parents[2] / "docs" / "loops.md"
START = "| machine | joints, freedoms |"
assert algorithms  # importing them fills the registry


def arm7_dense() -> kt.Model:
    """The 7-DoF arm with an inertia matrix without zeros in every link: what the literature counts."""
    builder = kt.ModelBuilder("arm7_dense")
    for i, link in enumerate(LINKS, 1):
        x, y, z = link.moments
        com = tuple(c + 0.01 * (i + k) for k, c in enumerate(link.com))
        small = 0.05 * min(x, y, z)
        inertia = ((x, small, -2 * small), (small, y, 3 * small), (-2 * small, 3 * small, z))
        builder.add_body(
            f"link{i}",
            f"link{i - 1}" if i > 1 else "world",
            kt.Revolute((0, 0, 1)),
            kt.Pose(link.turn, link.position),
            kt.Inertia(link.mass, com, inertia),
        )
    return builder.build()


ROBOTS = {
    "arm7": kt.zoo.arm7, "arm7_dense": arm7_dense, "puma560": kt.zoo.puma560, "quadruped": kt.zoo.quadruped,
    "humanoid": kt.zoo.humanoid, "chain10": lambda: kt.zoo.chain(10),
}  # fmt: skip
LOOPED = ("chain10", "humanoid")  # also counted with loops kept: how much there is to compile, not to run


SMALL = ("arm7", "quadruped")  # robots for every algorithm; the others are for the main ones
MAIN = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_mass_matrix", "coriolis_matrix",
    "christoffel_symbols", "jacobian", "gravity_force",
)  # fmt: skip


# Robots with loops, each also with its loops cut: the same bodies on the same joints, all of them free. These
# open trees are also counted without canonical frames, as they are given.
LOOPS = ("slider_crank", "four_bar", "gripper", "parallel_ankle", "delta", "cassie_leg", "stewart")
FIRST = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
GIVEN = "as given"


def _opened(robot: str) -> Callable[[], kt.Model]:
    return lambda: getattr(kt.zoo, robot)().spanning_tree


ROBOTS |= {robot: getattr(kt.zoo, robot) for robot in LOOPS}
ROBOTS |= {f"{robot}, open": _opened(robot) for robot in LOOPS}


def names(robot: str, mode: str = "unrolled") -> list[str]:
    """The algorithms that are counted on a robot."""
    if robot.removesuffix(", open") in LOOPS:
        return sorted(FIRST)
    return sorted(REGISTRY if robot in SMALL or mode == "looped" else set(MAIN) & set(REGISTRY))


def counted() -> list[tuple[str, str, str]]:
    """Everything that is counted: robot, mode, algorithm."""
    where = [(robot, "unrolled") for robot in ROBOTS] + [(robot, "looped") for robot in LOOPED]
    where += [(f"{robot}, open", GIVEN) for robot in LOOPS]
    return [(robot, mode, name) for robot, mode in where for name in names(robot, mode)]


def key(robot: str, mode: str) -> str:
    """Where the counts of a robot stand on file."""
    return robot if mode == "unrolled" else f"{robot}, {mode}"


def static_options(algorithm: Algorithm, model: kt.Model) -> dict[str, Any]:
    """The options of an algorithm: defaults, and the last body or first joint where one must be given."""
    last, first = model.body_names[-1], model.joint_names[0]
    needed = {"frame": last, "frames": (last,), "accelerate": (first,)}
    missing = inspect.Parameter.empty
    return {k: needed[k] if v is missing or k in needed else v for k, v in algorithm.options.items()}


def closing(model: kt.Model) -> int:
    """The operations that close the loops of a model and say how they move: q closed, G, and guards."""
    total = 0
    for node in sweeps.canonical_nodes(model):
        if isinstance(node, LoopNode):
            graph = Graph()
            array = graph.array("q", "input", len(node.q_index))
            q = [graph.load(array, k) for k in range(array.size)]
            found = [x for row in node.closed(q).G for _, x in row]
            found += [*node.openness(q), *node.deadness(q)]
            out = graph.array("out", "output", len(found))
            for k, x in enumerate(found):
                graph.store(out, k, x if isinstance(x, Expr) else float(x))
            total += simplify(Program.of("closing", graph, [array], (out,))).ops["flops"]
    return total


def loops_table(found: dict[str, dict[str, dict[str, int]]]) -> str:
    """The table of the page on loops: operations, and their ratios to those of the open tree, as it is given
    and in canonical frames."""
    lines = [
        "| machine | joints, freedoms | closing | inverse dynamics | mass matrix | forward dynamics |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for robot in LOOPS:
        model = ROBOTS[robot]()
        cells = [f"`{robot}`", f"{model.nu}, {model.nv}", str(found[robot]["closing"]["flops"])]
        for name in FIRST:
            own = found[robot][name]["flops"]
            cut = [found[key(f"{robot}, open", mode)][name]["flops"] for mode in (GIVEN, "unrolled")]
            cells.append(f"{own} ({own / cut[0]:.1f}, {own / cut[1]:.1f})")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write_page(found: dict[str, dict[str, dict[str, int]]]) -> None:
    """Put the table where the page has one that begins as it does."""
    before, rest = PAGE.read_text().split(START, 1)
    _, after = rest.split("\n\n", 1)
    PAGE.write_text(before + loops_table(found) + "\n" + after)


def measure(algorithm: Algorithm, model: kt.Model, mode: str) -> dict[str, int]:
    """The counts of `Program.ops` before multiply-adds are fused, and `instructions`: how many
    operations there are afterwards. What stands in a loop counts once.
    """
    if mode == GIVEN:
        with mock.patch.object(sweeps, "canonical_nodes", lambda model: model.nodes):
            return measure(algorithm, model, "unrolled")
    present = tuple(a.name for a in algorithm.inputs if not a.optional)
    with without_garbage_collection():
        program = sweeps.lower(algorithm, model, present, static_options(algorithm, model), mode)
        counts = {}
        for step in PASSES:
            if step is fuse:
                counts = {k: n for k, n in program.ops.items() if n}
            program = step(program)
        left = walk(program.body)
        counts["instructions"] = sum(isinstance(s, Expr) and bool(PRIMITIVES[s.op].cost) for s in left)
    return counts


def read() -> dict[str, dict[str, dict[str, int]]]:
    """The counts on file: robot (and mode), algorithm, counts."""
    return json.loads(FILE.read_text())


def main() -> None:
    before = read() if FILE.exists() else {}
    found: dict[str, dict[str, dict[str, int]]] = {}
    models = {robot: make() for robot, make in ROBOTS.items()}
    for robot, mode, name in counted():
        counts = measure(REGISTRY[name], models[robot], mode)
        found.setdefault(key(robot, mode), {})[name] = counts
        old = before.get(key(robot, mode), {}).get(name)
        if old != counts:
            was = (old or {}).get("flops", "-")
            print(f"{key(robot, mode):18} {name:28} flops {was} -> {counts.get('flops', 0)}")
    for robot in LOOPS:
        found[robot]["closing"] = {"flops": closing(models[robot])}
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    write_page(found)


if __name__ == "__main__":
    main()
