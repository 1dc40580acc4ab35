"""Models as plain dictionaries of strings, numbers and lists: lossless, and ready for JSON.

Floating-point numbers survive JSON bit by bit, because Python writes the shortest text that reads back the
same. Infinite limits, for which JSON has no number, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints import JOINT_TYPES, Joint
from kinetree.model.geometry import Geometry
from kinetree.model.ground import Ground, Heightfield, NoGround
from kinetree.model.pairs import Pair
from kinetree.model.parts import Body, Limits, Numbers, Rotor
from kinetree.model.shapes import shape_named
from kinetree.model.validate import WORLD, is_physical, number, shown, unknown
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

if TYPE_CHECKING:
    from kinetree.model.builder import ModelBuilder
    from kinetree.model.model import Model

FORMAT, VERSION = "kinetree model", 1
VERSIONS = (VERSION, 2)  # with loops


def to_dict(model: Model) -> dict[str, Any]:
    """The whole content of a model; `from_dict` gives an equal one."""
    name = f"model '{model.name}'"
    bodies = (WORLD, *model.body_names)
    touching = [geometry_entry(part, bodies[part.body], name) for part in model.geometries]
    geometries: dict[str, Any] = {"geometries": touching} if touching else {}
    if model.ground is not None:
        geometries["ground"] = ground_entry(model.ground)
    if model.pairs:
        geometries["pairs"] = [pair_entry(pair) for pair in model.pairs]
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": model.name,
        "check": "physical" if is_physical(model.bodies, model.rotors) else "finite",
        "gravity": plain(model.gravity, f"{name}: gravity"),
        "bodies": [_body(body, bodies[body.parent], f"{name}: body '{body.name}'") for body in model.bodies],
        "rotors": [_rotor(rotor, f"{name}: rotor of '{rotor.joint}'") for rotor in model.rotors],
        "frames": [
            {
                "name": frame.name,
                "body": bodies[frame.body],
                "placement": placement_of(frame.placement, f"{name}: frame '{frame.name}'"),
            }
            for frame in model.frames
        ],
        **geometries,
    }


def ground_entry(ground: Ground | Heightfield | NoGround) -> dict[str, Any]:
    """The entry of a ground."""
    if isinstance(ground, NoGround):
        return {"none": True}
    if isinstance(ground, Ground):
        return {"normal": list(ground.normal), "height": ground.height}
    place = {"spacing": list(ground.spacing), "origin": list(ground.origin)}
    return {"heights": ground.array.tolist(), **place}


def pair_entry(pair: Pair) -> dict[str, Any]:
    """The entry of a pair."""
    return {name: value for name, value in pair._asdict().items() if value is not None}


def geometry_entry(part: Geometry, body: str, owner: str) -> dict[str, Any]:
    """The entry of a geometry."""
    shape, what = part.shape, f"{owner}: geometry '{part.name}'"
    entry: dict[str, Any] = {
        "name": part.name,
        "body": body,
        "shape": shape.kind,
        "size": plain(shape.size, what),
        "placement": placement_of(part.placement, what),
        "friction": part.friction,
        "dissipation": part.dissipation,
    }
    return entry if part.stiffness is None else entry | {"stiffness": part.stiffness}


def _body(body: Body, parent: str, what: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": body.name,
        "parent": parent,
        "joint": body.joint_name,
        **type_of(body.joint, what),
        "placement": placement_of(body.placement, what),
        "inertia": plain(body.inertia.parameters, what),
    }
    if body.mimic is not None:
        entry["mimic"] = [body.mimic.joint, *plain(body.mimic[1:], what)]
    for field in ("armature", "damping", "friction", "stiffness"):
        if any(not ops.is_literal(x) or x != 0 for x in getattr(body, field)):
            entry[field] = plain(getattr(body, field), what)
    if body.spring_reference != body.joint.neutral():
        entry["spring_reference"] = plain(body.spring_reference, what)
    limits = {
        field: [None if ops.is_literal(x) and math.isinf(x) else plain((x,), what)[0] for x in values]
        for field, values in zip(Limits._fields, body.limits)
    }
    limits = {field: values for field, values in limits.items() if any(x is not None for x in values)}
    if limits:
        entry["limits"] = limits
    return entry


def type_of(joint: Joint, what: str) -> dict[str, Any]:
    """The entries of a joint: its type and parameters."""
    if JOINT_TYPES.get(joint.type_name) is not type(joint):
        raise ModelError(
            f"{what}: {type(joint).__name__} is not the joint type called '{joint.type_name}' and "
            "would not read back the same: give the class a type_name of its own"
        )
    return {"type": joint.type_name, "parameters": plain(joint.parameters, what)}


def _rotor(rotor: Rotor, what: str) -> dict[str, Any]:
    return {
        "joint": rotor.joint,
        "inertia": plain(rotor.inertia.parameters, what),
        "placement": placement_of(rotor.placement, what),
        "axis": plain(rotor.axis, what),
        "ratio": plain(rotor.ratio, what),
    }


def placement_of(pose: Pose, what: str) -> dict[str, Any]:
    """The entry of a pose."""
    return {"R": [plain(row, what) for row in pose.R], "p": plain(pose.p, what)}


def plain(values: Iterable[Any], what: str) -> list[float | int]:
    """The values as plain Python numbers."""
    result: list[float | int] = []
    for x in values:
        if not ops.is_literal(x):
            raise ModelError(
                f"{what} contains {shown(x)}, which is not a plain number: substitute values before to_dict()"
            )
        result.append(x if type(x) is int else float(x))
    return result


def from_dict(data: Any) -> ModelBuilder:
    """A builder with the parts of a dictionary from `to_dict`, or one written by hand, in any order."""
    from kinetree.model.builder import ModelBuilder  # here, to avoid a circular import

    expect_dict(data, "Model.from_dict")
    if data.get("format", FORMAT) != FORMAT or data.get("version", VERSION) not in VERSIONS:
        raise ModelError(
            f"Model.from_dict: format {shown(data.get('format'))}, version {shown(data.get('version'))} is "
            f"not known: expected {FORMAT!r}, version {' or '.join(map(str, VERSIONS))}"
        )
    known = "format version name check gravity bodies rotors frames geometries ground pairs"
    check_keys(data, known, "Model.from_dict", "name")
    builder = ModelBuilder(data["name"], data.get("gravity", (0.0, 0.0, -9.81)))
    owner = f"model '{data['name']}'"
    _check_needed(data, "bodies", owner)
    for entry in _parents_first(entries_of(data, "bodies", owner), owner):
        _add_body(builder, entry, f"{owner}: body {entry['name']!r}")
    for entry in entries_of(data, "rotors", owner):
        what = f"{owner}: rotor of {shown(entry.get('joint'))}"
        check_keys(entry, "joint inertia placement axis ratio", what, needed="inertia ratio joint")
        inertia, placement = _inertia(entry["inertia"], what), pose_of(entry.get("placement"), what)
        builder.add_rotor(entry["joint"], inertia, placement, entry.get("axis", (0, 0, 1)), entry["ratio"])
    for entry in entries_of(data, "frames", owner):
        what = f"{owner}: frame {shown(entry.get('name'))}"
        check_keys(entry, "name body placement", what, needed="name body")
        builder.add_frame(entry["name"], entry["body"], pose_of(entry.get("placement"), what))
    for entry in entries_of(data, "geometries", owner):
        _add_geometry(builder, entry, f"{owner}: geometry {shown(entry.get('name'))}")
    if data.get("ground") is not None:
        builder.add_ground(ground_of(data["ground"], f"{owner}: ground"))
    for entry in entries_of(data, "pairs", owner):
        check_keys(entry, " ".join(Pair._fields), f"{owner}: pair", needed="geometry other")
        builder.add_pair(**entry)
    return builder


def ground_of(entry: Any, what: str) -> Any:
    """The ground of an entry."""
    expect_dict(entry, what)
    if entry == {"none": True}:
        return NoGround()
    if "heights" in entry:
        check_keys(entry, "heights spacing origin", what, needed="heights spacing")
        return Heightfield(entry["heights"], entry["spacing"], entry.get("origin"))
    check_keys(entry, "normal height", what)
    return Ground(entry.get("normal", (0, 0, 1)), entry.get("height", 0.0))


def _add_geometry(builder: Any, entry: dict[str, Any], what: str) -> None:
    builder.add_geometry(**geometry_of(entry, what))


def geometry_of(entry: dict[str, Any], what: str) -> dict[str, Any]:
    """The arguments of `ModelBuilder.add_geometry` for an entry."""
    optional = "friction stiffness dissipation name"
    check_keys(entry, f"body shape size placement {optional}", what, needed="body shape")
    try:
        shape = shape_named(entry["shape"], numbers_of(entry.get("size", ()), f"{what}: size"))
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None
    given = {key: entry[key] for key in optional.split() if key in entry}
    placement = pose_of(entry.get("placement"), what)
    return {"body": entry["body"], "shape": shape, "placement": placement, **given}


def _add_body(builder: Any, entry: dict[str, Any], what: str) -> None:
    optional = "mimic armature damping friction stiffness spring_reference limits"
    check_keys(entry, f"name parent joint type parameters placement inertia {optional}", what)
    given = {key: entry[key] for key in optional.split() if key in entry}
    if "limits" in given:
        expect_dict(given["limits"], f"{what}: limits")
        given["limits"] = {field: _limit(field, values) for field, values in given["limits"].items()}
    builder.add_body(
        entry["name"],
        entry.get("parent", WORLD),
        joint_of(entry, what),
        pose_of(entry.get("placement"), what),
        _inertia(entry["inertia"], what) if "inertia" in entry else None,
        joint_name=entry.get("joint"),
        **given,
    )


def joint_of(entry: dict[str, Any], what: str) -> Joint:
    """The joint of an entry with its type and parameters."""
    kind = Joint.named(entry.get("type", "fixed"), what)
    return kind.from_parameters(numbers_of(entry.get("parameters", ()), f"{what}: parameters"), what)


def _limit(field: str, values: Any) -> Any:
    infinite = -math.inf if field == "lower" else math.inf
    return [infinite if x is None else x for x in values] if isinstance(values, list | tuple) else values


def _inertia(parameters: Any, what: str) -> Inertia:
    values = numbers_of(parameters, f"{what}: inertia")
    if len(values) != 10:
        raise ModelError(
            f"{what}: inertia has {len(values)} numbers, expected 10: m, m c (3), J about the origin (6)"
        )
    return Inertia.from_parameters(values)


def pose_of(entry: Any, what: str) -> Pose | None:
    """The pose of an entry; None if there is none."""
    if entry is None:
        return None
    what = f"{what}: placement"
    expect_dict(entry, what)
    check_keys(entry, "R p", what, needed="R p")
    rows = entry["R"]
    if not isinstance(rows, list | tuple) or len(rows) != 3:
        raise ModelError(f"{what}: R must be three rows of three numbers, got {shown(rows)}")
    R, p = tuple(numbers_of(row, f"{what}, R") for row in rows), numbers_of(entry["p"], f"{what}, p")
    if any(len(row) != 3 for row in (*R, p)):
        raise ModelError(f"{what}: R must be three rows of three numbers and p three numbers")
    try:
        return Pose(R, p)
    except ValueError as error:
        raise ModelError(f"{what}: {error}") from None


def numbers_of(values: Any, what: str) -> Numbers:
    """The numbers of a list."""
    if not isinstance(values, list | tuple):
        raise ModelError(f"{what} must be a list of numbers, got {shown(values)}")
    return tuple(number(x, what) for x in values)


def entries_of(data: dict[str, Any], key: str, owner: str) -> list[dict[str, Any]]:
    """The list of dictionaries under a key; empty if there is none."""
    entries = data.get(key, [])
    if not isinstance(entries, list | tuple):
        raise ModelError(f"{owner}: {key} must be a list, got {type(entries).__name__}")
    for entry in entries:
        expect_dict(entry, f"{owner}: an entry of {key}")
    return list(entries)


def _parents_first(entries: list[dict[str, Any]], owner: str) -> list[dict[str, Any]]:
    """The entries of bodies with parents first; in the given order if it has that property."""
    by_name: dict[str, dict[str, Any]] = {}
    for entry in entries:
        _check_needed(entry, "name", f"{owner}: body")
        name = entry["name"]
        if not isinstance(name, str) or name in by_name:
            raise ModelError(
                f"{owner}: body name {shown(name)} is not a string or is used twice: names must be unique"
            )
        by_name[name] = entry
    ordered: list[dict[str, Any]] = []
    placed = {WORLD}
    for entry in entries:
        waiting: list[dict[str, Any]] = []
        while entry["name"] not in placed:
            waiting.append(entry)
            if len(waiting) > len(by_name):
                raise ModelError(
                    f"{owner}: {_cycle(entry, by_name)} carry each other in a circle: one needs another "
                    "parent"
                )
            parent = entry.get("parent") or WORLD
            if isinstance(parent, str) and parent in placed:
                break
            if not isinstance(parent, str) or parent not in by_name:
                raise unknown(parent, "body", by_name, f"{owner}: body {entry['name']!r}, parent")
            entry = by_name[parent]
        for ready in reversed(waiting):
            ordered.append(ready)
            placed.add(ready["name"])
    return ordered


def _cycle(entry: dict[str, Any], by_name: dict[str, dict[str, Any]]) -> str:
    """The names on the cycle of parents that an entry leads to."""
    names = [entry["name"]]
    while by_name[names[-1]]["parent"] != names[0]:
        names.append(by_name[names[-1]]["parent"])
    return " -> ".join(f"'{name}'" for name in names)


def expect_dict(data: Any, what: str) -> None:
    """ModelError for anything but a dictionary."""
    if not isinstance(data, dict):
        raise ModelError(f"{what} must be a dict, got {type(data).__name__}")


def check_keys(data: dict[str, Any], known: str, what: str, needed: str = "") -> None:
    """ModelError for unknown entries and for missing ones."""
    for key in data:
        if key not in known.split():
            raise unknown(key, "entry", known.split(), what)
    _check_needed(data, needed, what)


def _check_needed(data: dict[str, Any], needed: str, what: str) -> None:
    for key in needed.split():
        if key not in data:
            raise ModelError(f"{what}: the entry {key!r} is missing")
