"""The letters of the spatial operator algebra at one state of a model.

Vectors over bodies are stacked node by node, parents first, six numbers for each body in its own axes,
angular first; a node that holds several bodies (a link with its rotors, a mimic group) is a block of 6k.
Vectors over coordinates are in the order of v.

Reference: Jain (2011); Jain (2024) part 4. There bodies count from the tip, so that phi is
lower triangular; here parents come first, and phi is upper triangular. Nothing else changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.errors import ShapeError
from kinetree.model import Model
from kinetree.soa.influence import InfluenceMatrix, OperationalSpace
from kinetree.soa.kinematics import cross, cross_star, node_matrices, partial_matrices
from kinetree.soa.operator import Diagonal, Operator, Space, Sparse

Array = np.ndarray


def operators(model: Model, q: Any, v: Any = None) -> SpatialOperators:
    """The spatial operators of a model at positions q and, for `V`, `a` and `b`, velocities v.

        op = operators(model, q)
        op.H @ op.phi @ op.M @ op.phi.T @ op.H.T

    is the mass matrix as a product of operators: `@` with a vector costs O(N), `.dense()` gives the numbers.

    Args:
        q: positions of the joints, (nq,): one state, no batch.
        v: velocities, (nv,).

    Raises:
        ShapeError: if q or v has another shape.
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


class SpatialOperators:
    """Spatial operators of one model at one state, each found when it is first asked for."""

    def __init__(self, model: Model, q: Array, v: Array | None = None):
        self.model, self.q, self.v = model, q, v
        parts = [node_matrices(node, q) for node in model.nodes]
        self._S = [S for _, S, _ in parts]
        self._inertias = [I for _, _, I in parts]
        blocks = []
        for node, (X, _, _) in zip(model.nodes, parts):
            p, member = node.predecessor
            width = len(model.nodes[p].members) if p >= 0 else 1
            block = np.zeros((len(X), 6 * width))
            block[:, 6 * member : 6 * member + 6] = X
            blocks.append(block)
        parents = [node.predecessor[0] + 1 for node in model.nodes]
        self._shift = InfluenceMatrix(parents, blocks, names="E_phi.T phi.T")
        self._bodies = self._shift.space
        self._coordinates = Space("coordinates", (node.v_index for node in model.nodes))
        self._world = Space.stacked("the world", [6])

    # --- the tree --------------------------------------------------------------------------------------
    @cached_property
    def E_phi(self) -> Operator:
        """Forces carried to the body next inboard: E_phi(p(i), i) = X_i^T."""
        return self._shift.Phi.T

    @cached_property
    def phi(self) -> Operator:
        """Forces of all bodies outboard, gathered: (1 - E_phi)^-1. Its transpose scatters motions."""
        return self._shift.Psi.T

    @cached_property
    def phi_tilde(self) -> Operator:
        """phi - 1 = E_phi phi."""
        return (self.E_phi @ self.phi).named("phi_tilde")

    @cached_property
    def H(self) -> Diagonal:
        """Forces along the joints, diag(S_i^T). Its transpose makes motions of velocities."""
        return Diagonal(self._coordinates, self._bodies, tuple(S.T for S in self._S), name="H")

    @cached_property
    def M(self) -> Diagonal:
        """The inertias of the bodies."""
        return Diagonal(self._bodies, self._bodies, tuple(self._inertias), name="M")

    @cached_property
    def E(self) -> Sparse:
        """The root bodies, picked off and carried to the world: a wrench on the world of forces on the roots.

        E^T g is the gravity of a pseudo-acceleration; E R E^T the inertia of the whole.
        """
        roots = [i for i, node in enumerate(self.model.nodes) if node.predecessor[0] < 0]
        entries = tuple((0, i, self._shift.blocks[i].T) for i in roots)
        return Sparse(self._world, self._bodies, entries, name="E")

    def B(self, frames: str | Sequence[str]) -> Sparse:
        """Forces at frames, in their axes, as forces on bodies. Its transpose picks the motions of frames."""
        names = [frames] if isinstance(frames, str) else list(frames)
        entries = []
        for k, name in enumerate(names):
            body, X = self.model.frame(name)
            i, member = self.model.location(body)
            if i >= 0:
                block = np.zeros((self._bodies.sizes[i], 6))
                block[6 * member : 6 * member + 6] = np.array(X.matrix(), float).T
                entries.append((i, k, block))
        space = Space.stacked(f"frames {', '.join(map(str, names))}", [6] * len(names))
        return Sparse(self._bodies, space, tuple(entries), name="B")

    def node(self, body: str | int) -> int:
        """The number, from 1, of the node that holds a body: for blocks such as Omega(i, j)."""
        return self.model.location(body)[0] + 1

    # --- locked joints: composite bodies ---------------------------------------------------------------
    @cached_property
    def R(self) -> Diagonal:
        """Composite inertias: M = R - E_phi R E_phi^T (Lyapunov)."""
        return self._shift.gathered(self.M).named("R")

    # --- free joints: articulated bodies ---------------------------------------------------------------
    def _on_bodies(self, name: str, blocks: Iterable[Array]) -> Diagonal:
        return Diagonal(self._bodies, self._bodies, tuple(blocks), name=name)

    @cached_property
    def P(self) -> Diagonal:
        """Articulated inertias: M = P - E_psi P E_psi^T (Riccati)."""
        found = of.articulated_inertias(self.model, self.q, target="eager")
        blocks = [inertia.copy() for inertia in self._inertias]
        for node, block in zip(self.model.nodes, blocks):
            for k, member in enumerate(node.members):
                if member.body:  # nothing hangs on rotors and armatures
                    block[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = found[member.body - 1]
        return self._on_bodies("P", blocks)

    @cached_property
    def D(self) -> Diagonal:
        """Articulated inertias along the joints: D = H P H^T."""
        blocks = tuple(S.T @ P @ S for S, P in zip(self._S, self.P.blocks))
        return Diagonal(self._coordinates, self._coordinates, blocks, name="D")

    @cached_property
    def G(self) -> Diagonal:
        """Kalman gains: G = P H^T D^-1."""
        parts = zip(self._S, self.P.blocks, self.D.blocks)
        blocks = tuple(np.linalg.solve(D, S.T @ P).T for S, P, D in parts)
        return Diagonal(self._bodies, self._coordinates, blocks, name="G")

    @cached_property
    def K(self) -> Sparse:
        """Gains at the body next inboard: K = E_phi G."""
        shift = self._shift
        entries = tuple((p, i, shift.blocks[i].T @ self.G.blocks[i]) for i, p in shift.edges)
        return Sparse(self._bodies, self._coordinates, entries, name="K")

    @cached_property
    def tau(self) -> Diagonal:
        """Projections on what a joint lets through: tau = G H."""
        return self._on_bodies("tau", (G @ S.T for G, S in zip(self.G.blocks, self._S)))

    @cached_property
    def taubar(self) -> Diagonal:
        """Projections on what passes a free joint: 1 - tau."""
        return self._on_bodies("taubar", (np.eye(len(tau)) - tau for tau in self.tau.blocks))

    @cached_property
    def _articulated(self) -> InfluenceMatrix:
        blocks = [taubar.T @ X for taubar, X in zip(self.taubar.blocks, self._shift.blocks)]
        return InfluenceMatrix(self._shift.topology.parents, blocks, names="E_psi.T psi.T")

    @cached_property
    def E_psi(self) -> Operator:
        """Forces carried past a free joint: E_psi = E_phi taubar."""
        return self._articulated.Phi.T

    @cached_property
    def psi(self) -> Operator:
        """(1 - E_psi)^-1: as phi, with free joints on the way."""
        return self._articulated.Psi.T

    @cached_property
    def psi_tilde(self) -> Operator:
        """psi - 1 = E_psi psi."""
        return (self.E_psi @ self.psi).named("psi_tilde")

    # --- the mass matrix and its inverse ---------------------------------------------------------------
    @cached_property
    def mass_matrix(self) -> Operator:
        """(1 + H phi K) D (1 + H phi K)^T, equal to H phi M phi^T H^T."""
        L = 1 + self.H @ self.phi @ self.K
        return L @ self.D @ L.T

    @cached_property
    def inverse_mass_matrix(self) -> Operator:
        """(1 - H psi K)^T D^-1 (1 - H psi K)."""
        W = 1 - self.H @ self.psi @ self.K
        return W.T @ self.D.inverse @ W

    @cached_property
    def Upsilon(self) -> Diagonal:
        """The blocks on the diagonal of Omega: Y_i = psi^T(i, p) Y_p psi(p, i) + S_i D_i^-1 S_i^T."""
        own = [S @ inverse @ S.T for S, inverse in zip(self._S, self.D.inverse.blocks)]
        return self._articulated.scattered(self._on_bodies("", own)).named("Upsilon")

    @cached_property
    def Omega(self) -> OperationalSpace:
        """Accelerations of bodies by forces on bodies: phi^T H^T M^-1 H phi = psi^T H^T D^-1 H psi.

        `Omega(i, j)` finds one block in O(d), and `Omega.between(B)` what frames feel, B^T Omega B, inverse
        of `kinetree.operational_space_inertia`, in O(N + m^2 d).
        """
        factors = (self.psi.T, self.H.T, self.D.inverse, self.H, self.psi)
        space = self._bodies
        return OperationalSpace(space, space, factors, self._articulated, self.Upsilon, name="Omega")

    # --- velocities ------------------------------------------------------------------------------------
    def _velocities(self) -> Array:
        if self.v is None:
            raise ShapeError("operators: V, a and b depend on velocities: call operators(model, q, v)")
        return self.v

    @cached_property
    def V(self) -> Array:
        """The velocities of the bodies, phi^T H^T v."""
        return _constant(self.phi.T @ (self.H.T @ self._velocities()))

    @cached_property
    def a(self) -> Array:
        """Coriolis accelerations: V x S v, and what S changes by itself."""
        v = self._velocities()
        result = cross(self.V, self.H.T @ v)
        for node, place in zip(self.model.nodes, self._bodies.index):
            own = v[list(node.v_index)]
            for rate, partial in zip(own, partial_matrices(node, self.q)):
                result[place] += rate * (partial @ own)
        return _constant(result)

    @cached_property
    def b(self) -> Array:
        """Gyroscopic forces: V x* M V."""
        return _constant(cross_star(self.V, self.M @ self.V))

    def __repr__(self) -> str:
        count = sum(len(node.members) for node in self.model.nodes)
        return (
            f"<spatial operators of model {self.model.name!r}: {len(self.model.nodes)} nodes, {count} moving "
            f"parts, {self.model.nv} velocities>"
        )
