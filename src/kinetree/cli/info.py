"""`kinetree info`: the tree of a robot, its masses, degrees of freedom and coupled groups."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from kinetree.cli import source
from kinetree.cli.status import OK
from kinetree.cli.text import Style, number, plural, printable, table

if TYPE_CHECKING:
    from kinetree.model import Model

SUMMARY = "show the tree, masses and degrees of freedom of a robot"
DESCRIPTION = """Print the tree of a robot: bodies and joints, the indices of each joint in q and v, masses,
and the groups of bodies that share coordinates (mimic joints, geared rotors)."""
EXAMPLES = """  kinetree info panda.urdf
  kinetree info zoo:quadruped
  kinetree info zoo:chain:20 --json"""

DEEPEST = 24  # levels of branching that are drawn; deeper ones are not indented further
WIDTH = 80  # columns of text
FRAMES = 12  # most frame names printed


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    model = source.read(options)
    if options.json:
        print(json.dumps(as_json(model), indent=2))
    else:
        write(Style(sys.stdout), model)
    return OK


class Group(NamedTuple):
    """Parts that share coordinates: the names of bodies, the number of rotors and of coordinates."""

    bodies: list[str]
    rotors: int
    coordinates: int


def groups(model: Model) -> list[Group]:
    """The nodes of the tree with more than one body, or with a rotor."""
    from kinetree.model.node import NOTHING

    found = []
    for node in model.nodes:
        bodies = [model.body_names[m.body - 1] for m in node.members if m.body]
        rotors = sum(not m.body and m.carrier != NOTHING for m in node.members)
        if len(bodies) > 1 or rotors:
            found.append(Group(bodies, rotors, len(node.v_index)))
    return found


def as_json(model: Model) -> dict[str, Any]:
    """The whole model as plain data, with the layout of q and v and the groups."""
    joints = {}
    for name, body in zip(model.joint_names, model.bodies):
        q, v = model.position_index(name), model.coordinate_index(name)
        places = {"q": list(range(q.start, q.stop)), "v": list(range(v.start, v.stop))}
        joints[name] = {"type": body.joint.type_name, **places}
    return {
        **{key: getattr(model, key) for key in ("name", "nbodies", "nq", "nv", "depth")},
        "total_mass": float(model.total_mass),
        "joints": joints,
        "groups": [group._asdict() for group in groups(model)],
        "loops": [_loop(loop) for loop in model.loops],
        "contact_points": len(model.contact_points),
        "model": model.to_dict(),
        "report": None if model.report is None else model.report.to_dict(),
    }


def _loop(loop: Any) -> dict[str, Any]:
    """How a loop is solved, as plain data."""
    facts = {key: getattr(loop, key) for key in ("name", "redundant", "size", "slack")}
    return facts | {"independent": loop.independent, "dependent": loop.dependent, "rows": len(loop.rows)}


def write(style: Style, model: Model) -> None:
    """Print the model as text."""
    from kinetree.model.table import HEADER, loops, passive, row, touching

    report = model.report
    origin = "" if report is None else style.dim(f"  {report.format}, {printable(report.source)}")
    gravity = " ".join(number(float(g)) for g in model.gravity)
    print(style.bold(printable(model.name)) + origin)
    freedom = f"{plural(model.nv, 'degree')} of freedom, nq {model.nq}, nv {model.nv}"
    mass = f"mass {number(float(model.total_mass))} kg"
    print(fill(f"{plural(model.nbodies, 'body')}, {freedom}, {mass}, gravity {gravity} m/s^2", WIDTH) + "\n")
    rotors = Counter(rotor.joint for rotor in model.rotors)
    first = HEADER.index("joint")
    rows = [[style.dim("world")]]
    for drawn, i in tree(style, model):
        cells = row(model, i, rotors)
        rows.append([style.dim(drawn) + printable(cells[1]), *map(printable, cells[first:])])
    print(table(rows, ["body", *HEADER[first:]], "<<<>>><"))
    lines = []
    for group in groups(model):
        extra = [plural(group.rotors, "rotor")] if group.rotors else []
        names = " + ".join([*map(printable, group.bodies), *extra])
        lines.append(f"group: {names}, moved by {plural(group.coordinates, 'coordinate')}")
    lines += map(printable, loops(model))
    if model.frames:
        names = ", ".join(map(printable, model.frame_names[:FRAMES]))
        more = f" and {len(model.frames) - FRAMES} more" if len(model.frames) > FRAMES else ""
        lines.append(f"{plural(len(model.frames), 'frame')}: {names}{more}")
    lines += [*touching(model), *passive(model)]
    if lines:
        print("\n" + "\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in lines))
    for warning in () if report is None else report.warnings:
        print(style.doubtful(f"warning: {printable(warning)}"))
    for change in () if report is None else report.repaired:
        print(f"repaired: {printable(change)}")


def tree(style: Style, model: Model) -> Iterator[tuple[str, int]]:
    """Each body after its parent, prefixed with its branches.

    An only child is placed below its parent in the same column, so a chain prints as a list.
    """
    tee, corner = style.glyph("├─ ", "|- "), style.glyph("└─ ", "`- ")
    bar, blank = style.glyph("│  ", "|  "), "   "
    stack: list[tuple[int, str, str]] = []  # body, its prefix, the prefix of its descendants

    def push(parent: int, margin: str) -> None:
        children = model.children(parent)
        if len(children) == 1 or len(margin) >= len(tee) * DEEPEST:
            stack.extend((i, margin, margin) for i in reversed(children))
            return
        for i in reversed(children):
            last = i == children[-1]
            stack.append((i, margin + (corner if last else tee), margin + (blank if last else bar)))

    push(0, "")
    while stack:
        i, drawn, margin = stack.pop()
        yield drawn, i
        push(i, margin)
