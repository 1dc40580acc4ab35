"""The motion of a body to second order, in the form that needs the least arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree.spatial import vector as vec
from kinetree.spatial.motion import Motion
from kinetree.spatial.transform import Transform
from kinetree.spatial.value import Value, joined
from kinetree.spatial.vector import Matrix, Vector


class Jet(Value):
    """Angular velocity omega, and the classical acceleration [omega'; a] of a body's origin.

    The Newton-Euler equations need no linear velocity when accelerations are classical (second derivatives of
    points), so a jet has none. Classical and spatial accelerations differ by [0; omega x v]; both give the
    same forces.

        X @ jet                      the same rigid motion, seen at the successor's frame
        jet.moved(vJ, aJ)            the motion of a successor that moves relative to it with the spatial
                                     joint velocity vJ and apparent acceleration aJ
    """

    __slots__ = ("_turning", "acceleration", "frame", "velocity")
    is_uniform = True

    def __init__(self, velocity: Vector = vec.ZERO, acceleration: Motion | None = None, frame: Any = None):
        self.velocity = velocity
        self.acceleration = Motion() if acceleration is None else acceleration
        self.frame = frame
        self._turning: Matrix | None = None

    @property
    def parts(self) -> tuple[Any, ...]:
        return (*self.velocity, self.acceleration)

    def with_parts(self, parts: Sequence[Any]) -> Jet:
        *velocity, acceleration = parts
        return Jet(tuple(velocity), acceleration)  # type: ignore[arg-type]

    @property
    def turning(self) -> Matrix:
        """omega'~ + omega~ omega~; times r, it is the acceleration of the point r relative to the origin."""
        if self._turning is None:
            (x, y, z), (a, b, c) = self.velocity, self.acceleration.angular
            xy, xz, yz = x * y, x * z, y * z
            xx, yy, zz = x * x, y * y, z * z
            self._turning = (
                (-(yy + zz), xy - c, xz + b),
                (xy + c, -(xx + zz), yz - a),
                (xz - b, yz + a, -(xx + yy)),
            )
        return self._turning

    def transformed(self, X: Transform) -> Jet:
        """X @ jet: the acceleration of the point at r is a + omega' x r + omega x (omega x r)."""
        joined(X.source, self.frame, "transform of a jet")
        acc = self.acceleration
        point = vec.add(acc.linear, vec.mat_vec(self.turning, X.translation))
        moved = Motion(X.turned(acc.angular), X.turned(point), X.target)
        return Jet(X.turned(self.velocity), moved, X.target)

    def moved(self, velocity: Motion, acceleration: Motion) -> Jet:
        """The jet of a body that moves relative to this one."""
        w, wJ, vJ = self.velocity, velocity.angular, velocity.linear
        total = vec.add(w, wJ)
        acc = self.acceleration
        angular = vec.add(vec.add(acc.angular, acceleration.angular), vec.cross(w, wJ))
        linear = vec.add(vec.add(acc.linear, acceleration.linear), vec.cross(vec.add(w, total), vJ))
        return Jet(total, Motion(angular, linear, self.frame), self.frame)

    @property
    def unaccelerated(self) -> Jet:
        """The same velocity with no acceleration."""
        return Jet(self.velocity, Motion(frame=self.frame), self.frame)

    def detached(self) -> Jet:
        """The jet of a part that is detached from this motion: zero."""
        return Jet()

    def tagged(self, frame: Any) -> Jet:
        return Jet(self.velocity, self.acceleration.tagged(frame), frame)
