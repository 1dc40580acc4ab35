"""The letters of the spatial operator algebra at one state of a model.

Vectors over bodies are stacked node by node, parents first, six numbers for each body in its own axes,
angular first; a node that holds several bodies (a link with its rotors, a mimic group) is a block of 6k.
Vectors over coordinates are in the order of v.

Reference: Jain (2011); Jain (2024) part 4. There bodies are numbered from the tip, so phi is lower
triangular; here parents come first, and phi is upper triangular. Nothing else changes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ShapeError
from kinetree.interpreters.eager import CoordinateInput, EagerSweep
from kinetree.interpreters.results import Handle
from kinetree.model import Model
from kinetree.model.node import stacked
from kinetree.model.topology import Topology
from kinetree.soa.alphabet import EFFORTS, VELOCITIES, Space
from kinetree.soa.blocks import WORLD, Blocks, Solver, as_diagonal, as_rows
from kinetree.soa.fields import Fields
from kinetree.soa.letters import Alphabet
from kinetree.soa.operator import Letter, Operator
from kinetree.soa.trees import TreeHome, stacked_slices
from kinetree.spatial import Force, Motion, Stack

Array = np.ndarray


def operators(model: Model, q: Any, v: Any = None) -> SpatialOperators:
    """The spatial operators of a model at positions q and, for `V`, `a` and `b`, velocities v.

        op = operators(model, q)
        op.H @ op.phi @ op.M @ op.phi.T @ op.H.T

    is the mass matrix as a product of operators: `@` with a vector costs O(N), `.dense()` gives the numbers,
    `.inverse`, `.simplify()` and `.derivation()` rewrite it by the rules of the algebra.

    Args:
        q: positions of the joints, (nq,): one state, no batch.
        v: velocities, (nv,).

    Raises:
        ShapeError: if q or v has the wrong shape.
        SingularError: at the first use of P, D and what follows from them, if a joint moves no inertia.

    Reference: Jain (2011); Jain (2024) part 4.
    """
    state = _vector(model, "q", q, model.nq)
    return SpatialOperators(model, state, None if v is None else _vector(model, "v", v, model.nv))


def _vector(model: Model, name: str, value: Any, size: int) -> Array:
    given = np.asarray(value)
    if given.dtype.kind not in "fiub":
        raise ShapeError(f"operators: {name} holds {given.dtype} values, but real numbers are needed")
    array = np.array(given, float)
    if array.shape != (size,):
        raise ShapeError(
            f"operators: {name} has shape {array.shape} but model {model.name!r} needs ({size},), one state: "
            f"{model.describe_coordinates(velocities=name == 'v')}."
        )
    return _constant(array)


def _constant(array: Array) -> Array:
    array.flags.writeable = False
    return array


class Noise(NamedTuple):
    """Samples of the process that the operators filter; one column each."""

    w: Array  # noise added at each body, with covariance M
    x: Array  # the state accumulated at each body: phi w
    y: Array  # the measurement at the joints: H x
    innovations: Array  # the innovations of y: (1 - H psi K) y


class SpatialOperators(Alphabet, TreeHome):
    """Spatial operators of one model at one state, each computed on first use.

    The letters are attributes: `E_phi phi phi_tilde H M E R P U D G K tau taubar E_psi psi psi_tilde Omega
    Upsilon`, about the world origin `O E_I phi_I H_I M_I`, and `B(frames)`.
    """

    def __init__(self, model: Model, q: Array, v: Array | None = None):
        super().__init__()
        self.model, self.q, self.v = model, q, v
        self.topology = Topology([node.predecessor[0] + 1 for node in model.nodes])
        self._parts = stacked_slices([6 * len(node.members) for node in model.nodes])
        self._carriers = tuple(self._body(*node.predecessor) for node in model.nodes)
        self._tree = EagerSweep(model)
        self._fields = Fields(self._tree, CoordinateInput(self._tree, q.tolist(), "q_index"))
        self.blocks = Blocks(self._found, self._frame)
        self._coordinates = tuple(_index(node.v_index) for node in model.nodes)

    def _body(self, node: int, member: int) -> slice:
        """The place of one body in vectors over bodies."""
        if node < 0:
            return WORLD
        start = self._parts[node].start + 6 * member
        return slice(start, start + 6)

    def places(self, space: Space) -> tuple[Any, ...]:
        if space in (VELOCITIES, EFFORTS):
            return self._coordinates
        return self._parts if space.is_stacked else stacked_slices([6] * max(1, len(space.of)))

    def _found(self, name: str) -> list[Any]:
        """The matrices of a field of the tree."""
        handles = [Handle(k) for k in range(len(self.model.nodes))]
        if name == "Y":
            return [self._compliance(i) for i in handles]
        field = getattr(self._fields, name)
        if name in ("S", "S_I", "U"):
            made = [as_rows(field[i], len(self.model.nodes[i.node].v_index)) for i in handles]
        elif name == "D":
            return [Solver(field[i]) for i in handles]
        else:
            made = [(as_rows if name in "XN" else as_diagonal)(field[i]) for i in handles]
        return [_constant(block) for block in made]

    def _compliance(self, i: Handle) -> Array:
        _ = self._fields.compliances
        width = len(self.model.nodes[i.node].members)
        columns = []
        for unit in np.eye(6 * width):
            forces = [Force.from_components(unit[6 * k : 6 * k + 6].tolist()) for k in range(width)]
            columns.append(_flat(self._fields.compliance(i, stacked(forces))))
        return _constant(np.array(columns).T)

    def _frame(self, name: str) -> tuple[slice, Array]:
        body, X = self.model.frame(name)
        return self._body(*self.model.location(body)) if body else WORLD, np.array(X.matrix(), float)

    def B(self, frames: Any) -> Letter:
        """Forces at frames, in their axes, as forces on bodies. Its transpose gives the motions of frames."""
        letter = super().B(frames)
        for name in letter.args:
            self.model.frame(name)  # raises for an unknown frame
        return letter

    def node(self, body: str | int) -> int:
        """The number, from 1, of the node that holds a body: for blocks such as Omega(i, j)."""
        return self.model.location(body)[0] + 1

    # -- blocks of Omega

    def block(self, A: Operator, i: int, j: int) -> Array:
        if not (isinstance(A, Letter) and A.name == "Omega"):
            return super().block(A, i, j)
        left, right = (np.eye(self._node(A.rows, k).stop - self._node(A.rows, k).start) for k in (i, j))
        return self._omega(i, left, j, right)

    def between(self, A: Letter, B: Letter) -> Array:
        if A.name != "Omega":
            return super().between(A, B)
        parts = []
        for name in B.args:
            place, X = self._frame(name)
            i = self.node(self.model.frame(name)[0]) if place is not WORLD else 0
            if i:
                part = self._parts[i - 1]
                whole = np.zeros((part.stop - part.start, 6))
                whole[place.start - part.start : place.stop - part.start] = X.T
                X = whole
            parts.append((i, X))
        return np.block([[self._omega(i, x, j, y) for j, y in parts] for i, x in parts])

    def _omega(self, i: int, left: Array, j: int, right: Array) -> Array:
        """left^T Omega(i, j) right, by the nearest node a that carries both: O(d).

        Omega(i, j) = psi^T(i, a) Upsilon(a) psi(a, j)        zero if only the world carries both.

        Omega = Upsilon + psi_tilde^T Upsilon + Upsilon psi_tilde holds for serial chains alone.
        """
        a = self.topology.common_ancestor(i, j) if i and j else 0
        if a == 0:
            return np.zeros((left.shape[1], right.shape[1]))
        left, right = self.carried(self.psi, i, a, left), self.carried(self.psi, j, a, right)
        return left.T @ self.blocks.Y[a - 1] @ right

    # -- velocities

    @cached_property
    def _moving(self) -> tuple[Array, Array, Array, tuple[Array, ...]]:
        """V, a, b, and the apparent derivatives of S."""
        if self.v is None:
            raise ShapeError("operators: V, a and b depend on velocities: call operators(model, q, v)")
        tree, q = self._tree, self._fields.q
        v = CoordinateInput(tree, self.v.tolist(), "v_index")
        (V,) = tree.fields(Motion)
        found: tuple[list[Array], ...] = ([], [], [], [])
        for i in tree.outward():
            X, S, ring = tree.joint(i, q[i], v[i])
            own = S @ v[i]
            V[i] = X @ V[tree.parent(i)] + own
            momentum = tree.inertia(i) @ V[i]
            parts = (V[i], V[i].cross(own) + ring @ v[i], V[i].cross_star(momentum))
            for place, value in zip(found, (*map(_flat, parts), as_rows(ring, len(v[i])))):
                place.append(value)
        whole = [_constant(np.concatenate([np.zeros(0), *parts])) for parts in found[:3]]
        return whole[0], whole[1], whole[2], tuple(found[3])

    @property
    def V(self) -> Array:
        """The velocities of the bodies, phi^T H^T v."""
        return self._moving[0]

    @property
    def a(self) -> Array:
        """Coriolis accelerations: V x S v, plus the apparent derivative of S times v."""
        return self._moving[1]

    @property
    def b(self) -> Array:
        """Gyroscopic forces: V x* M V."""
        return self._moving[2]

    @property
    def ring(self) -> tuple[Array, ...]:
        """The apparent derivative of S of each node along v."""
        return self._moving[3]

    # -- filtering

    def noise(self, rng: np.random.Generator, count: int) -> Noise:
        """Samples of the process whose Kalman filter the operators form.

            x = E_phi x + w        y = H x        w independent from body to body, with covariance M

        The covariance of x has the blocks R, that of y is the mass matrix, and that of the innovations is D.

        Reference: Jain (2024) part 4 (why Lyapunov; covariance of the mass matrix).
        """
        w = np.zeros((self.size(self.M.rows), count))
        for place, M in zip(self._parts, self.blocks.I, strict=True):
            values, vectors = np.linalg.eigh(M)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            w[place] = root @ rng.normal(size=(len(M), count))
        x = self.phi @ w
        y = self.H @ x
        return Noise(w, x, y, (1 - self.H @ self.psi @ self.K) @ y)

    def __repr__(self) -> str:
        count = sum(len(node.members) for node in self.model.nodes)
        return (
            f"<spatial operators of model {self.model.name!r}: {len(self.model.nodes)} nodes, {count} moving "
            f"parts, {self.model.nv} velocities>"
        )


def _index(places: tuple[int, ...]) -> slice | list[int]:
    """A slice if the entries are contiguous, else a list."""
    start = places[0] if places else 0
    stop = start + len(places)
    return slice(start, stop) if places == tuple(range(start, stop)) else [*places]


def _flat(value: Any) -> Array:
    """The numbers of motions or forces, body by body."""
    parts = value.values if isinstance(value, Stack) else (value,)
    return np.array([x for part in parts for x in part.components], float)
