"""Line vectors, free vectors and screws: the geometric meaning of spatial vectors.

A line vector is an arrow bound to a line: a rotation about an axis, a force along its line of action. A free
vector has direction and size only: a translation, a couple. In [first; second] = [alpha; a_o] for motions,
the line part alpha is the angular one; for forces [n; f] it is the linear one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree import ops
from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.vector import ZERO, Number, Vector, cross, dot, scale, sub


def line_vector(point: Vector, alpha: Vector) -> Motion:
    """[alpha; A x alpha]: the rotation alpha about the line through the point A."""
    return Motion(alpha, cross(point, alpha))


def free_vector(velocity: Vector) -> Motion:
    """[0; v]: a pure translation."""
    return Motion(ZERO, velocity)


def line_force(point: Vector, force: Vector) -> Force:
    """[A x f; f]: the force f whose line of action passes through the point A."""
    return Force(cross(point, force), force)


def couple(moment: Vector) -> Force:
    """[n; 0]: a pure moment."""
    return Force(moment, ZERO)


def is_line(a: Motion | Force, tolerance: float = 1e-12) -> Any:
    """True if `a` is bound to a line: its line part is not zero, and the free part is orthogonal to it.

    That is, its pitch is less than `tolerance` times the length of [free part; line part] per line part.
    """
    line, free = _halves(a)
    mixed, size = dot(line, free), dot(line, line)
    return ops.less(mixed * mixed, tolerance * tolerance * size * (size + dot(free, free)))


def is_free(a: Motion | Force, tolerance: float = 1e-12) -> Any:
    """True if `a` has no line part: a translation or a couple."""
    line, free = _halves(a)
    return ops.less_equal(dot(line, line), tolerance * tolerance * dot(free, free))


def shift_origin(a: Any, P: Vector) -> Any:
    """The same vector about the origin P: [alpha; a_o - P x alpha] for motions, [n - P x f; f] for forces."""
    if isinstance(a, Motion):
        return Motion(a.angular, sub(a.linear, cross(P, a.angular)))
    return Force(sub(a.angular, cross(P, a.linear)), a.linear)


class Screw(NamedTuple):
    """A spatial vector as a line vector along an axis plus a free vector along it, `pitch` times as large."""

    point: Vector  # the point of the axis nearest to the origin
    direction: Vector  # the line part: the axis times the magnitude
    pitch: Number  # free part along the axis per unit of line part: m/rad for motions

    def motion(self) -> Motion:
        """The motion with this screw."""
        return line_vector(self.point, self.direction) + free_vector(scale(self.direction, self.pitch))

    def force(self) -> Force:
        """The wrench with this screw."""
        return line_force(self.point, self.direction) + couple(scale(self.direction, self.pitch))


def screw(a: Motion | Force) -> Screw:
    """The screw axis and the pitch of a spatial vector that is not free: the point alpha x a_o / alpha^2."""
    line, free = _halves(a)
    square = dot(line, line)
    return Screw(scale(cross(line, free), 1 / square), line, dot(line, free) / square)


def _halves(a: Motion | Force) -> tuple[Vector, Vector]:
    """The line part and the free part about the origin."""
    return (a.angular, a.linear) if isinstance(a, Motion) else (a.linear, a.angular)
