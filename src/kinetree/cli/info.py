"""`kinetree info`: the tree of a robot, its masses, degrees of freedom and coupled groups."""

from __future__ import annotations

import argparse
import json
import sys
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from kinetree.cli import source
from kinetree.cli.status import OK
from kinetree.cli.text import Style, columns, number, plural, printable, wrapped
from kinetree.cli.tree import tree_table

if TYPE_CHECKING:
    from kinetree.model import Model

SUMMARY = "show the tree, masses and degrees of freedom of a robot"
DESCRIPTION = """Print the tree of a robot: bodies and joints, the indices of each joint in q and v, masses,
and the groups of bodies that share coordinates (mimic joints, geared rotors)."""
EXAMPLES = """  kinetree info panda.urdf
  kinetree info zoo:quadruped
  kinetree info zoo:chain:20 --json"""

WIDTH = 80  # most columns of text
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
    from kinetree.model.table import loops, passive, touching

    report, room = model.report, columns(sys.stdout)
    most = min(WIDTH, room or WIDTH)
    origin = "" if report is None else style.dim(f"  {report.format}, {printable(report.source)}")
    gravity = " ".join(number(float(g)) for g in model.gravity)
    print(style.bold(printable(model.name)) + origin)
    freedom = f"{plural(model.nv, 'degree')} of freedom, nq {model.nq}, nv {model.nv}"
    mass = f"mass {number(float(model.total_mass))} kg"
    print(fill(f"{plural(model.nbodies, 'body')}, {freedom}, {mass}, gravity {gravity} m/s^2", most) + "\n")
    tree, lines = tree_table(style, model, room)
    print(tree)
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
        print("\n" + "\n".join(fill(line, most, subsequent_indent="  ") for line in lines))
    for warning in () if report is None else report.warnings:
        print(style.doubtful(wrapped(f"warning: {printable(warning)}", room)))
    for change in () if report is None else report.repaired:
        print(wrapped(f"repaired: {printable(change)}", room))
