"""Models made from models: replaced numbers, locked joints, attached models, subtrees, additional frames.

These are the methods of `Model` that return another model. Unchanged parts are shared, and named
configurations are kept as far as their joints are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import ModelError, ShapeError
from kinetree.joints import Fixed
from kinetree.joints.axis import rotation_about
from kinetree.model import edit_loops, postures, validate
from kinetree.model.geometry import DISSIPATION, FRICTION, changed_geometries, free_name, geometry
from kinetree.model.ground import changed_ground
from kinetree.model.pairs import Pair, changed_pairs, checked_pairs, kept_pairs
from kinetree.model.parts import Body, Frame, Limits
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import dot, sym_vec

if TYPE_CHECKING:
    from kinetree.model.model import Model

ROTOR_MODES = ("exact", "reflected", "lumped", "none")


def replace(model: Model, **changes: Any) -> Model:
    """The model with other numbers.

    Args:
        name, gravity: new values.
        rotors: "exact" keeps them, "reflected" turns them into armature, "lumped" into masses that do not
            spin, "none" drops them. Only "exact" keeps the mass of a rotor that the world carries.
        inertia, placement: dicts from body names to new values.
        check: "physical" rejects inertias that no body can have; "finite" accepts any finite numbers.
        armature, damping, friction, stiffness, spring_reference, limits: dicts from joint names.
        configurations: a dict from names to q (nq,), or to dicts from joint names to positions.
        geometries: a dict from names of geometries to dicts of what changes (`shape`, `placement`,
            `friction`, `stiffness`, `dissipation`), or to None to remove them.
        ground: a `Ground` or a `Heightfield`, or None.
        pairs: geometries that can touch each other: two names each, or `Pair`s; "all" for all possible pairs.
    """
    name = changes.pop("name", model.name)
    if not isinstance(name, str) or not name.strip():
        raise ModelError(
            f"model '{model.name}': replace(name={validate.shown(name)}): the name must be a non-empty string"
        )
    gravity = validate.numbers(changes.pop("gravity", model.gravity), 3, f"model '{model.name}': gravity")
    mode = changes.pop("rotors", "exact")
    report = changes.pop("report", model.report)
    check = changes.pop("check", "physical")
    configurations = changes.pop("configurations", None)
    touching = {
        "geometries": changed_geometries(model, changes.pop("geometries", {})),
        "ground": changed_ground(model, changes.pop("ground", model.ground)),
    }
    pairs = changes.pop("pairs", None)
    validate.refuse_unknown_check(check, f"model '{model.name}': replace")
    bodies = list(model.bodies)
    for field, values in changes.items():
        _replace_field(model, bodies, field, values)
    if check == "physical":
        for changed in changes.get("inertia", ()):
            inertia = bodies[model.body_index(changed) - 1].inertia
            validate.physical(inertia, f"model '{model.name}': body '{changed}'")
    made = _remade(model, bodies, name=name, gravity=gravity, report=report, **touching)
    if model.loops and "placement" in changes:
        changed = [model.body_index(body) for body in changes["placement"]]
        made, stiff = edit_loops.solved_again(model, made.remade(loops=()), changed)
        made = lock(made, stiff)
    result = with_rotors(postures.closed(made), mode)
    if pairs is not None:
        result = result.remade(pairs=changed_pairs(result, pairs))
    if configurations is None:
        return result
    return postures.carrying(result, postures.read(result, configurations))


def _remade(model: Model, bodies: Iterable[Body], *others: tuple[Model, str], **changes: Any) -> Model:
    """The model with other bodies and changes; `others`: the models that parts came from, with prefixes."""
    parts = ("name", "gravity", "rotors", "frames", "report", "loops", "geometries", "ground", "pairs")
    made = type(model)(bodies=tuple(bodies), **{key: changes.get(key, getattr(model, key)) for key in parts})
    if made.pairs:
        made = made.remade(pairs=kept_pairs(made))
    return postures.kept(made, (model, ""), *others)


def with_parameters(model: Model, parameters: Any, check: str = "physical") -> Model:
    """The model with these inertias (nb, 10) of its bodies, as in `parameters`; all else stays.

    Args:
        check: "physical" rejects inertias that no body can have; "finite" accepts any finite numbers.
    """
    rows = np.asarray(parameters)
    if rows.shape != (model.nbodies, 10) or rows.dtype.kind not in "fiuO":
        given = f"{rows.dtype} numbers of shape {rows.shape}"
        raise ShapeError(
            f"model '{model.name}': with_parameters takes ({model.nbodies}, 10) numbers, for each body m, "
            f"m c (3), inertia about the body origin (xx, yy, zz, xy, xz, yz), but got {given}"
        )
    inertias = {
        body.name: Inertia.from_parameters(row) for body, row in zip(model.bodies, rows.tolist(), strict=True)
    }
    return replace(model, inertia=inertias, check=check)


def _replace_field(model: Model, bodies: list[Body], field: str, values: Any) -> None:
    """Set one field of the bodies or joints named in the mapping `values`."""
    fields = validate.BODY_FIELDS | validate.JOINT_FIELDS
    if field not in fields:
        others = ("name", "gravity", "rotors", "check", "configurations", "geometries", "ground", "pairs")
        known = (*others, *fields)
        raise validate.unknown(field, "argument", known, f"model '{model.name}': replace")
    by_joint = field in validate.JOINT_FIELDS
    if not isinstance(values, Mapping):
        kind = "joint" if by_joint else "body"
        raise ModelError(
            f"model '{model.name}': replace({field}=...) takes a dict from {kind} names to values"
        )
    for name, value in values.items():
        i = model.joint_index(name) if by_joint else model.body_index(name)
        if i == 0:
            raise ModelError(f"model '{model.name}': replace({field}=...): the world has no {field}")
        checked = fields[field](value, bodies[i - 1].joint, f"model '{model.name}': {field} of '{name}'")
        bodies[i - 1] = bodies[i - 1]._replace(**{field: checked})


def with_rotors(model: Model, mode: str) -> Model:
    """The model with its rotors kept ("exact"), approximated ("reflected", "lumped") or dropped ("none").

    A lumped rotor moves with the carrying body as if it did not spin. A reflected one does so too, and adds
    ratio^2 times its moment of inertia about the spin axis to the joint's diagonal of the mass matrix. This
    neglects the coupling with the motion of the carrier (and between the degrees of freedom of one joint),
    which is of the order of the ratio. The world has no mass: that of a rotor on it is left out, which
    changes the total mass, the centre of mass and the potential energy, but no force and no motion.
    """
    if mode not in ROTOR_MODES:
        raise ModelError(
            f"model '{model.name}': replace(rotors={validate.shown(mode)}) must be one of "
            f"{', '.join(ROTOR_MODES)}"
        )
    if mode == "exact" or not model.rotors:
        return model
    bodies = list(model.bodies)
    for rotor in model.rotors if mode != "none" else ():
        i = model.joint_index(rotor.joint)
        carrier = model.parents[i - 1]
        if carrier:
            _load(bodies, carrier, rotor.inertia, rotor.placement)
        if mode == "reflected":
            axial = dot(rotor.axis, sym_vec(rotor.inertia.second, rotor.axis))  # type: ignore[arg-type]
            armature = tuple(a + n * n * axial for a, n in zip(bodies[i - 1].armature, rotor.ratio))
            bodies[i - 1] = bodies[i - 1]._replace(armature=armature)
    return _remade(model, bodies, rotors=())


def _load(bodies: list[Body], carrier: int, inertia: Inertia, placement: Pose) -> None:
    """Fix an inertia, given in the frame `placement`, to a body."""
    carried = inertia.congruence(placement.transform())
    bodies[carrier - 1] = bodies[carrier - 1]._replace(inertia=bodies[carrier - 1].inertia + carried)


def lock(model: Model, positions: Mapping[str, Any]) -> Model:
    """The model with the given joints fixed at the given positions; joints that mimic them are fixed too.

    Bodies, joints and frames keep their names. Rotors of locked joints stand still on their carriers; those
    on the world are added to the locked body. A loop is closed again with its remaining joints; if it can no
    longer move, it is fixed as a whole.

    Raises:
        AssemblyError: a loop cannot be closed with its joints at these positions.
    """
    if not isinstance(positions, Mapping):
        raise ModelError(
            f"model '{model.name}': lock takes a dict from joint names to positions, got "
            f"{validate.shown(positions)}"
        )
    fixed: dict[int, tuple] = {}
    for name, given in positions.items():
        i = model.joint_index(name)
        body = model.bodies[i - 1]
        if body.mimic is not None:
            raise ModelError(
                f"model '{model.name}': joint '{name}' mimics '{body.mimic.joint}' and cannot be locked "
                f"alone: lock '{body.mimic.joint}'"
            )
        if given is None:
            raise ModelError(
                f"model '{model.name}': position of locked joint '{name}' is None: it must be "
                f"{'a number' if body.joint.nq == 1 else f'{body.joint.nq} numbers'}"
            )
        fixed[i] = validate.position(
            given, body.joint, f"model '{model.name}': position of locked joint '{name}'"
        )
    q: list[Any] = [0] * model.nq
    for i, coordinates in fixed.items():
        q[model.layout.q_start[i] : model.layout.q_start[i] + len(coordinates)] = coordinates
    for i, rule in model.layout.follows.items():
        if rule.leader in fixed:
            fixed[i] = model.layout.couplings[i].positions(q)
    bodies = list(model.bodies)
    for i, coordinates in fixed.items():
        body = bodies[i - 1]
        turned = body.placement @ Pose.from_transform(body.joint.placement(coordinates))
        bodies[i - 1] = _welded(body, turned)
    rotors = []
    for rotor in model.rotors:
        i = model.joint_index(rotor.joint)
        if i not in fixed:
            rotors.append(rotor)
            continue
        angle = sum(n * x for n, x in zip(rotor.ratio, fixed[i]))
        turn = Pose.from_transform(rotation_about(rotor.axis, angle))  # type: ignore[arg-type]
        carrier, place = model.parents[i - 1], rotor.placement @ turn
        if not carrier:  # the world: the locked body carries it, fixed to the world as well
            carrier, place = i, bodies[i - 1].placement.inverse() @ place
        _load(bodies, carrier, rotor.inertia, place)
    made = _remade(model, bodies, rotors=tuple(rotors), loops=())
    if not model.loops:
        return made
    given = {joint: row for loop in model.loops for joint, row in loop.reference}
    made, stiff = edit_loops.solved_again(model, made, fixed, given)
    return lock(made, stiff) if stiff else postures.closed(made)


def _welded(body: Body, placement: Pose) -> Body:
    """A body fixed to its parent at this pose."""
    return body._replace(
        joint=Fixed(), placement=placement, mimic=None, armature=(), damping=(), friction=(), stiffness=(),
        spring_reference=(), limits=Limits((), (), (), ()),
    )  # fmt: skip


def standing(model: Model, body: int) -> Model:
    """The model of everything a body carries, with that body as the world.

    The model itself if joints inside and outside follow each other, so the rest cannot be left out.
    """
    inside = {model.joint_names[i - 1] for i in model.topology.branch(body) if i != body}
    tied = [(b.joint_name in inside) != (b.mimic.joint in inside) for b in model.bodies if b.mimic]
    if body == 0 or any(tied) or edit_loops.are_cut(model, model.topology.branch(body)):
        return model
    bodies = list(model.bodies)
    bodies[body - 1] = _welded(bodies[body - 1], Pose.identity())
    rotors = tuple(rotor for rotor in model.rotors if rotor.joint in inside)
    return subtree(model.remade(bodies=tuple(bodies), rotors=rotors, postures=()), body)


def attach(
    model: Model, other: Model, body: str | int | None = None, placement: Any = None, prefix: str = ""
) -> Model:
    """The model with another one attached to one of its bodies or frames, in place of the other's world.

    Args:
        body: the body that carries the other model, or a frame fixed in it; None is the world.
        placement: pose of the other model's world in that body or frame.
        prefix: put before every name of the other model, to keep names unique.
    """
    if not isinstance(other, type(model)):
        raise ModelError(f"model '{model.name}': attach takes a model, got {type(other).__name__}")
    carrier, seat = model.frame(body)
    given = validate.pose(placement, f"model '{model.name}': attach('{other.name}'): placement")
    where = Pose.from_transform(seat) @ given
    shift = model.nbodies
    bodies, frames, geometries = list(model.bodies), list(model.frames), list(model.geometries)
    for old in other.bodies:
        bodies.append(old._replace(
            name=prefix + old.name,
            joint_name=prefix + old.joint_name,
            parent=old.parent + shift if old.parent else carrier,
            placement=old.placement if old.parent else where @ old.placement,
            mimic=old.mimic and old.mimic._replace(joint=prefix + old.mimic.joint),
        ))  # fmt: skip
    for frame in other.frames:
        pose = frame.placement if frame.body else where @ frame.placement
        frames.append(Frame(prefix + frame.name, frame.body + shift if frame.body else carrier, pose))
    for part in other.geometries:
        pose = part.placement if part.body else where @ part.placement
        index = part.body + shift if part.body else carrier
        geometries.append(part._replace(name=prefix + part.name, body=index, placement=pose))
    rotors = []
    for rotor in other.rotors:
        on_world = not other.parents[other.joint_index(rotor.joint) - 1]
        pose = where @ rotor.placement if on_world else rotor.placement
        rotors.append(rotor._replace(joint=prefix + rotor.joint, placement=pose))
    _refuse_duplicates(model, other, [b.name for b in bodies] + [f.name for f in frames], "body or frame")
    _refuse_duplicates(model, other, [b.joint_name for b in bodies], "joint")
    loops = (*model.loops, *edit_loops.attached(other, shift, carrier, where, prefix))
    _refuse_duplicates(model, other, [c.name for loop in loops for c in loop.closures], "loop")
    _refuse_duplicates(model, other, [part.name for part in geometries], "geometry")
    parts: dict[str, Any] = {"rotors": (*model.rotors, *rotors), "frames": tuple(frames), "loops": loops}
    parts["pairs"] = (*model.pairs, *(pair.prefixed(prefix) for pair in other.pairs))
    return _remade(model, bodies, (other, prefix), **parts, geometries=tuple(geometries))


def _refuse_duplicates(model: Model, other: Model, names: list[str], kind: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ModelError(
                f"attach: models '{model.name}' and '{other.name}' both have a {kind} named '{name}': give "
                "attach(..., prefix='...') to rename those of the second"
            )


def add_frame(model: Model, name: str, body: str | int | None = None, placement: Any = None) -> Model:
    """The model with one more named frame, fixed in a body or in another frame; None is the world."""
    validate.new_frame(name, model.frame_names, model.body_names, model.name)
    carrier, seat = model.frame(body)
    given = validate.pose(placement, f"model '{model.name}': frame '{name}': placement")
    frame = Frame(name, carrier, Pose.from_transform(seat) @ given)
    return _remade(model, model.bodies, frames=(*model.frames, frame))


def add_geometry(
    model: Model,
    body: str | int | None,
    shape: Any,
    placement: Any = None,
    friction: float = FRICTION,
    stiffness: float | None = None,
    dissipation: float = DISSIPATION,
    name: str | None = None,
) -> Model:
    """The model with one more shape, fixed in a body or in a frame; arguments as for the builder."""
    carrier, seat = model.frame(body)
    if name is None:
        named = body if isinstance(body, str) else (validate.WORLD, *model.body_names)[carrier]
        name = free_name(named, model.geometry_names)
    else:
        validate.new_name(name, "geometry", model.geometry_names, model.name)
    owner = f"model '{model.name}': geometry '{name}'"
    pose = Pose.from_transform(seat) @ validate.pose(placement, f"{owner}: placement")
    made = geometry(name, carrier, (shape, pose, friction, stiffness, dissipation), owner)
    return _remade(model, model.bodies, geometries=(*model.geometries, made))


def add_pair(
    model: Model,
    geometry: str,
    other: str,
    friction: float | None = None,
    stiffness: float | None = None,
    dissipation: float | None = None,
) -> Model:
    """The model in which two geometries can touch each other; arguments as for the builder."""
    made = Pair(geometry, other, friction, stiffness, dissipation)
    pairs = checked_pairs(model, (*model.pairs, made), f"model '{model.name}'")
    return _remade(model, model.bodies, pairs=pairs)


def subtree(model: Model, body: str | int) -> Model:
    """The model of one body and everything it carries, connected to the world by the body's own joint.

    The body keeps its joint and its placement, now in the world; gravity stays the same vector in world axes.
    """
    root = model.body_index(body)
    if root == 0:
        return model
    kept = model.topology.branch(root)
    number = {old: new for new, old in enumerate(kept, 1)}
    names = {model.bodies[i - 1].joint_name for i in kept}
    bodies = []
    for i in kept:
        part = model.bodies[i - 1]
        if part.mimic is not None and part.mimic.joint not in names:
            raise ModelError(
                f"model '{model.name}': subtree('{model.body_names[root - 1]}') would separate joint "
                f"'{part.joint_name}' from '{part.mimic.joint}', which it mimics: lock '{part.mimic.joint}' "
                "first, or take a larger subtree"
            )
        bodies.append(part._replace(parent=number.get(part.parent, 0)))
    rotors = tuple(rotor for rotor in model.rotors if rotor.joint in names)
    frames = tuple(frame._replace(body=number[frame.body]) for frame in model.frames if frame.body in number)
    loops = edit_loops.within(model, number, f"subtree('{model.body_names[root - 1]}')")
    geometries = tuple(g._replace(body=number[g.body]) for g in model.geometries if g.body in number)
    return _remade(model, bodies, rotors=rotors, frames=frames, loops=loops, geometries=geometries)
