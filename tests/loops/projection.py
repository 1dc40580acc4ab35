"""Models with loops by another way: the open tree, one weld for each closing joint, and multipliers.

A joint that closes a loop is put into the tree, with a body without mass, which is welded to the other
end. So one kind of row does for all joints: the difference of two twists. Their rates are taken by complex
steps, null spaces and multipliers by dense linear algebra. Of the model with loops only its parts are read.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.model.closures import JointClosure, RodClosure
from kinetree.model.parts import Body, Frame, Limits

Array = np.ndarray
STEP = 1e-30


class Welded:
    """The tree of a model with loops, a body more for each closing joint, and rows that close it."""

    def __init__(self, model: kt.Model):
        self.model = model
        self.closures = [closure for loop in model.loops for closure in loop.closures]
        bodies, frames = list(model.bodies), list(model.frames)
        for k, c in enumerate(self.closures):
            if isinstance(c, JointClosure):
                bodies.append(_massless(f"closing{k}", c.body, c.joint, c.placement))
                frames.append(Frame(f"end{k}", c.other, c.other_placement))
            elif isinstance(c, RodClosure):
                frames.append(Frame(f"from{k}", c.body, kt.Pose(p=c.point)))
                frames.append(Frame(f"to{k}", c.other, kt.Pose(p=c.other_point)))
        self.tree = model.remade(loops=(), bodies=tuple(bodies), frames=tuple(frames))
        self.open = model.remade(loops=())
        self.n, self.wide = self.open.nv, self.tree.nv
        dependent = {self._place(joint) + k for loop in model.loops for joint, k in loop.dependent}
        self.independent = [j for j in range(self.n) if j not in dependent]
        self.rest = [j for j in range(self.wide) if j not in self.independent]
        assert len(self.independent) == model.nv

    def _place(self, joint: str) -> int:
        return self.open.coordinate_index(joint).start

    def run(self, name: str, *args: Any, **options: Any) -> Any:
        return getattr(kt, name)(self.tree, *args, target="eager", **options)

    def residual(self, q: Array) -> Array:
        """How far each row is open; for a weld by its rotation vector and its translation."""
        parts: list[Any] = []
        for k, c in enumerate(self.closures):
            if isinstance(c, JointClosure):
                one, other = (self._placed(q, name) for name in (f"closing{k}", f"end{k}"))
                gap = np.linalg.inv(one) @ other
                parts += [rotation_vector(gap[:3, :3]), gap[:3, 3]]
            elif isinstance(c, RodClosure):
                way = self._placed(q, f"to{k}")[:3, 3] - self._placed(q, f"from{k}")[:3, 3]
                parts.append([(way @ way / c.length - c.length) / 2])
            else:
                (x, *_), (y, *_) = self._coordinate(c.body, q), self._coordinate(c.other, q)
                parts.append([x - np.polyval(np.array(c.coefficients, dtype=float)[::-1], y)])
        return np.concatenate([*parts, np.zeros(0)])

    def jacobian(self, q: Array) -> Array:
        """K: the rows per unit of every velocity, where they are closed; q may be complex."""
        parts = []
        for k, c in enumerate(self.closures):
            if isinstance(c, JointClosure):
                one, other = (self._jacobian(q, name) for name in (f"closing{k}", f"end{k}"))
                parts.append(other - one)
            elif isinstance(c, RodClosure):
                way = self._placed(q, f"to{k}")[:3, 3] - self._placed(q, f"from{k}")[:3, 3]
                J = self._jacobian(q, f"to{k}", "aligned") - self._jacobian(q, f"from{k}", "aligned")
                parts.append((way @ J[3:])[None] / c.length)
            else:
                (_, dx), (y, dy) = self._coordinate(c.body, q), self._coordinate(c.other, q)
                slope = np.polyder(np.array(c.coefficients, dtype=float)[::-1])
                parts.append((dx - np.polyval(slope, y) * dy)[None])
        return np.concatenate(parts)

    def _placed(self, q: Array, name: str) -> Array:
        return self.run("frame_placement", q, frame=name)

    def _jacobian(self, q: Array, name: str, reference: str = "body") -> Array:
        return self.run("jacobian", q, frame=name, reference=reference)

    def _coordinate(self, body: int, q: Array) -> tuple[Any, Array]:
        """The one coordinate of a joint, which may follow another, and its rate per unit of each velocity."""
        part, factor, offset = self.tree.bodies[body - 1], 1.0, 0.0
        while part.mimic is not None:
            factor, offset = factor * float(part.mimic.multiplier), offset + factor * float(part.mimic.offset)
            part = self.tree.bodies[self.tree.joint_index(part.mimic.joint) - 1]
        row = np.zeros(self.wide)
        row[self._place(part.joint_name)] = factor
        return factor * q[self.tree.position_index(part.joint_name)][0] + offset, row

    def complete(self, q: Array, rng: np.random.Generator, near: dict[str, Array] | None = None) -> Array:
        """q of the open tree with coordinates for the closing joints, found from those of some closures."""
        added = self.tree.bodies[len(self.open.bodies) :]
        known = {f"closing{k}": (near or {}).get(c.name) for k, c in enumerate(self.closures)}
        best, least = np.zeros(0), np.inf
        for trial in range(60):
            start = [np.array(b.joint.neutral() if trial == 0 else b.joint.random(rng), float) for b in added]
            if trial == 0:
                start = [
                    x if known[b.name] is None else known[b.name] for b, x in zip(added, start, strict=True)
                ]
            found, error = self._closed(np.concatenate([q, *start]), range(self.n, self.wide))
            if error < least:
                best, least = found, error
            if least < 1e-9:
                break
        return best

    def closed(self, q: Array) -> tuple[Array, float]:
        """A closed position near q (of all joints), and how far it is open."""
        return self._closed(q, range(self.wide))

    def _closed(self, q: Array, free: Any) -> tuple[Array, float]:
        phi = self.residual(q)
        error = np.abs(phi).max(initial=0.0)
        for _ in range(40):
            step = np.zeros(self.wide)
            step[free] = -np.linalg.pinv(self.jacobian(q)[:, free], rcond=1e-9) @ phi
            step /= max(1.0, np.abs(step).max(initial=0.0) / 0.4)
            q_new = self.tree.integrate(q, step)
            phi_new = self.residual(q_new)
            error_new = np.abs(phi_new).max(initial=0.0)
            if error < 1e-10 and error_new >= error:
                break
            q, phi, error = q_new, phi_new, error_new
        return q, float(error)


class Kept(Welded):
    """The same for points that meet, by those rows alone that the model keeps.

    Rows that a file makes redundant up to its digits are left out of the model, and contradict the others.
    """

    def __init__(self, model: kt.Model):
        super().__init__(model)
        frames = list(model.frames)
        for k, c in enumerate(self.closures):
            assert c.joint.type_name == "spherical"
            frames += [Frame(f"from{k}", c.body, c.placement), Frame(f"to{k}", c.other, c.other_placement)]
        self.tree = model.remade(loops=(), frames=tuple(frames))
        self.wide = self.n
        self.rest = [j for j in range(self.n) if j not in self.independent]
        self.rows: list[tuple[int, Array, str | None]] = []  # closure, direction, the body that carries it
        first = 0
        for loop in model.loops:
            assert loop.axes
            carrier = self._carrier([end for c in loop.closures for end in c.bodies])
            for k, axis in loop.rows:
                self.rows.append((first + k, np.array(loop.axes[k][axis], float), carrier))
            first += len(loop.closures)

    def _carrier(self, ends: list[int]) -> str | None:
        """The outermost body that carries all of some others; None for the world."""
        bodies, ways = self.model.bodies, []
        for end in ends:
            ways.append({end})
            while end:
                end = bodies[end - 1].parent
                ways[-1].add(end)
        outermost = max(set.intersection(*ways))
        return bodies[outermost - 1].name if outermost else None

    def residual(self, q: Array) -> Array:
        found = []
        for k, axis, carrier in self.rows:
            way = self._placed(q, f"to{k}")[:3, 3] - self._placed(q, f"from{k}")[:3, 3]
            found.append((axis if carrier is None else self._placed(q, carrier)[:3, :3] @ axis) @ way)
        return np.array(found)

    def jacobian(self, q: Array) -> Array:
        found = []
        for k, axis, carrier in self.rows:
            rate = (self._jacobian(q, f"to{k}", "aligned") - self._jacobian(q, f"from{k}", "aligned"))[3:]
            if carrier is None:
                found.append(axis @ rate)
                continue
            way = self._placed(q, f"to{k}")[:3, 3] - self._placed(q, f"from{k}")[:3, 3]
            c, turn = self._placed(q, carrier)[:3, :3] @ axis, self._jacobian(q, carrier, "aligned")[:3]
            found.append(c @ rate + np.cross(c, way) @ turn)  # (w x c) . way = w . (c x way)
        return np.array(found)


class Projection:
    """What a model with loops must give in one state, from its open tree; see the module."""

    def __init__(self, welded: Welded, q: Array, v: Array, a: Array, f_ext: Array | None = None):
        self.welded, self.q, self.v, self.a = welded, q, v, a
        extra = welded.tree.nbodies - welded.open.nbodies
        self.f_ext = None if f_ext is None else np.concatenate([f_ext, np.zeros((extra, 6))])

    def run(self, name: str, *args: Any, **options: Any) -> Any:
        return self.welded.run(name, *args, **options)

    @cached_property
    def K(self) -> Array:
        return self.welded.jacobian(self.q)

    @cached_property
    def condition(self) -> float:
        """How well the dependent velocities follow from the others, |K| |K_d^+|; infinite if they do not."""
        size = np.linalg.svd(self.K[:, self.welded.rest], compute_uv=False)
        width = len(self.welded.rest)
        full = len(size) >= width and size[width - 1] > 0
        return max(1.0, float(np.linalg.norm(self.K, 2) / size[width - 1])) if full else np.inf

    @cached_property
    def blur(self) -> float:
        """By what part of itself G differs between positions that are closed to rounding.

        Rows are sums of lengths and angles, up to L, and so closed to eps L. Along the unit x in which K_d is
        least, by s, this leaves eps L / s of freedom to the position: K changes by d_x K of that, and G by
        1 / s of what K changes.
        """
        if not np.isfinite(self.condition):
            return np.inf
        _, size, Vt = np.linalg.svd(self.K[:, self.welded.rest])
        x = np.zeros(self.welded.wide)
        x[self.welded.rest] = Vt[-1]
        reach = max(1.0, *(np.abs(part).max() for part in (self.q, self.run("placements", self.q))))
        change = self.directed(self.welded.jacobian, x)
        return float(np.finfo(float).eps * reach * np.linalg.norm(change, 2) / size[-1] ** 2)

    @cached_property
    def G(self) -> Array:
        """u = G v of all velocities of the tree."""
        G = np.zeros((self.welded.wide, len(self.welded.independent)))
        G[self.welded.independent] = np.eye(len(self.welded.independent))
        G[self.welded.rest] = self._solved(self.K[:, self.welded.independent])
        return G

    def _solved(self, right: Array) -> Array:
        """The dependent part of what K and a right-hand side make zero; fails if there is none."""
        K = self.K[:, self.welded.rest]
        found = -np.linalg.lstsq(K, right, rcond=None)[0]
        left = float(np.abs(K @ found + right).max(initial=0.0))
        size = 1.0 + float(np.abs(K).max(initial=0)) * float(np.abs(found).max(initial=0))
        assert left < 1e-9 * size, f"the rows contradict each other by {left / size:.1e}"
        return found

    def along(self, function: Any, w: Array) -> Array:
        """The derivative of a function of the tree's q while the model moves with w."""
        return self.directed(function, self.G @ w)

    def directed(self, function: Any, u: Array) -> Array:
        """The same while the joints of the tree move with u."""
        rate = self.welded.tree.rate(self.q, u)
        return np.imag(function(self.q + 1j * STEP * rate)) / STEP

    def G_rate(self, w: Array) -> Array:
        found = np.zeros_like(self.G)
        found[self.welded.rest] = self._solved(self.along(self.welded.jacobian, w) @ self.G)
        return found

    @cached_property
    def u(self) -> Array:
        return self.G @ self.v

    @cached_property
    def Gdot(self) -> Array:
        return self.G_rate(self.v)

    @cached_property
    def du(self) -> Array:
        return self.G @ self.a + self.Gdot @ self.v

    @cached_property
    def M_tree(self) -> Array:
        return self.run("mass_matrix", self.q)

    @cached_property
    def M(self) -> Array:
        return self.G.T @ self.M_tree @ self.G

    @cached_property
    def wrench_tree(self) -> Array:
        return self.run("inverse_dynamics", self.q, self.u, self.du, self.f_ext)

    def multipliers(self, tau: Array) -> tuple[Array, Array]:
        """The accelerations of all joints under forces on the independent ones, and forces of the rows.

        The rows are replaced by orthonormal ones that say the same.
        """
        U, size, Vt = np.linalg.svd(self.K)
        rank = int((size > 1e-9 * size[0]).sum())
        rows = Vt[:rank]
        drift = self.along(self.welded.jacobian, self.v) @ self.u
        wanted = -(U[:, :rank].T @ drift) / size[:rank]
        push = np.zeros(self.welded.wide)
        push[self.welded.independent] = tau
        push -= self.run("bias_force", self.q, self.u, self.f_ext)
        KKT = np.block([[self.M_tree, -rows.T], [rows, np.zeros((rank, rank))]])
        x = np.linalg.solve(KKT, np.concatenate([push, wanted]))
        return x[: self.welded.wide], x[self.welded.wide :]

    @cached_property
    def M_partials(self) -> Array:
        """d M / d q_k, last axis."""
        parts = []
        for e in np.eye(len(self.v)):
            dG, dM = self.G_rate(e), self.along(lambda q: self.run("mass_matrix", q), e)
            half = dG.T @ self.M_tree @ self.G
            parts.append(half + half.T + self.G.T @ dM @ self.G)
        return np.stack(parts, axis=-1) if parts else np.zeros((0, 0, 0))

    @cached_property
    def christoffel(self) -> Array:
        """Christoffel symbols of the first kind, if every velocity is the rate of a coordinate."""
        d = self.M_partials
        return (d + d.transpose(0, 2, 1) - d.transpose(2, 0, 1)) / 2

    @cached_property
    def coriolis(self) -> Array:
        C = self.run("coriolis_matrix", self.q, self.u)
        return self.G.T @ (C @ self.G + self.M_tree @ self.Gdot)


def rotation_vector(R: Array) -> Array:
    """The logarithm of a rotation, small or not."""
    axial = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine, cosine = float(np.linalg.norm(axial)), float(np.trace(R) - 1) / 2
    if sine > 1e-6:
        return axial * (np.arctan2(sine, cosine) / sine)
    if cosine > 0:
        return axial
    return np.pi * np.sqrt(np.maximum((np.diag(R) + 1) / 2, 0))


def _massless(name: str, parent: int, joint: Any, placement: kt.Pose) -> Body:
    zero = (0.0,) * joint.nv
    rest = tuple(float(x) for x in joint.neutral())
    return Body(
        name, parent, joint, name, placement, kt.Inertia(0.0), None, zero, zero, zero, zero, rest, Limits()
    )
