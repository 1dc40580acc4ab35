"""Positions as points of a manifold: neutral and random ones, steps along velocities, differences.

The last axis holds the coordinates and the axes before it are the batch. Numbers of any kind are supported:
plain numbers in floating-point arrays, others (symbols, many digits, expressions) in arrays of objects.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import ops
from kinetree.errors import ArgumentError, ModelError, ShapeError, StateError
from kinetree.model import closed_positions as closing
from kinetree.model.closed import own_joints
from kinetree.model.closed_positions import loop_nodes, refuse_open
from kinetree.model.layout import described
from kinetree.model.loop import INTEGRATION_STEPS
from kinetree.model.node import Node
from kinetree.model.parts import Body
from kinetree.model.validate import shown
from kinetree.spatial.quaternion import quaternion_normalized

if TYPE_CHECKING:
    from kinetree.model.model import Model


def neutral(model: Model) -> np.ndarray:
    """The position in which every joint's successor coincides with its predecessor."""
    values = [x for body in model.bodies if body.mimic is None for x in body.joint.neutral()]
    q = np.array(values, dtype=float)
    for node in loop_nodes(model):
        q[list(node.q_index)] = node.reference
    return q


def random_state(model: Model, rng: Any, batch: int | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """A random position, within finite limits where there are any, and a velocity with normal components."""
    rng, shape = _generator(rng), _shape(batch)
    q = np.empty((int(np.prod(shape)), model.nq))
    for row in q:
        row[:] = [x for body in model.bodies if body.mimic is None for x in body.joint.random(rng)]
    _draw_between_limits(model, q, rng)
    for node in loop_nodes(model):
        index = list(node.q_index)
        q[:, index] = closing.walked(model, node, q[:, index], rng)
    return q.reshape(*shape, model.nq), rng.standard_normal((*shape, model.nv))


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"random_state: rng is {shown(rng)}: give a NumPy generator, a seed that is not negative, or None"
        ) from None


def _shape(batch: Any) -> tuple[int, ...]:
    """The batch axes given as one integer or several."""
    try:
        axes = (batch,) if not hasattr(batch, "__iter__") else tuple(batch)
        shape = tuple(operator.index(n) for n in axes if not isinstance(n, bool))
    except TypeError:
        shape = (-1,)
    if len(shape) != len(axes) or any(n < 0 for n in shape):
        raise ArgumentError(
            f"random_state: batch is {shown(batch)}: give the number of states, or a tuple of numbers"
        )
    return shape


def _draw_between_limits(model: Model, q: np.ndarray, rng: np.random.Generator) -> None:
    """Redraw coordinates with two finite limits between these; clip those with one."""
    vector, _ = model.coordinate_places
    limits = model.limits
    for place, k in zip(vector["q"], vector["v"]):
        low, high = limits.lower[k], limits.upper[k]
        if not (ops.is_literal(low) and ops.is_literal(high) and low <= high):
            continue
        bounded = np.isfinite(high - low)
        q[:, place] = low + (high - low) * rng.random(len(q)) if bounded else np.clip(q[:, place], low, high)


def integrate(model: Model, q: Any, dv: Any) -> np.ndarray:
    """q (+) dv: the position reached from `q` by moving with the velocity `dv` for a unit of time."""
    q, dv = read(model, "integrate", "q", q), read(model, "integrate", "dv", dv)
    require_sound(model, "integrate", q)
    return _apply(model, "integrate", ("q", "v", "q"), lambda a, b: a + b, closing.integrated, q, dv)


def ahead(model: Model, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
    """`integrate` that refuses nothing: loops open by the square of `dv`, and `snapped` closes them."""
    return _apply(model, "integrate", ("q", "v", "q"), lambda a, b: a + b, closing.tangential, q, dv)


def difference(model: Model, q0: Any, q1: Any) -> np.ndarray:
    """q1 (-) q0: the velocity that leads from `q0` to `q1` in a unit of time."""
    q0, q1 = read(model, "difference", "q0", q0), read(model, "difference", "q1", q1)
    require_sound(model, "difference", q0)
    require_sound(model, "difference", q1)
    return _apply(model, "difference", ("q", "q", "v"), lambda a, b: b - a, closing.differing, q0, q1)


def rate(model: Model, q: Any, v: Any) -> np.ndarray:
    """The rates of the position coordinates, qdot = A(q) v."""
    q, v = read(model, "rate", "q", q), read(model, "rate", "v", v)
    require_sound(model, "rate", q)
    return _apply(model, "rate", ("q", "v", "q"), lambda a, b: b, closing.changing, q, v)


def normalize(model: Model, q: Any) -> np.ndarray:
    """The position with its quaternions divided by their lengths; StateError where one is zero."""
    q = read(model, "normalize", "q", q)
    out = q.copy()
    for body, place in _quaternions(model):
        own = q[..., place]
        size = np.abs(own).max(axis=-1) if q.dtype != object else np.ones(own.shape[:-1])
        if np.any(size == 0):
            raise StateError(
                f"normalize: joint '{body.joint_name}' of model '{model.name}': its quaternion is zero"
                f"{_first(size == 0)[1]}, which is not a rotation: start from model.neutral()"
            )
        with np.errstate(invalid="ignore"):  # what is not finite becomes NaN
            scaled = np.moveaxis(own / size[..., None], -1, 0)  # no overflow, whatever the length
            out[..., place] = np.stack(quaternion_normalized(tuple(scaled)), axis=-1)
    return out


def snapped(model: Model, q: Any) -> np.ndarray:
    """The position nearest to a slightly invalid one: quaternions of unit length, loops closed."""
    out = normalize(model, q)
    for node in loop_nodes(model):
        found = node.closed([_entry(out, k) for k in node.q_index], INTEGRATION_STEPS).q
        for k, value in zip(node.q_index, found, strict=True):
            out[..., k] = value
    return out


def _quaternions(model: Model) -> Iterator[tuple[Body, slice]]:
    """Each quaternion of q: the body of its joint, and its place."""
    for body, coupling in zip(model.bodies, model.layout.couplings[1:], strict=True):
        places = coupling.positions(range(model.nq)) if body.joint.quaternions else ()
        for k in body.joint.quaternions:
            yield body, slice(places[k], places[k] + 4)


def require_sound(model: Model, function: str, q: np.ndarray) -> None:
    """StateError if a quaternion of a position, or of one of a batch, is far from unit length."""
    for body, place in model.coordinate_places[1]:
        refuse_unsound(model, body, [_entry(q, k) for k in place["q"]], f"{function}: ")
    for node in loop_nodes(model):
        refuse_unsound_node(model, node, [_entry(q, k) for k in node.q_index], f"{function}: ")


def refuse_unsound_node(model: Model, node: Node, q: Sequence[Any], caller: str = "") -> None:
    """StateError if q is not a position of a node's joints, AssemblyError if a loop of it is open there."""
    for m in node.members:
        if m.body:
            refuse_unsound(model, model.bodies[m.body - 1], m.coupling.positions(q), caller)
    refuse_open(model, node, q, caller)


def refuse_unsound(model: Model, body: Body, q: Sequence[Any], caller: str = "") -> None:
    """StateError if q, one state or a batch of them, is not a position of a body's joint.

    Only finite positions are rejected: NaN passes, and infinities become NaN in the result. Symbols have no
    value yet and pass too.
    """
    if not body.joint.quaternions:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = body.joint.soundness(tuple(q))
    for soundness in numbers:
        if not isinstance(soundness, (int, float, complex, np.ndarray, np.generic)):
            continue
        number = np.real(np.asarray(soundness))
        if number.dtype == object or not np.any(number < 1):
            continue
        bad = (number < 1) & np.isfinite(np.broadcast_arrays(*q, number)[:-1]).all(axis=0)
        if np.any(bad):
            state, where = _first(bad)
            given = tuple(np.real(np.broadcast_to(x, bad.shape)[state]) for x in q)
            raise StateError(
                f"{caller}joint '{body.joint_name}' of '{model.name}': {body.joint.fault(given)}{where}. "
                f"Start from model.neutral(), mind the order of q (position_index('{body.joint_name}') says "
                "where it stands), or give model.normalize(q)"
            )


def _first(bad: np.ndarray) -> tuple[tuple[int, ...], str]:
    """The first marked state of a batch, and words for it."""
    state = tuple(int(k) for k in np.argwhere(bad)[0])
    return state, f" in state {state[0] if len(state) == 1 else state} of the batch" if state else ""


def _apply(
    model: Model,
    method: str,
    spaces: tuple[str, str, str],
    rule: Callable[[Any, Any], Any],
    in_loops: Callable[..., Sequence[Any]],
    a: np.ndarray,
    b: np.ndarray,
) -> np.ndarray:
    """One operation on all joints: at once where coordinates form a vector space, else joint by joint.

    `spaces` says whether both operands and the result are positions (q) or velocities (v). `method` of other
    joints is called, and `in_loops` for each node with loops.
    """
    if a.ndim == b.ndim == 1 and "O" not in (a.dtype.kind, b.dtype.kind):  # the same bits as in a batch
        return _apply(model, method, spaces, rule, in_loops, a[None], b[None])[0]
    first, second, result = spaces
    vector, others = model.coordinate_places
    batch = broadcast(method, a.shape[:-1], b.shape[:-1])
    out = np.empty((*batch, model.nq if result == "q" else model.nv), dtype=np.result_type(a, b))
    out[..., vector[result]] = rule(a[..., vector[first]], b[..., vector[second]])
    for body, place in others:
        operands = tuple(_entry(a, k) for k in place[first]), tuple(_entry(b, k) for k in place[second])
        with np.errstate(invalid="ignore"):  # infinities become NaN
            values = getattr(body.joint, method)(*operands)
        for k, value in zip(place[result], values):
            out[..., k] = value
    for node in loop_nodes(model):
        index = {"q": list(node.q_index), "v": list(node.v_index)}
        operands = tuple(_entry(a, k) for k in index[first]), tuple(_entry(b, k) for k in index[second])
        for k, value in zip(index[result], in_loops(model, node, *operands), strict=True):
            out[..., k] = value
    return out


def broadcast(caller: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The batch axes of several arrays together."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"{caller}: the batch axes {', '.join(map(str, shapes))} do not broadcast") from None


def _entry(x: np.ndarray, k: int) -> Any:
    """One coordinate of all states of the batch; the number itself if there is no batch."""
    return x[k] if x.ndim == 1 else x[..., k]


def read(model: Model, function: str, name: str, x: Any) -> np.ndarray:
    """`x` as an array whose last axis counts positions (names that begin with q) or velocities."""
    velocities = not name.startswith("q")
    width = model.nv if velocities else model.nq
    array = as_array(x, f"{function}: {name}")
    if array.ndim == 0 or array.shape[-1] != width:
        raise ShapeError(
            f"{function}: {name} has shape {array.shape} but model '{model.name}' needs (..., {width}): "
            f"{described(model.bodies, model.layout, velocities)}"
        )
    return array


def as_array(x: Any, what: str) -> np.ndarray:
    """`x` as an array of numbers: of floats, if it holds integers; ShapeError if it holds anything else."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise ShapeError(f"{what} is {shown(x)}, whose rows have different lengths") from None
    if array.dtype.kind not in "iubfcO":
        raise ShapeError(f"{what} must hold numbers, got an array of {array.dtype}: {shown(x)}")
    if array.dtype.kind == "O" and not all(hasattr(n, "__mul__") and type(n) is not str for n in array.flat):
        raise ShapeError(f"{what} must hold numbers, got {shown(x)}")
    return array.astype(float) if array.dtype.kind in "iub" else array


def as_floats(x: np.ndarray, what: str) -> np.ndarray:
    """An array of numbers as floats; ShapeError if it holds symbols, or complex numbers."""
    try:
        return x if x.dtype.kind == "f" else np.array(x.tolist(), dtype=float).reshape(x.shape)
    except TypeError:
        raise ShapeError(f"{what} must hold real numbers, got an array of {x.dtype}") from None


def split(model: Model, name: str, x: Any) -> dict[str, np.ndarray]:
    """The coordinates of each joint that has some: views of `x`, a "q" or "v" with any batch axes."""
    array = read(model, "split", name, x)
    index = model.position_index if name == "q" else model.coordinate_index
    places = {body.joint_name: index(body.joint_name) for body in model.bodies}
    return {joint: array[..., place] for joint, place in places.items() if place.stop > place.start}


def stacked(model: Model, name: str, values: Mapping[str, Any]) -> np.ndarray:
    """The vector "q" or "v" with the given coordinates; the others are neutral, or zero."""
    if not hasattr(values, "items") or not hasattr(values, "keys"):  # rows of pandas are not Mappings
        raise ModelError(
            f"model '{model.name}': expected a dict from joint names to {name}, got {shown(values)}"
        )
    index = model.position_index if name == "q" else model.coordinate_index
    pieces = []
    for joint, value in values.items():
        place = index(joint)
        width = place.stop - place.start
        array = as_array(value, f"model '{model.name}': {name} of joint '{joint}'")
        array = array[..., None] if array.ndim == 0 or (width == 1 and array.shape[-1] != 1) else array
        if array.shape[-1] != width:
            depends = name == "v" and model.bodies[model.joint_index(joint) - 1].mimic is None
            nothing = "depends on others by a loop" if depends and model.loops else "owns no coordinates"
            own = nothing if width == 0 else f"takes (..., {width})"
            shape = np.shape(value)
            raise ShapeError(
                f"model '{model.name}': {name} of joint '{joint}' has shape {shape}, but it {own}"
            )
        pieces.append((place, array))
    axes = (array.shape[:-1] for _, array in pieces)
    batch = broadcast(f"model '{model.name}': {name}", *axes)
    rest = model.neutral() if name == "q" else np.zeros(model.nv)
    kind = np.result_type(rest, *(array for _, array in pieces))
    out = np.broadcast_to(rest, (*batch, len(rest))).astype(kind)
    for place, array in pieces:
        out[..., place] = array
    return out if name == "v" else _following(model, out, values)


def _following(model: Model, q: np.ndarray, given: Mapping[str, Any]) -> np.ndarray:
    """The position with loops closed: where only some joints of a loop were given, the others move."""
    for node in loop_nodes(model):
        names = {model.joint_names[m.body - 1] for m, _ in own_joints(node)}
        if not names.isdisjoint(given) and not names <= given.keys():
            return closing.assemble(model, q, tuple(given))
    return q
