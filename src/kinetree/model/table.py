"""A model as a human-readable table."""

from __future__ import annotations

import math
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

from kinetree import ops
from kinetree.joints import Joint
from kinetree.model.parts import Body
from kinetree.model.validate import WORLD

if TYPE_CHECKING:
    from kinetree.model.model import Model

HEADER = ("#", "body", "parent", "joint", "type", "q", "v", "mass kg", "limits", "notes")
SHOWN_FIRST, SHOWN_LAST = 40, 5


def table(model: Model) -> str:
    """One summary line, then a line for each body; the middle of a long model is left out."""
    rows = [HEADER, *_rows(model)]
    widths = [max(len(line[k]) for line in rows) for k in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([f"Model '{model.name}': {_summary(model)}", *lines, *_after(model)])


def html_table(model: Model) -> str:
    """The table for notebooks; names come from files, so everything is escaped."""
    lines = [f"<p><b>{escape(model.name)}</b>: {escape(_summary(model))}</p>"]
    for cells in (HEADER, *_rows(model)):
        tag = "th" if cells is HEADER else "td"
        style = ' style="text-align:left"'
        row = "".join(f"<{tag}{style}>{escape(cell)}</{tag}>" for cell in cells)
        lines.append(f"{'<table>' if cells is HEADER else ''}<tr>{row}</tr>")
    notes = "<br>".join(escape(note) for note in _after(model))
    return "\n".join([*lines, "</table>", f"<p>{notes}</p>" if notes else ""])


def _rows(model: Model) -> list[tuple[str, ...]]:
    """A row for each body; a row of dots stands for the middle of a long model."""
    indices = list(range(1, model.nbodies + 1))
    if len(indices) > SHOWN_FIRST + SHOWN_LAST + 1:
        indices = [*indices[:SHOWN_FIRST], 0, *indices[-SHOWN_LAST:]]
    rotors = Counter(rotor.joint for rotor in model.rotors)
    dots = ("...", *("",) * (len(HEADER) - 1))
    return [row(model, i, rotors) if i else dots for i in indices]


def _summary(model: Model) -> str:
    bodies = "1 body" if model.nbodies == 1 else f"{model.nbodies} bodies"
    gravity = ", ".join(map(_number, model.gravity))
    mass = _number(model.total_mass)
    return f"{bodies}, nq {model.nq}, nv {model.nv}, mass {mass} kg, gravity ({gravity}) m/s^2"


def _after(model: Model) -> list[str]:
    return [*loops(model), *_frames(model), *touching(model), *passive(model)]


def _frames(model: Model) -> list[str]:
    more = ", ..." if len(model.frames) > 20 else ""
    return [f"frames: {', '.join(model.frame_names[:20])}{more}"] if model.frames else []


def touching(model: Model) -> list[str]:
    """The contact shapes and the ground; empty if there are none."""
    lines = []
    if model.geometries:
        counts = Counter(part.shape.kind for part in model.geometries)
        plural = {"box": "boxes", "vertices": "vertices"}
        kinds = (
            f"{count} {plural.get(kind, f'{kind}s')}" if count > 1 else kind for kind, count in counts.items()
        )
        points = len(model.contact_points)
        pairs = f"; {len(model.pairs)} pair{'s' * (len(model.pairs) != 1)}" if model.pairs else ""
        lines.append(f"shapes: {', '.join(kinds)}; {points} contact point{'s' * (points != 1)}{pairs}")
    if model.ground is not None:
        lines.append(f"stands on {str(model.ground).strip('<>')}")
    return lines


def passive(model: Model) -> list[str]:
    """The passive forces of the joints, and how they enter the dynamics; empty if there are none."""
    tree = model.spanning_tree
    named = {"damping": tree.damping, "friction": tree.friction, "springs": tree.stiffness}
    found = [name for name, values in named.items() if any(x != 0 for x in values)]
    if not found:
        return []
    return [
        f"passive forces ({', '.join(found)}) act only where added: "
        "forward_dynamics(robot, q, v, tau + passive_force(robot, q, v))"
    ]


def row(model: Model, i: int, rotors: Counter[str]) -> tuple[str, ...]:
    """The row below HEADER for body `i`; `rotors` counts the rotors of each joint."""
    body = model.bodies[i - 1]
    own = i not in model.layout.follows
    return (
        str(i),
        body.name,
        model.body_names[body.parent - 1] if body.parent else WORLD,
        body.joint_name,
        _joint(body.joint),
        _range(model.layout.q_start[i], body.joint.nq if own else 0),
        _range(model.layout.v_start[i], model.layout.widths[i]),
        _number(body.inertia.mass),
        _limits(body),
        ", ".join((*_dependence(model, i), *_notes(body, rotors))),
    )


def _dependence(model: Model, i: int) -> list[str]:
    """Whether the velocities of a joint depend on others through a loop."""
    body, width = model.bodies[i - 1], model.layout.widths[i]
    if body.mimic is not None or width == body.joint.nv:
        return []
    return ["dependent" if width == 0 else f"{body.joint.nv - width} of {body.joint.nv} dependent"]


def loops(model: Model) -> list[str]:
    """A line for each loop: its independent joints, its dependent ones, and how many of its rows are kept."""
    return [repr(loop).strip("<>").replace("Loop", "loop", 1) for loop in model.loops]


def _joint(joint: Joint) -> str:
    text = joint.type_name
    for k, name in enumerate("xyz"):
        if joint.parameters == tuple(int(j == k) for j in range(3)):
            return f"{text} {name}"
        if joint.parameters == tuple(-int(j == k) for j in range(3)):
            return f"{text} -{name}"
    return f"{text} ({', '.join(map(_number, joint.parameters))})" if joint.parameters else text


def _range(start: int, count: int) -> str:
    return "" if count == 0 else str(start) if count == 1 else f"{start}..{start + count - 1}"


def _limits(body: Body) -> str:
    pairs = [
        f"{_number(low)}..{_number(high)}"
        for low, high in zip(body.limits.lower, body.limits.upper)
        if not (_infinite(low) and _infinite(high))
    ]
    return " ".join(pairs)


def _notes(body: Body, rotors: Counter[str]) -> list[str]:
    notes = []
    if body.mimic is not None:
        multiplier, offset = _number(body.mimic.multiplier), _number(body.mimic.offset)
        notes.append(f"= {multiplier} {body.mimic.joint} + {offset}")
    if body.joint_name in rotors:
        count = rotors[body.joint_name]
        notes.append("rotor" if count == 1 else f"{count} rotors")
    for field in ("armature", "damping", "friction", "stiffness"):
        values = getattr(body, field)
        if any(not ops.is_literal(x) or x != 0 for x in values):
            notes.append(f"{field} {' '.join(dict.fromkeys(map(_number, values)))}")
    return notes


def _infinite(x: Any) -> bool:
    return ops.is_literal(x) and math.isinf(x)


def _number(x: Any) -> str:
    return f"{x:.4g}" if ops.is_literal(x) else str(x)
