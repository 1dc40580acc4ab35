"""The stacked equations of motion (1) to (18) of Concurrent Dynamics, each with both of its sides.

Everything is in inertial axes. Velocities and accelerations are those of the joints (v = [omega; velocity of
the joint]) or, with a bar, of the centres of mass; accelerations are classical; forces are joint wrenches
about the joints. Phi_D carries motions from each body to its children, Psi_D = (1 - Phi_D)^-1 to all bodies
outboard.

The document has single rotation axes on one root; here joints are of any kind, bodies form forests, and a
group of bodies (a link with its rotors) is one node. Misprints are corrected: the moment balance (9) uses s_i
of the body itself, and constraint forces are G^_i^T F_i.

Reference: Concurrent Dynamics (2017), equations (1) to (19b) and proposition 5.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinetree.alternatives.equations import Equation, equations
from kinetree.errors import ShapeError
from kinetree.interpreters.eager import CoordinateInput, EagerSweep
from kinetree.interpreters.results import Handle
from kinetree.model import Model
from kinetree.soa import InfluenceMatrix
from kinetree.soa.blocks import as_rows
from kinetree.spatial import Detached, Force, Motion, Stack, Subspace, Transform
from kinetree.spatial.vector import add, cross, sym_matrix
from kinetree.textbook.adapters import concurrent as notation

Array = np.ndarray


class _Body(NamedTuple):
    """The quantities of one node (a body, or a group of them)."""

    D: Any  # from the joint of the predecessor to the joint
    G: Any  # the motions of the joint
    inertias: tuple[Any, ...]  # about the joints of its members
    v: Any  # the velocity at the joint
    xi: Any  # Coriolis acceleration, spatial
    turn: Any  # from body axes to inertial axes


class ConcurrentEquations:
    """The equations of a model in the state (q, v), under wrenches F-bar at points of the bodies.

        motion = kt.alternatives.ConcurrentEquations(model, q, v)
        motion.equations(a)             (1) to (18) with their residuals
        motion.forces(a)                F of (15), six rows for each body
        motion.forces_about_com(a)      the same by centres of mass, (13)

    Quantities are stacked body by body: `D` (a list of blocks), `G S Y M M_bar` (matrices), `A A_bar B B_bar
    v v_bar F_bar weight` (columns), `Phi_D Psi_D` (operators), `mass_matrix` and `C` of (18).

    Args:
        f_ext: a wrench [torque; force] on each body in body axes, (nb, 6).
        points: where its force acts, in body axes, (nb, 3); the joints if None.
    """

    def __init__(self, model: Model, q: Any, v: Any = None, f_ext: Any = None, points: Any = None):
        self.model = model
        self.q = _checked(model, "q", q, (model.nq,))
        self.rates = _checked(model, "v", np.zeros(model.nv) if v is None else v, (model.nv,))
        shape = (model.nbodies, 6)
        self._f_ext = _checked(model, "f_ext", np.zeros(shape) if f_ext is None else f_ext, shape)
        shape = (model.nbodies, 3)
        self._points = _checked(model, "points", np.zeros(shape) if points is None else points, shape)
        self._tree = EagerSweep(model)
        self._bodies = self._swept()
        self._coordinates = [list(node.v_index) for node in model.nodes]

    def _swept(self) -> list[_Body]:
        tree = self._tree
        q = CoordinateInput(tree, self.q.tolist(), "q_index")
        rates = CoordinateInput(tree, self.rates.tolist(), "v_index")
        pose, V = tree.fields(Transform, Motion)
        found = []
        for i in tree.outward():
            p = tree.parent(i)
            X, S, ring = tree.joint(i, q[i], rates[i])
            pose[i] = X @ pose[p]
            turn = pose[i].turned_only()
            own = S @ rates[i]
            V[i] = X @ V[p] + own
            xi = turn @ (V[i].cross(own) + ring @ rates[i])
            turned = tree.inertia(i).congruence(turn.inverse())
            D = X.shifted_only(pose[p], pose[i])
            found.append(_Body(D, turn @ S, _each(turned), turn @ V[i], xi, turn))
        return found

    # -- blocks

    @cached_property
    def parts(self) -> list[slice]:
        """The place of each node."""
        ends = np.cumsum([0, *(6 * len(body.inertias) for body in self._bodies)]).tolist()
        return list(map(slice, ends[:-1], ends[1:]))

    @cached_property
    def D(self) -> list[Array]:
        """From the joint of each body's predecessor to its own, [1 0; -d~ 1]."""
        found = []
        for node, body in zip(self.model.nodes, self._bodies, strict=True):
            p, member = node.predecessor
            width = len(self._bodies[p].inertias) if p >= 0 else 1
            block = np.zeros((6 * len(body.inertias), 6 * width))
            block[:, 6 * member : 6 * member + 6] = as_rows(body.D)
            found.append(block)
        return found

    @cached_property
    def _influence(self) -> InfluenceMatrix:
        return InfluenceMatrix([node.predecessor[0] + 1 for node in self.model.nodes], self.D)

    @property
    def Phi_D(self) -> Any:
        """D_i between each body and its parent."""
        return self._influence.Phi

    @property
    def Psi_D(self) -> Any:
        """(1 - Phi_D)^-1."""
        return self._influence.Psi

    @cached_property
    def G(self) -> Array:
        """The motions of the joints."""
        found = np.zeros((self.size, self.model.nv))
        for place, columns, body in zip(self.parts, self._coordinates, self._bodies, strict=True):
            found[place, columns] = as_rows(body.G, len(columns))
        return found

    @property
    def inertias(self) -> list[Any]:
        """The inertia of each moving part about its joint."""
        return [I for body in self._bodies for I in body.inertias]

    @property
    def size(self) -> int:
        return self.parts[-1].stop if self.parts else 0

    def _diagonal(self, make: Any) -> Array:
        found = np.zeros((self.size, self.size))
        for place, body in zip(self.parts, self._bodies, strict=True):
            for k, I in enumerate(body.inertias):
                own = slice(place.start + 6 * k, place.start + 6 * k + 6)
                found[own, own] = make(I)
        return found

    @cached_property
    def S(self) -> Array:
        """From the joints to the centres of mass, [1 0; -s~ 1]."""
        return self._diagonal(lambda I: notation.shift(I.com).matrix())

    @cached_property
    def M_bar(self) -> Array:
        """Inertias about the centres of mass, diag(J_c, m)."""
        return self._diagonal(lambda I: notation.com_centred_inertia(I))

    @cached_property
    def M(self) -> Array:
        """(16): inertias about the joints."""
        made = notation.joint_centred_inertia
        return self._diagonal(lambda I: made(I.mass, I.com, sym_matrix(I.about_com)))

    @cached_property
    def Y(self) -> Array:
        """From the joints to where external forces act, [1 0; -y~ 1]."""
        found = np.eye(self.size)
        for i, body in enumerate(self._members()):
            if body:
                y = self._turned(i, self._points[body - 1])
                found[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = notation.shift(tuple(y)).matrix()
        return found

    # -- columns

    def _members(self) -> list[int]:
        """The body that each group of six rows belongs to; 0 for rotors and armatures."""
        return [member.body for node in self.model.nodes for member in node.members]

    def _turned(self, i: int, vector: Array) -> Array:
        """A vector in body axes, expressed in inertial axes, for the i-th group of six rows."""
        turns = [turn for body in self._bodies for turn in _each(body.turn)]
        return np.array(turns[i].turned(tuple(vector.tolist())), float)

    def _column(self, make: Any) -> Array:
        bodies = self._bodies
        values = [make(I, V) for body in bodies for I, V in zip(body.inertias, _each(body.v), strict=True)]
        return np.array([x for value in values for x in value.components], float)

    @cached_property
    def v(self) -> Array:
        """The velocities at the joints, [omega; velocity]."""
        return self._column(lambda I, V: V)

    @cached_property
    def v_bar(self) -> Array:
        """The velocities of the centres of mass."""
        return self._column(lambda I, V: Motion(V.angular, add(V.linear, cross(V.angular, I.com))))

    @cached_property
    def A(self) -> Array:
        """(5a), for joints of every kind: xi_i + [0; omega x v]_i - D_i [0; omega x v]_p."""
        turning = self._column(lambda I, V: Motion(linear=cross(V.angular, V.linear)))
        xi = [x for body in self._bodies for part in _each(body.xi) for x in part.components]
        return np.array(xi, float) + turning - self.Phi_D @ turning

    @cached_property
    def A_bar(self) -> Array:
        """(2): [0; omega x (omega x s)]."""
        return self._column(lambda I, V: notation.com_offset_acceleration(I, V.angular))

    @cached_property
    def B(self) -> Array:
        """(17): gyroscopic forces about the joints."""
        return self._column(lambda I, V: notation.nonlinear_force(I, V.angular))

    @cached_property
    def B_bar(self) -> Array:
        """Gyroscopic torques about the centres of mass, [omega x J_c omega; 0]."""
        return self._column(lambda I, V: notation.com_nonlinear_force(I, V.angular))

    @cached_property
    def F_bar(self) -> Array:
        """External torques and forces, in inertial axes."""
        found = np.zeros(self.size)
        for i, body in enumerate(self._members()):
            if body:
                moment, force = self._f_ext[body - 1].reshape(2, 3)
                found[6 * i : 6 * i + 6] = [*self._turned(i, moment), *self._turned(i, force)]
        return found

    @cached_property
    def weight(self) -> Array:
        """The forces of gravity at the centres of mass, [0; m g]; an armature has none."""
        g = self.model.gravity
        found = self._column(lambda I, V: Force(linear=tuple(I.mass * x for x in g)))
        apart = [isinstance(part, Detached) for body in self._bodies for part in _each(body.D)]
        return np.where(np.repeat(apart, 6), 0.0, found)

    @cached_property
    def loads(self) -> Array:
        """Y^T F-bar, with the weights at the centres of mass among the external forces."""
        return self.Y.T @ self.F_bar + self.S.T @ self.weight

    # -- what follows

    def accelerations(self, a: Any) -> Array:
        """(7): the accelerations at the joints, Psi_D (G a + A)."""
        return self.Psi_D @ (self.G @ self._given(a) + self.A)

    def accelerations_of_com(self, a: Any) -> Array:
        """(8): the accelerations of the centres of mass."""
        return self.S @ self.accelerations(a) + self.A_bar

    def forces(self, a: Any) -> Array:
        """(15): the wrenches through the joints, Psi_D^T (M v' + B - Y^T F-bar)."""
        return self.Psi_D.T @ (self.M @ self.accelerations(a) + self.B - self.loads)

    def forces_about_com(self, a: Any) -> Array:
        """(13): the same by centres of mass, Psi_D^T (S^T M-bar v-bar' + B-bar - Y^T F-bar)."""
        inertial = self.S.T @ (self.M_bar @ self.accelerations_of_com(a))
        return self.Psi_D.T @ (inertial + self.B_bar - self.loads)

    def actuation(self, a: Any) -> Array:
        """(18a): the forces along the joints, G^T F."""
        return self.G.T @ self.forces(a)

    @cached_property
    def mass_matrix(self) -> Array:
        """(18c): G^T Psi_D^T M Psi_D G."""
        J = self.Psi_D @ self.G
        return J.T @ self.M @ J

    @cached_property
    def C(self) -> Array:
        """(18b): G^T Psi_D^T (M Psi_D A + B - Y^T F-bar)."""
        return self.actuation(np.zeros(self.model.nv))

    def solve(self, f: Any) -> Array:
        """(19a): the accelerations for forces f along the joints."""
        return np.linalg.solve(self.mass_matrix, self._given(f) - self.C)

    def constraint_forces(self, a: Any) -> Array:
        """Proposition 5: G^^T F of each body, along the directions that its joint constrains; (nb, 6).

        The columns of G^ are orthonormal and G^T G^ = 0, so F = G (G^T G)^-1 f + G^ f^c.
        """
        F, found = self.forces(a), np.zeros((self.model.nbodies, 6))
        for k, (place, body) in enumerate(zip(self.parts, self._bodies, strict=True)):
            i, wrenches = Handle(k), F[place].reshape(-1, 6).tolist()
            stack = Stack(map(Force.from_components, wrenches))
            held = _each(self._tree.gathered(i, body.D, stack if len(wrenches) > 1 else stack.values[0]))
            members = self.model.nodes[k].members
            for member, force, blocked in zip(members, held, self._blocked(k), strict=True):
                if member.body:
                    row = notation.constraint_forces(blocked.columns, force)
                    found[member.body - 1, : len(row)] = row
        return found

    def _blocked(self, k: int) -> list[Subspace]:
        """G^ of each member of a node, in inertial axes."""
        node, found = self.model.nodes[k], []
        q = [self.q[n] for n in node.q_index]
        for member, turn in zip(node.members, _each(self._bodies[k].turn), strict=True):
            complement = member.joint.complement(member.coupling.positions(q))
            found.append(turn.between(None, None) @ complement)
        return found

    def equations(self, a: Any) -> list[Equation]:
        """Equations (1) to (18) for the accelerations `a` of the joints, each with its two sides."""
        return equations(self, self._given(a))

    def _given(self, a: Any) -> Array:
        return _checked(self.model, "a", a, (self.model.nv,))

    def __repr__(self) -> str:
        return f"<equations (1) to (18) of Concurrent Dynamics for {self.model.name!r}: {self.size} rows>"


def _each(value: Any) -> tuple[Any, ...]:
    return value.values if isinstance(value, Stack) else (value,)


def _checked(model: Model, name: str, value: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(value, float)
    if array.shape != shape:
        raise ShapeError(
            f"ConcurrentEquations: {name} has shape {array.shape}, but model {model.name!r} needs {shape}"
        )
    return array
