"""Mass, centre of mass and inertia about it: the ten numbers of a rigid body as Walker and Orin use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree import ops
from kinetree.spatial import vector as vec
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.stack import Stack
from kinetree.spatial.transform import Transform
from kinetree.spatial.value import Tensor, joined
from kinetree.spatial.vector import Matrix, Number, Symmetric, Vector


class Lump(Tensor):
    """A rigid body by its mass m, centre of mass c and rotational inertia J about c.

    A sum finds the common centre of mass and moves both inertias there (parallel-axis theorem). `Inertia`, by
    contrast, keeps moments about the frame's origin, which simply add.
    """

    __slots__ = ("com", "frame", "mass", "rotational")
    is_uniform = True

    def __init__(
        self, mass: Number = 0, com: Vector = vec.ZERO, rotational: Symmetric = vec.NO_MOMENTS,
        frame: Any = None,
    ):  # fmt: skip
        self.mass, self.com, self.rotational, self.frame = mass, com, rotational, frame

    @classmethod
    def of(cls, inertia: Inertia) -> Any:
        """The lump of an inertia, body by body for a group."""
        if isinstance(inertia, Stack):
            return Stack(cls.of(i) for i in inertia.values)
        return cls(inertia.mass, inertia.com, inertia.about_com, inertia.frame)

    @property
    def parts(self) -> tuple[Number, ...]:
        return (self.mass, *self.com, *self.rotational)

    def with_parts(self, parts: Sequence[Number]) -> Lump:
        m, x, y, z, *rotational = parts
        return Lump(m, (x, y, z), tuple(rotational))  # type: ignore[arg-type]

    def tagged(self, frame: Any) -> Lump:
        return Lump(self.mass, self.com, self.rotational, frame)

    def __add__(self, other: Lump) -> Lump:
        frame = joined(self.frame, other.frame, "sum of lumps")
        mass = self.mass + other.mass
        moment = vec.add(vec.scale(self.com, self.mass), vec.scale(other.com, other.mass))
        com = vec.scale(moment, 1 / ops.where(ops.less(0, mass), mass, 1))  # massless: any centre
        return Lump(mass, com, vec.sym_add(self.about(com), other.about(com)), frame)

    def about(self, point: Vector) -> Symmetric:
        """The rotational inertia about a point: J + m (|d|^2 1 - d d^T)."""
        x, y, z = vec.sub(self.com, point)
        m = self.mass
        shift = (y * y + z * z, x * x + z * z, x * x + y * y, -(x * y), -(x * z), -(y * z))
        return vec.sym_add(self.rotational, tuple(m * s for s in shift))  # type: ignore[arg-type]

    def congruence(self, X: Transform) -> Lump:
        """The lump in predecessor coordinates."""
        joined(X.target, self.frame, "congruence of a lump")
        c, J = self.com, self.rotational
        for factor in reversed(X.factors):
            c, J = factor.undo(c), factor.undo_symmetric(J)
        return Lump(self.mass, vec.add(c, X.translation), J, X.source)

    @property
    def rotational_matrix(self) -> Matrix:
        return vec.sym_matrix(self.rotational)

    def matrix(self) -> tuple[tuple[Number, ...], ...]:
        """The 6 x 6 matrix about the centre of mass: [J 0; 0 m]."""
        m = self.mass
        J = self.rotational_matrix
        diagonal = ((m, 0, 0), (0, m, 0), (0, 0, m))
        return tuple(row + vec.ZERO for row in J) + tuple(vec.ZERO + row for row in diagonal)
