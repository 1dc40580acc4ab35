"""The motion of one frame relative to another: pose, velocity and acceleration."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree.spatial import Motion, Transform
from kinetree.spatial.reading import read_matrix, read_vector
from kinetree.spatial.vector import Vector, cross, transpose


class Moving(NamedTuple):
    """The motion of a frame B relative to a frame A, in the coordinates of B; `AB @ BC` composes.

    X takes motions from A to B, V = V(A, B) is the velocity of B seen from A, and A its derivative seen
    from B: the spatial acceleration. Numbers of any kind.
    """

    X: Transform
    V: Motion = Motion()
    A: Motion = Motion()

    @classmethod
    def of(cls, T: Any, V: Any = None, A: Any = None) -> Moving:
        """From arrays: the pose (..., 4, 4) of B in A, and (..., 6) for the others, zero if left out."""
        rows = read_matrix(T, 4, 4, "pose matrix")
        X = Transform(transpose(tuple(row[:3] for row in rows[:3])), tuple(row[3] for row in rows[:3]))
        numbers = [(0,) * 6 if x is None else read_vector(x, 6, "motion") for x in (V, A)]
        return cls(X, *map(Motion.from_components, numbers))

    def __matmul__(self, other: Any) -> Any:
        """V(A, C) = X V(A, B) + V(B, C), and its derivative seen from C."""
        V = other.X @ self.V + other.V
        return Moving(other.X @ self.X, V, other.X @ self.A + other.A + V.cross(other.V))

    def inverse(self) -> Moving:
        """The motion of A relative to B."""
        back = self.X.inverse()
        return Moving(back, -(back @ self.V), -(back @ self.A))

    def acceleration(self, omega: Vector) -> Motion:
        """The derivative of V seen from a frame relative to which B turns at `omega`, in B-axes.

        d_F V = d_B V + omega(F, B) x V on both halves; seen from A, it is the acceleration of the origin.
        """
        linear, angular = cross(omega, self.V.linear), cross(omega, self.V.angular)
        return self.A + Motion(angular, linear)
