"""Loops as entries of a model's dictionary: their closures, and how they are solved.

An entry written by hand may leave out how it is solved; this is then found as in `ModelBuilder.build`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetree.errors import ModelError
from kinetree.model import serialize
from kinetree.model.closures import Closure, JointClosure, RodClosure
from kinetree.model.loops import restored
from kinetree.model.parts import Loop
from kinetree.model.serialize import (
    check_keys,
    entries_of,
    expect_dict,
    joint_of,
    numbers_of,
    placement_of,
    plain,
    pose_of,
    type_of,
)
from kinetree.model.validate import WORLD, shown

if TYPE_CHECKING:
    from kinetree.model.builder import ModelBuilder
    from kinetree.model.model import Model

_SOLUTION = ("independent", "dependent", "rows", "pivots", "reference", "size")


def to_dict(model: Model) -> dict[str, Any]:
    """The whole model as a dictionary; in version 1 of the format if it has no loops."""
    data = serialize.to_dict(model)
    if not model.loops:
        return data
    return data | {"version": serialize.VERSIONS[-1], "loops": [_entry(model, loop) for loop in model.loops]}


def _entry(model: Model, loop: Loop) -> dict[str, Any]:
    owner = f"model '{model.name}': loop '{loop.name}'"
    return {
        "closures": [_closure(model, closure, owner) for closure in loop.closures],
        "independent": [list(velocity) for velocity in loop.independent],
        "dependent": [list(velocity) for velocity in loop.dependent],
        "rows": [list(row) for row in loop.rows],
        "pivots": plain(loop.pivots, owner),
        "reference": {joint: plain(row, owner) for joint, row in loop.reference},
        "size": loop.size,
        "axes": [[plain(row, owner) for row in axes] for axes in loop.axes],
        "slack": loop.slack,
    }


def _closure(model: Model, closure: Closure, owner: str) -> dict[str, Any]:
    names = (WORLD, *model.body_names)
    if isinstance(closure, JointClosure):
        return {
            "name": closure.name,
            "body": names[closure.body],
            "other": names[closure.other],
            **type_of(closure.joint, owner),
            "placement": placement_of(closure.placement, owner),
            "other_placement": placement_of(closure.other_placement, owner),
        }
    if isinstance(closure, RodClosure):
        return {
            "name": closure.name,
            "body": names[closure.body],
            "other": names[closure.other],
            "length": plain((closure.length,), owner)[0],
            "point": plain(closure.point, owner),
            "other_point": plain(closure.other_point, owner),
        }
    return {
        "name": closure.name,
        "joint": model.joint_names[closure.body - 1],
        "leader": model.joint_names[closure.other - 1],
        "coefficients": plain(closure.coefficients, owner),
    }


def from_dict(data: Any, check: str | None) -> Model:
    """The model of a dictionary from `to_dict`, or one written by hand."""
    rest = {key: value for key, value in data.items() if key != "loops"} if isinstance(data, dict) else data
    builder = serialize.from_dict(rest)
    owner, check = f"model '{builder.name}'", data.get("check", "physical") if check is None else check
    entries, solved = entries_of(data, "loops", owner), []
    for entry in entries:
        keys = f"closures slack axes {' '.join(_SOLUTION)}"
        check_keys(entry, keys, f"{owner}: a loop", needed="closures")
        before = len(builder.closures)
        for closure in entries_of(entry, "closures", f"{owner}: a loop"):
            _add(builder, closure, owner)
        if len(builder.closures) == before:
            raise ModelError(f"{owner}: a loop has no closures")
        solved.append(_solution(entry, tuple(builder.closures[before:]), owner))
    known = [loop for loop in solved if loop is not None]
    if len(known) == len(entries):
        return restored(builder.tree(check), known)
    for entry in entries:
        builder.require(_velocities(entry.get("independent", ()), owner), f"{owner}: loops")
    return builder.build(check)


def _add(builder: ModelBuilder, entry: dict[str, Any], owner: str) -> None:
    what = f"{owner}: closure {shown(entry.get('name'))}"
    name = entry.get("name")
    if "coefficients" in entry:
        check_keys(entry, "name joint leader coefficients", what, needed="joint leader")
        builder.add_relation(
            entry["joint"],
            entry["leader"],
            numbers_of(entry["coefficients"], f"{what}: coefficients"),
            name=name,
        )
    elif "length" in entry:
        check_keys(entry, "name body other length point other_point", what, needed="body other")
        at, other = (
            numbers_of(entry.get(key, (0, 0, 0)), f"{what}: {key}") for key in ("point", "other_point")
        )
        builder.add_distance(entry["body"], entry["other"], entry["length"], at=at, other=other, name=name)
    else:
        known = "name body other type parameters placement other_placement"
        check_keys(entry, known, what, needed="body other type")
        A, B = (pose_of(entry.get(key), what) for key in ("placement", "other_placement"))
        builder.add_loop(entry["body"], entry["other"], joint_of(entry, what), at=A, other=B, name=name)


def _solution(entry: dict[str, Any], closures: tuple[Closure, ...], owner: str) -> Loop | None:
    """The loop that an entry fully describes; None if it does not say how it is solved."""
    if not any(key in entry for key in _SOLUTION if key != "independent"):
        return None
    what = f"{owner}: loop '{' and '.join(closure.name for closure in closures)}'"
    check_keys(entry, " ".join(entry), what, needed=" ".join(_SOLUTION))
    expect_dict(entry["reference"], f"{what}: reference")
    size, slack = numbers_of((entry["size"], entry.get("slack", 0.0)), what)
    return Loop(
        closures=closures,
        independent=_velocities(entry["independent"], what),
        dependent=_velocities(entry["dependent"], what),
        rows=_pairs(entry["rows"], f"{what}: rows", int),
        pivots=numbers_of(entry["pivots"], f"{what}: pivots"),
        reference=tuple(
            (str(joint), numbers_of(row, f"{what}: reference of {shown(joint)}"))
            for joint, row in entry["reference"].items()
        ),
        size=size,
        axes=_axes(entry.get("axes", ()), what),
        slack=slack,
    )


def _axes(values: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple):
        raise ModelError(f"{what}: axes must be a list with three rows for each closure, got {shown(values)}")
    poses = (pose_of({"R": rows, "p": (0, 0, 0)}, f"{what}: axes") for rows in values)
    return tuple(pose.R for pose in poses if pose is not None)


def _velocities(values: Any, what: str) -> tuple[tuple[str, int], ...]:
    return _pairs(values, f"{what}: velocities", str)


def _pairs(values: Any, what: str, kind: type) -> tuple:
    """Pairs of a name or number, and a number."""
    if not isinstance(values, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and type(pair[0]) is kind and type(pair[1]) is int
        for pair in values
    ):
        first = "joint" if kind is str else "closure"
        raise ModelError(f"{what} must be a list of pairs [{first}, number], got {shown(values)}")
    return tuple((a, b) for a, b in values)
