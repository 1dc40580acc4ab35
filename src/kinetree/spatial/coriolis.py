"""The velocity-dependent counterpart of an inertia, B(V, I), from which Coriolis matrices are built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree.spatial import vector as vec
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.matrix import Transposed
from kinetree.spatial.motion import Force, ForceSet, Motion
from kinetree.spatial.stack import Stack
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.value import Tensor, joined
from kinetree.spatial.vector import Matrix, Number, Vector

NOTHING: Matrix = (vec.ZERO, vec.ZERO, vec.ZERO)


class CoriolisInertia(Tensor):
    """B(V, I) = (V x* I + (I V) x-bar* - I V x) / 2: twelve numbers, [T 0; -b~ 0].

    It is linear in V and in I, B V = V x* I V, and B + B^T is the rate of I. For a rigid body
    T = omega~ (J - tr(J)/2) - h~ v~ and b is its linear momentum; sums and changes of frame keep the form.
    """

    __slots__ = ("T_block", "b", "frame")
    is_uniform = is_linear = True

    def __init__(self, T_block: Matrix = NOTHING, b: Vector = vec.ZERO, frame: Any = None):
        self.T_block, self.b, self.frame = T_block, b, frame

    @classmethod
    def of(cls, V: Motion, inertia: Inertia) -> CoriolisInertia:
        """B(V, I), body by body for a group."""
        if isinstance(inertia, Stack):
            motions = V.values  # type: ignore[attr-defined]
            pairs = zip(motions, inertia.values, strict=True)
            return Stack(cls.of(v, i) for v, i in pairs)  # type: ignore[return-value]
        frame = joined(V.frame, inertia.frame, "Coriolis inertia")
        xx, yy, zz, xy, xz, yz = inertia.second
        half = (xx + yy + zz) * 0.5
        moment: Matrix = ((xx - half, xy, xz), (xy, yy - half, yz), (xz, yz, zz - half))
        w, v, h = V.angular, V.linear, inertia.first_moment
        turning = vec.transpose((vec.cross(w, moment[0]), vec.cross(w, moment[1]), vec.cross(w, moment[2])))
        # h~ v~ = v h^T - (h.v) 1
        hv = vec.dot(h, v)
        drift: Matrix = (
            (v[0] * h[0] - hv, v[0] * h[1], v[0] * h[2]),
            (v[1] * h[0], v[1] * h[1] - hv, v[1] * h[2]),
            (v[2] * h[0], v[2] * h[1], v[2] * h[2] - hv),
        )
        b = vec.sub(vec.scale(v, inertia.mass), vec.cross(h, w))
        return cls(vec.mat_sub(turning, drift), b, frame)

    @classmethod
    def of_turning(cls, force: Force, at: Vector = vec.ZERO) -> CoriolisInertia:
        """[-m~ 0; -f~ 0] of the force [m; f] at a point: its change under motions that turn it there."""
        f = force.linear
        moment = vec.sub(force.angular, vec.cross(at, f))
        # (omega x m) + p x (omega x f), and p~ f~ = f p^T - (p.f) 1
        pf = vec.dot(at, f)
        lever: Matrix = (
            (f[0] * at[0] - pf, f[0] * at[1], f[0] * at[2]),
            (f[1] * at[0], f[1] * at[1] - pf, f[1] * at[2]),
            (f[2] * at[0], f[2] * at[1], f[2] * at[2] - pf),
        )
        return cls(vec.mat_sub(vec.skew(vec.neg(moment)), lever), f, force.frame)

    @property
    def parts(self) -> tuple[Number, ...]:
        return (*self.T_block[0], *self.T_block[1], *self.T_block[2], *self.b)

    def with_parts(self, parts: Sequence[Number]) -> CoriolisInertia:
        p = tuple(parts)
        return CoriolisInertia((p[0:3], p[3:6], p[6:9]), p[9:12])  # type: ignore[arg-type]

    def tagged(self, frame: Any) -> CoriolisInertia:
        return CoriolisInertia(self.T_block, self.b, frame)

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    @property
    def adjoint(self) -> Transposed:
        """B^T, for products body by body: unlike B.T @ x, it does not sum over a group."""
        return Transposed(self)

    def __add__(self, other: CoriolisInertia) -> CoriolisInertia:
        frame = joined(self.frame, other.frame, "sum of Coriolis inertias")
        return CoriolisInertia(vec.mat_add(self.T_block, other.T_block), vec.add(self.b, other.b), frame)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Motion):
            frame = joined(self.frame, other.frame, "Coriolis inertia times motion")
            return Force(
                vec.mat_vec(self.T_block, other.angular), vec.neg(vec.cross(self.b, other.angular)), frame
            )
        return other.multiplied(self)

    def apply_transposed(self, other: Any) -> Any:
        """B^T @ motion, or @ subspace."""
        if isinstance(other, Subspace):
            return ForceSet(self.apply_transposed(column) for column in other.columns)
        frame = joined(self.frame, other.frame, "transposed Coriolis inertia times motion")
        angular = vec.add(vec.mat_t_vec(self.T_block, other.angular), vec.cross(self.b, other.linear))
        return Force(angular, vec.ZERO, frame)

    def reaction(self, momentum: Force, motion: Any) -> Any:
        """((I V) x-bar* - B) W with momentum = I V, the counterpart of B in the Christoffel symbols."""
        if isinstance(motion, Subspace):
            return ForceSet(self.reaction(momentum, column) for column in motion.columns)
        frame = joined(self.frame, motion.frame, "reaction of a Coriolis inertia")
        w, v = motion.angular, motion.linear
        angular = vec.add(
            vec.mat_vec(self.T_block, w),
            vec.add(vec.cross(momentum.angular, w), vec.cross(momentum.linear, v)),
        )
        return Force(vec.neg(angular), vec.ZERO, frame)

    def congruence(self, X: Transform) -> CoriolisInertia:
        """X^T B X."""
        joined(X.target, self.frame, "congruence of a Coriolis inertia")
        T, b = self.T_block, self.b
        for factor in reversed(X.factors):
            T, b = factor.undo_matrix(T), factor.undo(b)
        # [1 r~; 0 1] [T 0; -b~ 0] = [T - r~ b~ 0; -b~ 0], and r~ b~ = b r^T - (r.b) 1
        r = X.translation
        rb = vec.dot(r, b)
        shift: Matrix = (
            (b[0] * r[0] - rb, b[0] * r[1], b[0] * r[2]),
            (b[1] * r[0], b[1] * r[1] - rb, b[1] * r[2]),
            (b[2] * r[0], b[2] * r[1], b[2] * r[2] - rb),
        )
        return CoriolisInertia(vec.mat_sub(T, shift), b, X.source)

    def matrix(self) -> tuple[tuple[Number, ...], ...]:
        """The 6 x 6 matrix."""
        lower = vec.transpose(vec.skew(self.b))
        return tuple(row + vec.ZERO for row in self.T_block) + tuple(row + vec.ZERO for row in lower)
