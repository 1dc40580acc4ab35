"""Numerical analysis of loops: closed positions, independent rows, and dependent velocities.

Rows from a file are often redundant (a planar loop closed by a ball joint has one row too many), some only to
the digits of the file. Ranks are decided here, once, over sampled positions in which the loop is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from kinetree.errors import AssemblyError, ModelError
from kinetree.joints import CoordinateJoint
from kinetree.model.carried import Motions
from kinetree.model.closed import reached
from kinetree.model.coupling import Own
from kinetree.model.limbs import steady_axes
from kinetree.model.node import Node
from kinetree.model.pivoting import Choice
from kinetree.model.ties import Tie

Array = np.ndarray

CLOSED = 1e-12  # in units of the loop's size
SLACK = 1e-3  # rows that seemed redundant contradict the others if they open by more than this
SAMPLES, TRIES, ITERATIONS, SOON = 24, 40, 80, 20  # samples that do not close in SOON iterations are dropped
STRIDES, STRIDE = 6, 0.1  # number and length (rad or sizes) of the steps over which dropped rows are checked
NEARBY = 0.5  # a position further from the tangent, in strides, may belong to another solution
PATIENCE = 12  # iterations without progress before giving up
WEAKEST = 1e-7  # singular values below this fraction of the largest count as zero
NEARLY = 0.1  # rows that agree with others to this fraction are redundant in a sound mechanism
LONGEST = 0.3  # longest step towards a closed position, rad or sizes
WILLING = 10.0  # weight of ball velocities, not rates of coordinates: dependent unless much worse
UNWILLING = 1e-6  # weight of preferred joints: independent unless there is no other choice
ALIVE = 1e-2  # pivots at the reference are at least this fraction of their usual size
NEAR_BASE = 0.3  # weight of joints next to the base: independent unless others are that much better


class Assembly:
    """A spanning node with rows to be closed, evaluated on arrays of positions (batch, nq of the node)."""

    def __init__(self, node: Node, ties: Sequence[Tie], size: float, given: Sequence[Tie] = ()):
        """given: all rows, of which the ties are those that are kept."""
        self.node, self.ties, self.size, self.given = node, ties, size, given or ties
        self.members = reached(node, ties)
        self.units = np.array([tie.unit for tie in ties])
        self.scales = np.ones(len(node.v_index))  # of the velocities
        for m in node.members:
            if m.body and isinstance(m.coupling, Own):
                for k, kind in enumerate(m.joint.rates):
                    self.scales[m.coupling.v_start + k] = size if kind == "length" else 1.0

    def rows(self, q: Array, dependent: Collection[int] = ()) -> tuple[Array, Array]:
        """phi (batch, rows) and K (batch, rows, velocities), both in units of the loop.

        If `dependent` velocities are given, K is the one that is factored to solve for them.
        """
        batch, width = len(q), len(self.node.v_index)
        steady = steady_axes(self.node, self.given, dependent)
        motions = Motions(self.node, self.members, list(q.T), steady=steady)
        phi, K = np.zeros((batch, len(self.ties))), np.zeros((batch, len(self.ties), width))
        for r, tie in enumerate(self.ties):
            jet, columns = tie.row(motions)
            phi[:, r] = jet[0]
            for j, column in columns.items():
                K[:, r, j] = column[0]
        return phi / self.units, K * self.scales / self.units[:, None]

    def moved(self, q: Array, u: Array) -> Array:
        """q after its joints have moved with the velocities u (batch, velocities), in units of the loop."""
        out, u = q.copy(), u * self.scales
        for m in self.node.members:
            own = m.coupling
            if m.body and isinstance(own, Own) and own.nq:
                places = slice(own.q_start, own.q_start + own.nq)
                step = tuple(u[:, own.v_start + k] for k in range(own.nv))
                out[:, places] = np.array(m.joint.integrate(tuple(q[:, places].T), step)).T
        return out

    def apart(self, q0: Array, q1: Array) -> Array:
        """The velocities (batch, velocities) that lead from q0 to q1, in units of the loop."""
        out = np.zeros((len(q0), len(self.node.v_index)))
        for m in self.node.members:
            own = m.coupling
            if m.body and isinstance(own, Own) and own.nv:
                places = slice(own.q_start, own.q_start + own.nq)
                step = m.joint.difference(tuple(q0[:, places].T), tuple(q1[:, places].T))
                out[:, own.v_start : own.v_start + own.nv] = np.stack(np.broadcast_arrays(*step), axis=-1)
        return out / self.scales

    def closed(
        self,
        q: Array,
        free: Sequence[int] | None = None,
        tolerance: float = CLOSED,
        iterations: int = ITERATIONS,
        weakest: float = WEAKEST,
    ) -> tuple[Array, Array]:
        """Closed positions near q, by minimum-norm Newton steps, and the remaining gap of each.

        Directions whose singular value is below `weakest` times the largest are not used.
        """
        free = range(len(self.node.v_index)) if free is None else free
        phi, K = self.rows(q)
        least, idle = np.full(len(q), np.inf), 0
        for _ in range(iterations):
            error = np.abs(phi).max(axis=1, initial=0.0)
            idle = 0 if np.any(error < 0.9 * least) else idle + 1
            least = np.fmin(least, error)
            if np.all(error < 0.01 * tolerance) or idle > PATIENCE:
                break
            step = np.zeros((len(q), len(self.node.v_index)))
            finite = np.isfinite(K).all(axis=(1, 2)) & np.isfinite(phi).all(axis=1)
            inverse = np.linalg.pinv(np.where(finite[:, None, None], K, 0.0)[:, :, list(free)], rcond=weakest)
            step[:, list(free)] = -(inverse @ np.where(finite[:, None], phi, 0.0)[..., None])[..., 0]
            length = np.abs(step).max(axis=1, initial=0.0)
            step *= (LONGEST / np.maximum(length, LONGEST))[:, None]
            trial = self.moved(q, step)
            new_phi, new_K = self.rows(trial)
            better = ~(np.linalg.norm(new_phi, axis=1) >= np.linalg.norm(phi, axis=1)) | (error > 1e-3)
            if not better.any():
                break
            q = np.where(better[:, None], trial, q)
            phi, K = np.where(better[:, None], new_phi, phi), np.where(better[:, None, None], new_K, K)
        return q, np.abs(phi).max(axis=1, initial=0.0)

    def near(
        self, start: Array, free: Sequence[int] | None = None, tolerance: float = SLACK
    ) -> tuple[Array, float]:
        """A closed position near `start`, searched from positions around it if need be, and its gap."""
        starts = self.around(start, free)
        for part in (slice(0, 1), slice(1, 8), slice(8, TRIES)):
            q, error = self.closed(starts[part], free)
            good = np.flatnonzero(error < np.maximum(tolerance * 1e-8, CLOSED))
            good = good if len(good) else np.flatnonzero(error < 0.1 * tolerance)
            if len(good):
                return q[good[0]], float(error[good[0]])
        best = int(np.nanargmin(np.where(np.isfinite(error), error, np.inf)))
        return q[best], float(error[best])

    def around(self, start: Array, free: Sequence[int] | None = None) -> Array:
        """Positions at growing distances from `start`, itself the first, along the free velocities."""
        rng, width = np.random.default_rng(0), len(self.node.v_index)
        u = rng.standard_normal((TRIES, width)) * np.linspace(0.0, 1.5, TRIES)[:, None]
        if free is not None:
            u[:, [j for j in range(width) if j not in free]] = 0.0
        return self.moved(np.repeat(start[None], TRIES, axis=0), u)

    def samples(self, reference: Array) -> Array:
        """Closed positions around `reference`, itself the first."""
        rng = np.random.default_rng(1)
        reach = np.linspace(0.0, 0.7, SAMPLES)[:, None]
        u = rng.uniform(-1.0, 1.0, (SAMPLES, len(self.node.v_index))) * reach
        q, error = self.closed(self.moved(np.repeat(reference[None], SAMPLES, axis=0), u), iterations=SOON)
        return q[(error < 0.1 * SLACK) | (np.arange(SAMPLES) == 0)]


class RigidError(ModelError):
    """A loop that cannot move; `reference` is its closed position, `positions` the same by joint name."""

    reference: tuple[float, ...] = ()
    positions: tuple[tuple[str, tuple[float, ...]], ...] = ()


class Resolved(NamedTuple):
    """How a node with loops is solved, by the places of its rows and of the velocities of all joints."""

    rows: tuple[int, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    pivots: tuple[float, ...]
    reference: tuple[float, ...]
    slack: float  # how far the dropped rows open, in units of the loop
    firmness: float = 1.0  # least singular value of the kept rows over that of all rows, at worst


def resolved(
    assembly: Assembly,
    start: Array,
    required: Collection[int],
    label: Callable[[int], str],
    owner: str,
    preferred: Collection[int] = (),
) -> Resolved:
    """How a node with loops is solved.

    Args:
        start: a position of all joints; the reference is the closed one nearest to it.
        required: velocities that must be independent.
        label: the name of a velocity.
        preferred: velocities that are independent if possible.
    """
    width, rows = len(assembly.node.v_index), len(assembly.ties)
    if width == 0:
        phi, _ = assembly.rows(start[None])
        _refuse_open(assembly, start, float(np.abs(phi).max(initial=0.0)), owner)
        raise RigidError(f"{owner}: none of its joints can move")
    free = [j for j in range(width) if j not in required]
    reference, error = assembly.near(start, free)
    if not error < 0.1 * SLACK and required:
        reference, error = assembly.near(start)
    _refuse_open(assembly, start, error, owner)
    samples = assembly.samples(reference)
    _, K = assembly.rows(samples)
    weights = _weights(assembly.node, required, preferred)
    choice = Choice(K, weights, lambda dependent: assembly.rows(samples, dependent)[1])
    if choice.rank == width:
        rigid = RigidError(
            f"{owner} cannot move: it is over-determined. Its {rows} rows hold all {width} velocities of its "
            "joints. Leave a closure out, or close it by a joint with more freedom"
        )
        rigid.reference = tuple(map(float, reference))
        raise rigid
    if not choice.is_complete or len(required) > width - choice.rank:
        names = ", ".join(map(label, sorted(required)))
        freedom = "1 degree" if width - choice.rank == 1 else f"{width - choice.rank} degrees"
        raise ModelError(
            f"{owner} has {freedom} of freedom, which are not given by {names}: name as many independent "
            "joints, or let kinetree choose"
        )
    pairs = zip(choice.pivots, choice.rows, choice.columns, strict=True)
    pivots = tuple(float(p * assembly.units[r] / assembly.scales[c]) for p, r, c in pairs)
    independent = tuple(j for j in range(width) if j not in choice.columns)
    kept, firmness = (tuple(choice.rows), tuple(choice.columns)), _firmness(K, choice)
    found = Resolved(kept[0], independent, kept[1], pivots, tuple(reference), 0.0, firmness)
    return _settled(assembly, found, samples, owner)


def _firmness(K: Array, choice: Choice) -> float:
    """The smallest singular value of the kept rows over that of all rows (dependent columns), at worst."""
    if len(choice.rows) in (0, K.shape[1]):
        return 1.0
    whole, kept = K[:, :, choice.columns], K[:, choice.rows][:, :, choice.columns]
    least = [np.linalg.svd(part, compute_uv=False)[:, -1] for part in (kept, whole)]
    return float(np.min(least[0] / np.maximum(least[1], WEAKEST)))


def _refuse_open(assembly: Assembly, start: Array, error: float, owner: str) -> None:
    if error < 0.1 * SLACK:
        return
    _refuse_contradiction(assembly, start, owner)
    raise AssemblyError(
        f"{owner} cannot be closed: from where it starts it comes no nearer than "
        f"{error * assembly.size:.3g} m (or {error:.3g} rad). Check its frames and lengths"
    )


def _refuse_contradiction(assembly: Assembly, start: Array, owner: str) -> None:
    """AssemblyError if the remaining gap is one that no motion of the joints changes, here or nearby."""
    q, error = assembly.closed(assembly.around(start), weakest=NEARLY)
    nearest = q[int(np.argmin(np.where(np.isfinite(error), error, np.inf)))]
    phi = assembly.rows(nearest[None])[0][0]
    _, K = assembly.rows(assembly.around(nearest))
    changed = np.abs(phi / np.linalg.norm(phi) @ K).max(axis=1, initial=0.0)
    if not np.median(changed) < NEARLY:
        return
    worst = int(np.argmax(np.abs(phi)))
    apart = float(np.abs(phi[worst]))
    unit = f"{apart * assembly.size:.3g} m" if assembly.ties[worst].is_length else f"{apart:.3g} rad"
    raise AssemblyError(
        f"{owner} cannot be closed: it is over-determined. Rows that no motion of its joints changes stay "
        f"open by {unit}: axes that should be parallel are not, or anchors are not where its joints move. "
        "Correct the frames, or close it by a joint with more freedom"
    )


def _weights(node: Node, required: Collection[int], preferred: Collection[int]) -> Array:
    """The preference of each velocity for being dependent."""
    weights = np.ones(len(node.v_index))
    for m in node.members:
        if m.body and isinstance(m.coupling, Own):
            own = slice(m.coupling.v_start, m.coupling.v_start + m.coupling.nv)
            weights[own] *= NEAR_BASE if m.carrier < 0 else 1.0
            weights[own] *= 1.0 if isinstance(m.joint, CoordinateJoint) else WILLING
    weights[list(preferred)] *= UNWILLING
    weights[list(required)] = 0.0
    return weights


def _settled(assembly: Assembly, found: Resolved, samples: Array, owner: str) -> Resolved:
    """The solution with a reference that closes the kept rows, and the slack of the others."""
    ties = [assembly.ties[r] for r in found.rows]
    kept = Assembly(assembly.node, ties, assembly.size, assembly.given)
    q, error = kept.closed(np.vstack([found.reference, samples]), found.dependent)
    if not error.min() < CLOSED:
        raise AssemblyError(
            f"{owner} cannot be closed where its joints stand: {error[0]:.3g} in units of its size"
        )
    alive = (error < CLOSED) & (_liveliness(kept, found, q) > ALIVE)
    if not alive.any():
        raise ModelError(f"{owner} has dead points wherever it was tried: choose other independent joints")
    best = int(np.argmax(alive))  # the first one that is not at a dead point
    slack = 0.0
    if len(found.rows) < len(assembly.ties):
        phi, _ = assembly.rows(np.vstack([q[error < CLOSED], _walked(kept, found, q[best])]))
        slack = float(np.abs(phi).max(initial=0.0))
    if slack > SLACK:
        raise AssemblyError(
            f"{owner} is over-determined: rows that seem to add nothing to the others open by {slack:.3g} of "
            f"its size ({slack * assembly.size:.3g} m) when it moves. Correct the frames, or close it by a "
            "joint with more freedom"
        )
    return found._replace(reference=tuple(map(float, q[best])), slack=slack)


def _walked(kept: Assembly, found: Resolved, start: Array) -> Array:
    """Positions on several paths from `start`, along which only the kept rows are closed.

    Each step follows the tangent, and is taken only if closing then changes it little: kept rows may have
    other solutions close by, in which the dropped ones are open.
    """
    rng, independent, dependent = np.random.default_rng(2), list(found.independent), list(found.dependent)
    way = rng.uniform(-1.0, 1.0, (SAMPLES, len(independent), 1))
    q, seen = np.repeat(start[None], SAMPLES, axis=0), [start[None]]
    for _ in range(STRIDES):
        _, K = kept.rows(q)
        u = np.zeros((SAMPLES, len(kept.node.v_index)))
        u[:, independent] = way[..., 0]
        u[:, dependent] = -np.linalg.solve(K[:, :, dependent], K[:, :, independent] @ way)[..., 0]
        ahead = kept.moved(q, u * (STRIDE / np.maximum(np.abs(u).max(axis=1), 1.0))[:, None])
        trial, error = kept.closed(ahead, found.dependent, iterations=SOON)
        sound = (error < CLOSED) & (_liveliness(kept, found, trial) > ALIVE)
        sound &= np.abs(kept.apart(ahead, trial)).max(axis=1, initial=0.0) < NEARBY * STRIDE
        q = np.where(sound[:, None], trial, q)
        seen.append(q)
    return np.vstack(seen)


def _liveliness(kept: Assembly, found: Resolved, q: Array) -> Array:
    """The smallest pivot of K_d at each position, relative to its usual size."""
    _, K = kept.rows(q, found.dependent)
    A, least = K[:, :, list(found.dependent)], np.full(len(q), np.inf)
    for k, (pivot, j) in enumerate(zip(found.pivots, found.dependent, strict=True)):
        least = np.minimum(least, np.abs(A[:, k, k]) / (pivot * kept.scales[j] / kept.units[k]))
        divisor = np.where(A[:, k, k] == 0.0, 1.0, A[:, k, k])[:, None, None]
        A = A - A[:, :, k, None] * A[:, k, None, :] / divisor
    return least
