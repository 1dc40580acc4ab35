"""Force laws of contact points and of joints with dry friction.

    f_n = k (depth - h u_n)_+ (1 - d u_n)_+         f_t = -mu f0 u_t / sqrt(|u_t|^2 + v_s^2)

with u the velocity of a point at the end of a step of length h, and f0 the normal force at its beginning, a
function of the state alone. Both decrease with u: each is minus the gradient of a convex function. In code, k
and mu f0 have been multiplied by h, so that forces are impulses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.spatial.factors import Turn
from kinetree.spatial.vector import Number, Vector

Numbers = Sequence[Number]

DEEP, LEAVING = 0.01, 0.005  # m, m^2/s: a point deeper than DEEP leaves at most at LEAVING / (depth - DEEP)
AROUND = 0.01  # rad/s or m/s: a term counts as inactive only with this margin, which is well above rounding
ALONG = 1e-24  # a unit vector whose squared distance from the x axis is below this needs no turn about x
STICTION = 1e-4  # rad/s or m/s: joints with dry friction stick, that is creep, below about this velocity


class Law(NamedTuple):
    """An impulse at a velocity u (tangential, then normal), its decrease with u, the update of its dual."""

    force: Numbers
    t: Numbers  # u_t / s, with the smoothed length s of u_t
    grip: Number  # friction bound over s
    inverse: Number  # 1 / s
    slope: Number = 0  # of the normal force

    def across(self, w: Numbers) -> list[list[Number]]:
        """G_t = bound / s (1 - sym(w t^T)): the slope of friction once the dual w equals t."""
        grip, t = self.grip, self.t
        if len(t) < 2:
            return [[grip * (1 - a * x)] for a, x in zip(w, t)]
        (x, y), (a, b) = t, w
        aside = -0.5 * grip * (a * y + b * x)
        return [[grip * (1 - a * x), aside], [aside, grip * (1 - b * y)]]

    def fall(self, w: Numbers, du: Numbers) -> list[Number]:
        """G du."""
        return [*(dot(row, du) for row in self.across(w)), *(self.slope * x for x in du[len(self.t) :])]

    def felt(self, u: Numbers, du: Numbers) -> tuple[Number, Number]:
        """f . du, and du . G du once the dual equals t."""
        n = len(self.t)
        along, size = dot(u[:n], du), dot(du[:n], du)
        through = along * self.inverse
        return (
            dot(self.force[n:], du[n:]) - self.grip * along,
            self.grip * (size - through * through) + sum(self.slope * x * x for x in du[n:]),
        )

    def dual(self, w: Numbers, du: Numbers) -> list[Number]:
        """The dual after a step du: s w = u_t, linearised, then scaled back to |w| <= 1."""
        along = dot(self.t, du)
        w = [t + (x - b * along) * self.inverse for t, x, b in zip(self.t, du, w)]
        size = 1.0 / ops.sqrt(ops.max(1.0, dot(w, w)))
        return [x * size for x in w]


def rubbed(u: Number, bound: Number) -> Law:
    """Dry friction of a joint."""
    inverse = 1.0 / ops.sqrt(u * u + STICTION**2)
    return Law((-bound * inverse * u,), (u * inverse,), bound * inverse, inverse)


def touched(u: Numbers, pressing: Numbers, bound: Number, creep: Number, h: Number) -> Law:
    """The law of a contact point; `pressing`: depth, stiffness, dissipation, and dissipation when leaving."""
    f, slope = pressure(*pressing, u[2], h)  # type: ignore[misc, call-arg]
    return gripped(u, bound, 1.0 / ops.sqrt(u[0] * u[0] + u[1] * u[1] + creep * creep), f, slope)


def gripped(u: Numbers, bound: Number, inverse: Number, f: Number, slope: Number) -> Law:
    """The law of a contact point whose 1 / s, normal force and slope are known."""
    grip = bound * inverse
    return Law((-grip * u[0], -grip * u[1], f), (u[0] * inverse, u[1] * inverse), grip, inverse, slope)


def pressure(depth: Number, k: Number, d: Number, leaving: Number, u: Number, h: Number) -> tuple:
    """The normal force, and the rate at which it decreases with u."""
    d = ops.where(ops.less(0.0, u), leaving, d)
    pressed, factor = depth - h * u, 1.0 - d * u
    touches = ops.less(0.0, ops.min(pressed, factor))
    f = ops.where(touches, k * pressed * factor, 0.0)
    return f, ops.where(touches, k * (h * factor + d * pressed), 0.0)


def leaving_of(depth: Number, d: Number) -> Number:
    """The dissipation of a leaving point: from deep in the ground it leaves slowly."""
    return d + ops.max(0.0, depth - DEEP) * (1.0 / LEAVING)


def axes_along(n: Vector) -> tuple[Vector, Vector, Vector]:
    """Two unit vectors perpendicular to n, and n."""
    x, y, z = n
    side = ops.where(ops.less(z, 0.0), -1.0, 1.0)
    a = -1.0 / (side + z)
    b = x * y * a
    return (1.0 + side * x * x * a, side * b, -side * x), (b, side + y * y * a, -y), n


def upright(n: Vector) -> tuple[Turn, Turn]:
    """Turns about x and y that take a unit vector to z."""
    square = n[1] * n[1] + n[2] * n[2]
    length, is_along = ops.sqrt(ops.max(square, ALONG)), ops.less(square, ALONG)
    cos, sin = ops.where(is_along, 1.0, n[2] / length), ops.where(is_along, 0.0, -n[1] / length)
    return Turn(0, cos, sin), Turn(1, length, n[0])


def held(pose: Any, axis: Vector) -> Vector:
    """An axis in a body with this pose; when differentiated, it is fixed in the world."""
    world = tuple(ops.implied(x, 0.0) for x in pose.turned_back(axis))
    x, y, z = (ops.implied(a, b) for a, b in zip(axis, pose.turned(world)))
    return x, y, z


def dot(a: Iterable[Number], b: Iterable[Number]) -> Number:
    """The sum of products."""
    total: Any = 0
    for x, y in zip(a, b):
        total = total + x * y
    return total
