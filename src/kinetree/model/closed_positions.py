"""Positions of models with loops: closing them, random ones, and error messages for open ones.

Everything here works on plain numbers and batches; `loop.py` has what is traced.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.errors import AssemblyError, SingularError
from kinetree.model.assembly import CLOSED, Assembly
from kinetree.model.closed import own_joints
from kinetree.model.loop import INTEGRATION_STEPS, LoopNode
from kinetree.model.node import Node
from kinetree.model.pivoting import Choice

if TYPE_CHECKING:
    from kinetree.model.model import Model

Array = np.ndarray

STEPS = 24  # of a random walk
ALIVE = 0.2  # a random walk ends where a pivot falls below this fraction of its usual size: near a dead point
DYING = 0.02  # likewise, where even small steps open a loop
LONGEST = 0.25  # longest part of a long step, rad or sizes of the loop
PARTS = 256  # most parts of a long step
ITERATIONS, FEW_ITERATIONS = 24, 4  # of a difference, if the end of a step depends on the path
ROUNDING = 1e-15


class JointState(NamedTuple):
    """The coordinates (..., nq) and velocities (..., nv) of one joint."""

    position: Array
    velocity: Array


def loop_nodes(model: Model) -> list[LoopNode]:
    """The nodes with loops."""
    return [node for node in model.nodes if isinstance(node, LoopNode)] if model.loops else []


def closure_names(model: Model) -> tuple[str, ...]:
    """The names of all closures."""
    return tuple(closure.name for loop in model.loops for closure in loop.closures)


def assembly_of(model: Model, node: LoopNode) -> Assembly:
    """The loops of a node, for closing them numerically."""
    return model.memo(
        ("assembly", node.number), lambda: Assembly(node.spanning, node.solution.rows, node.solution.size)
    )


def assemble(model: Model, q: Any, fixed: Collection[str] | str = ()) -> Array:
    """The position (..., nq) near `q` in which all loops are closed, to rounding.

    The independent joints stay where they are if the loop can be closed that way; otherwise all its joints
    move, as little as possible. With `fixed`, the joints of these names stay, and all others of the loop
    move. Joints outside loops stay. A state with NaN gives NaN.

    Raises:
        AssemblyError: a loop cannot be closed from there; the message says which, and how far it stays open.
    """
    from kinetree.model import configuration

    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in names:
        model.joint_index(name)
    given = configuration.normalize(model, configuration.read(model, "assemble", "q", q))
    if not model.loops:
        return given
    numbers = configuration.as_floats(given, "assemble: q").reshape(-1, model.nq)
    found = _closed_states(model, numbers, names).reshape(given.shape)
    return found if given.dtype != object else _refined(model, given, found)


def _refined(model: Model, given: Array, found: Array) -> Array:
    """Closed positions in the precision of the given numbers; joints that did not move keep all digits."""
    out = found.astype(object)
    for state in np.ndindex(given.shape[:-1]):
        kept = np.array(found[state] == given[state].astype(float))
        out[state] = np.where(kept, given[state], found[state] + 0 * given[state])
        for node in loop_nodes(model):
            out[state][list(node.q_index)] = node.closed([out[state][k] for k in node.q_index], 6).q
    return out


def _closed_states(model: Model, q: Array, fixed: Collection[str]) -> Array:
    """Closed positions near q (batch, nq); NaN for states that are not finite."""
    out = q.copy()
    finite = np.isfinite(q).all(axis=-1)
    out[~finite] = np.nan
    for node in loop_nodes(model):
        index = list(node.q_index)
        found, error = _closed(assembly_of(model, node), node, q[finite][:, index], _held(model, node, fixed))
        if not np.all(error < CLOSED):
            worst = int(np.argmax(~(error < CLOSED)))
            state = int(np.flatnonzero(finite)[worst])
            raise AssemblyError(_unclosable(model, node, list(found[worst]), fixed, state, len(q)))
        out[np.ix_(finite, index)] = found
    return out


def _held(model: Model, node: LoopNode, fixed: Collection[str]) -> set[int]:
    """The velocities of a node that belong to fixed joints."""
    return {j for m, own in own_joints(node) if model.joint_names[m.body - 1] in fixed for j in own.places}


def _closed(assembly: Assembly, node: LoopNode, q: Array, held: set[int]) -> tuple[Array, Array]:
    """Closed positions and their remaining gaps; the independent joints stay, if none are held."""
    attempts = [[j for j in range(node.solution.width) if j not in held]]
    if not held:
        attempts.insert(0, list(node.solution.dependent))
    found, error = q.copy(), np.full(len(q), np.inf)
    for free in attempts:
        rows = np.flatnonzero(~(error < CLOSED))
        if rows.size and free:
            found[rows], error[rows] = assembly.closed(q[rows], free)
    for row in np.flatnonzero(~(error < CLOSED)):
        x, e = assembly.near(q[row], attempts[-1]) if attempts[-1] else (q[row], np.inf)
        found[row], error[row] = x, e
    return found, error


def _unclosable(
    model: Model, node: LoopNode, q: Sequence[Any], fixed: Collection[str], state: int, states: int
) -> str:
    where = f" in state {state} of the batch" if states > 1 else ""
    held = f" with {', '.join(map(repr, fixed))} held" if fixed else ""
    advice = "hold fewer joints, or others" if fixed else "start nearer to one, as model.neutral() is"
    return (
        f"assemble: {_loop(model, node)} cannot be closed{held}{where}: it stays open by "
        f"{_opening(node, q)}. No position near the given one closes it: {advice}"
    )


def _loop(model: Model, node: LoopNode) -> str:
    return f"loop '{node.solution.name}' of model '{model.name}'"


def _opening(node: LoopNode, q: Sequence[Any]) -> str:
    """How far the loops of a node are open at one position, in words."""
    phi = [abs(np.real(x)) for x in node.closed(q, 0).phi]
    largest: dict[str, float] = {}
    for tie, x in zip(node.solution.rows, phi, strict=True):
        unit = "m" if tie.is_length else "rad"
        largest[unit] = max(largest.get(unit, 0.0), float(x))
    return " and ".join(f"{x:.3g} {unit}" for unit, x in largest.items())


def spanning(model: Model, q: Any, v: Any) -> dict[str, JointState]:
    """The position (..., nq) and velocity (..., nv) of every joint that moves, by name.

    Joints that depend on others, through a loop or as mimic joints, are included:
    `model.spanning(q, v)["rocker"]` has the fields `position` and `velocity`.
    """
    from kinetree.model import configuration

    q, v = configuration.read(model, "spanning", "q", q), configuration.read(model, "spanning", "v", v)
    configuration.require_sound(model, "spanning", q)
    batch = configuration.broadcast("spanning", q.shape[:-1], v.shape[:-1])
    q, v = (np.moveaxis(np.broadcast_to(x, (*batch, x.shape[-1])), -1, 0) for x in (q, v))
    tree = model.spanning_tree
    x, u = q.copy(), np.zeros((tree.nv, *q.shape[1:]), np.result_type(q, v))
    for node in model.nodes:
        rates: Any = [v[k] for k in node.v_index]
        if isinstance(node, LoopNode):
            here = node.closed([q[k] for k in node.q_index], INTEGRATION_STEPS)
            rates = here.velocities(rates)
            for k, value in zip(node.q_index, here.q, strict=True):
                x[k] = value
        for k, value in zip(node.u_index, rates, strict=True):
            u[k] = value
    found = {}
    for body, coupling in zip(tree.bodies, tree.layout.couplings[1:], strict=True):
        if body.joint.nv:
            parts = coupling.positions(x), coupling.velocities(x, u)
            found[body.joint_name] = JointState(*(np.stack(part, axis=-1) for part in parts))
    return found


def integrated(model: Model, node: LoopNode, q: Sequence[Any], dv: Sequence[Any]) -> Sequence[Any]:
    """The coordinates of a node after moving with dv; AssemblyError if it cannot move that far."""
    if not all(map(_is_plain, (*q, *dv))):
        return node.integrate(q, dv)
    x = _moved(node, q, dv)
    for number in node.openness(x):
        where = _first_below(number)
        if where is not None:
            raise AssemblyError(
                f"integrate: {_loop(model, node)} cannot move so far{where[1]}: it would open by "
                f"{_opening(node, _state(x, where[0]))}. Make a smaller step"
            )
    return x


def tangential(model: Model, node: LoopNode, q: Sequence[Any], dv: Sequence[Any]) -> Sequence[Any]:
    """The coordinates of a node after all its joints have moved as dv asks: its loops are not closed."""
    start = node.closed(q)
    return start.moved(start.velocities(dv))


def differing(model: Model, node: LoopNode, q0: Sequence[Any], q1: Sequence[Any]) -> Sequence[Any]:
    """The velocities of a node that lead from q0 to q1: the inverse of `integrated`."""
    v = node.difference(q0, q1)
    if node.has_whole_joints:
        return v
    if not all(map(_is_plain, (*q0, *q1))):
        for _ in range(FEW_ITERATIONS):
            more = node.difference(node.integrate(q0, v), q1)
            v = [a + b for a, b in zip(v, more, strict=True)]
        return v
    for _ in range(ITERATIONS):
        more = node.difference(_moved(node, q0, v), q1)
        done = ~(np.max(np.abs(more), axis=0) > ROUNDING)
        if np.all(done):
            break
        v = [np.where(done, a, a + b) for a, b in zip(v, more, strict=True)]
    return v


def changing(model: Model, node: LoopNode, q: Sequence[Any], v: Sequence[Any]) -> Sequence[Any]:
    """The rates of the coordinates of a node."""
    return node.rate(q, v)


def _is_plain(x: Any) -> bool:
    return isinstance(x, (float, np.ndarray, np.floating)) and np.asarray(x).dtype.kind == "f"


def _moved(node: LoopNode, q: Sequence[Array], dv: Sequence[Array]) -> list[Array]:
    """The closed positions reached from q with velocities dv, in as many parts as each state needs."""
    q, dv = _plain(q), _plain(dv)
    start = node.closed(q)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        units = units_of(node)
        rates = zip(start.velocities(dv), units, strict=True)
        reach = np.max(np.broadcast_arrays(*(np.abs(u / s) for u, s in rates)), axis=0)
        parts = np.nan_to_num(np.clip(np.ceil(reach / LONGEST), 1.0, PARTS), nan=1.0)
        x, step = list(start.q), [d / parts for d in dv]
        for k in range(int(np.max(parts, initial=1.0))):
            further, still = node.integrate(x, step), parts <= k
            x = [_either(still, old, new) for new, old in zip(further, x, strict=True)]
            parts = np.where(_is_open(node, x), 0.0, parts)  # a torn loop stays as it is, to be rejected
        return [_either(parts == 0.0, old, new) for new, old in zip(node.closed(x, 1).q, x, strict=True)]


def _plain(numbers: Sequence[Any]) -> list[Any]:
    """Numbers of one state as floats, which are fastest in Python; those of a batch as they are."""
    return [float(x) for x in numbers] if all(np.ndim(x) == 0 for x in numbers) else list(numbers)


def _either(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`."""
    return np.where(condition, a, b) if np.ndim(a) or np.ndim(condition) else (a if condition else b)


def _is_open(node: LoopNode, q: Sequence[Array]) -> Any:
    """Whether loops are open, for each state of a batch."""
    return np.any([number < 1 for number in node.openness(q)], axis=0)


def units_of(node: LoopNode) -> list[float]:
    """The units of the velocities of all joints: 1 rad, or the size of the loop."""
    found = [1.0] * node.solution.width
    for m, own in own_joints(node):
        for j, kind in zip(own.places, m.joint.rates, strict=True):
            found[j] = node.solution.size if kind == "length" else 1.0
    return found


def walked(model: Model, node: LoopNode, targets: Array, rng: np.random.Generator) -> Array:
    """Closed positions (batch, nq of the node) towards targets, by walks from the reference.

    A walk stops before a dead point, or where a dependent joint would exceed its limits. The result is then a
    random position on the way there.
    """
    assembly, closing = assembly_of(model, node), node.solution
    units = np.array(units_of(node))
    q = np.repeat(np.array(node.reference, dtype=float)[None], len(targets), axis=0)
    way = (assembly.apart(q, targets) * units)[:, list(closing.independent)]
    far = units[list(closing.independent)]
    way = np.clip(way, -np.pi * far, np.pi * far) / STEPS
    lower, upper = _limits(model, node)
    going = np.arange(len(q))
    way_there, done = [q.copy()], np.zeros(len(q), dtype=int)
    for _ in range(STEPS):
        u = np.stack(np.broadcast_arrays(*node.closed(list(q[going].T), 0).velocities(way[going].T)), axis=-1)
        ahead = assembly.moved(q[going], u / units)
        found, error = assembly.closed(ahead, closing.dependent)
        jump = np.max(np.abs(assembly.apart(ahead, found)), axis=-1)
        lively = node.closed(list(found.T), 0).factors.lively(closing.pivots)
        alive = np.min(np.broadcast_arrays(*map(np.abs, lively)), axis=0)
        fine = (error < CLOSED) & (jump < LONGEST) & (alive > ALIVE)
        fine &= ((found >= lower) & (found <= upper)).all(axis=-1)
        going = going[fine]
        q[going] = found[fine]
        done[going] += 1
        way_there.append(q.copy())
    back = np.where(done < STEPS, (rng.random(len(q)) * (done + 1)).astype(int), STEPS)
    return np.stack(way_there)[back, np.arange(len(q))]


def _limits(model: Model, node: LoopNode) -> tuple[Array, Array]:
    """Limits of the coordinates of a node; none for a joint that exceeds its limits in the reference."""
    lower, upper = (np.full(len(node.q_index), x) for x in (-np.inf, np.inf))
    tree = model.spanning_tree
    (places, _), limits = tree.coordinate_places, tree.limits
    velocity = dict(zip(places["q"].tolist(), places["v"].tolist(), strict=True))
    for k, (place, x) in enumerate(zip(node.q_index, node.reference, strict=True)):
        if place in velocity:
            low, high = limits.lower[velocity[place]], limits.upper[velocity[place]]
            if low <= x <= high:
                lower[k], upper[k] = low, high
    return lower, upper


def refuse_open(model: Model, node: Node, q: Sequence[Any], caller: str = "") -> None:
    """AssemblyError if a loop of a node is open at q, SingularError if it is at a dead point.

    q holds the coordinates of the node: numbers, or arrays for a batch. NaN passes.
    """
    if not isinstance(node, LoopNode):
        return
    for number in node.openness(q):
        where = _first_below(number)
        if where is not None:
            state, words = where
            here = _state(q, state)
            raise AssemblyError(
                f"{caller}{_loop(model, node)} is open by {_opening(node, here)}{words}: give a closed one, "
                f"as model.assemble(q) makes it{_near_death(model, node, here)}"
            )
    for number in node.deadness(q):
        where = _first_below(number)
        if where is not None:
            state, words = where
            raise SingularError(
                f"{caller}{_loop(model, node)} is at a dead point of "
                f"{_names(model, node, node.solution.independent)}{words}: these velocities do not say how "
                f"the others move. {_better(model, node, _state(q, state))}"
            )


def _near_death(model: Model, node: LoopNode, q: Sequence[float]) -> str:
    """The message for a position next to a dead point, where small steps open a loop."""
    if min(map(abs, node.closed(q, 0).factors.lively(node.solution.pivots))) > DYING:
        return ""
    names = _names(model, node, node.solution.independent)
    return f". It is next to a dead point of {names}, which cannot go beyond it. {_better(model, node, q)}"


def _first_below(number: Any) -> tuple[tuple[int, ...], str] | None:
    """The first state of a batch whose soundness is known to be below 1, and words for it."""
    if not isinstance(number, (int, float, complex, np.ndarray, np.generic)):
        return None
    value = np.real(np.asarray(number))
    if value.dtype == object or not np.any(value < 1):
        return None
    state = tuple(int(k) for k in np.argwhere(value < 1)[0])
    return state, f" in state {state[0] if len(state) == 1 else state} of the batch" if value.size > 1 else ""


def _state(q: Sequence[Any], state: tuple[int, ...]) -> list[float]:
    """One state of a batch of coordinates of a node."""
    arrays = np.broadcast_arrays(*(np.real(x) for x in q))
    return [float(x[state]) for x in arrays]


def _names(model: Model, node: LoopNode, velocities: Collection[int]) -> str:
    """The joints that velocities of a node belong to."""
    found = (m.body for m, own in own_joints(node) if not set(velocities).isdisjoint(own.places))
    return ", ".join(repr(model.joint_names[body - 1]) for body in found)


def _better(model: Model, node: LoopNode, q: Sequence[float]) -> str:
    """The advice for a dead point: independent joints that avoid it."""
    assembly = Assembly(node.spanning, node.solution.rows, node.solution.size)
    _, K = assembly.rows(np.array(q)[None])
    choice = Choice(K, np.ones(K.shape[-1]))
    if choice.is_complete and choice.rank == len(node.solution.rows):
        others = [j for j in range(node.solution.width) if j not in choice.columns]
        names = _names(model, node, others)
        return f"Choose others, add_loop(..., independent=({names},)), or keep away from here"
    return "It is one for any choice of independent joints: keep away from here"
