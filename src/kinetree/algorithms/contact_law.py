"""What touching points and rubbing joints feel.

    f_n = k (depth - h u_n)_+ (1 - d u_n)_+         f_t = -mu f0 u_t / sqrt(|u_t|^2 + v_s^2)

with u the velocity of a point at the end of a step of length h, and f0 the normal force at its beginning, a
function of the state alone. Both fall with u: they are the slopes of convex functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.spatial import Force
from kinetree.spatial import vector as vec
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Number, Vector

Numbers = Sequence[Number]

DEEP, LEAVING = 0.01, 0.005  # m, m^2/s: a point that is deeper leaves with this speed over what is beyond
STICTION = 1e-4  # rad/s or m/s: joints that rub hold below about this velocity, and creep with less


class Law(NamedTuple):
    """A force at a velocity u, how it falls with u, and where its dual goes."""

    force: Numbers
    t: Numbers  # u_t / s, with the soft length s of u_t
    grip: Number  # of friction: its bound over s
    inverse: Number  # 1 / s
    w: Numbers  # the dual: t once the minimum is found
    slope: Number = 0  # of the normal force

    def fall(self, du: Numbers) -> list[Number]:
        """G du: G_t = bound / s (1 - sym(w t^T)) is the slope of friction once w = t."""
        wd, td = dot(self.w, du), dot(self.t, du)
        n = len(self.t)
        across = [self.grip * (x - 0.5 * (w * td + t * wd)) for x, w, t in zip(du, self.w, self.t)]
        return [*across, *(self.slope * x for x in du[n:])]

    def dual(self, du: Numbers) -> list[Number]:
        """The dual after a step du: s w = u_t, linearised; put back to where |w| <= 1."""
        along = dot(self.t, du)
        w = [t + (x - w * along) * self.inverse for t, x, w in zip(self.t, du, self.w)]
        size = 1.0 / ops.sqrt(ops.max(1.0, dot(w, w)))
        return [x * size for x in w]


class Touch(NamedTuple):
    """A point that can touch, at the beginning of a step. Vectors in the axes (t1, t2, n) of the ground."""

    body: Any  # the handle of what carries it
    way: Transform  # from the body to the point, in the axes of the ground
    start: Numbers  # its velocity
    depth: Number
    k: Number
    d: Number
    leaving: Number  # d of a point that comes out
    bound: Number  # mu f0
    creep: Number  # v_s
    h: Number

    @property
    def duals(self) -> int:
        return 2

    def law(self, u: Numbers, w: Numbers = (0, 0)) -> Law:
        f, slope = _pressure(self.depth, self.k, self.d, self.leaving, u[2], self.h)
        inverse = 1.0 / ops.sqrt(u[0] * u[0] + u[1] * u[1] + self.creep * self.creep)
        t, grip = (u[0] * inverse, u[1] * inverse), self.bound * inverse
        return Law((-grip * u[0], -grip * u[1], f), t, grip, inverse, w, slope)

    def load(self, sweep: Any, law: Law, z: Numbers) -> None:
        """Add h G to the inertia of the body, and h (f - z) to what pulls it."""
        grip, (a, b), (x, y) = self.h * law.grip, law.w, law.t
        G = (grip * (1 - a * x), grip * (1 - b * y), self.h * law.slope, -0.5 * grip * (a * y + b * x), 0, 0)
        sweep.I.add(self.body, self.way.T @ ArticulatedInertia(M=G) @ self.way)
        pull = tuple(self.h * (b - a) for a, b in zip(law.force, z))
        sweep.p.add(self.body, self.way.T @ Force(vec.ZERO, pull))

    def along(self, sweep: Any) -> Numbers:
        """How its velocity changes in a step."""
        return (self.way @ sweep.A[self.body]).linear


class Rub(NamedTuple):
    """A velocity of a joint with dry friction."""

    body: Any  # the handle of the node
    place: int  # of the velocity among those of all joints of the node
    start: Numbers
    bound: Number
    h: Number

    @property
    def duals(self) -> int:
        return 1

    def law(self, u: Numbers, w: Numbers = (0,)) -> Law:
        inverse = 1.0 / ops.sqrt(u[0] * u[0] + STICTION**2)
        grip = self.bound * inverse
        return Law((-grip * u[0],), (u[0] * inverse,), grip, inverse, w)

    def load(self, sweep: Any, law: Law, z: Numbers) -> None:
        sweep.brake(self.body, self.place, self.h * law.fall((1,))[0], self.h * (law.force[0] - z[0]))

    def along(self, sweep: Any) -> Numbers:
        return (sweep.spread(self.body)[self.place],)


def touching(
    body: Any, point: Any, P: Any, V: Any, ground: Any, given: Numbers, creep: Number, h: Number
) -> Touch:
    """A point of a body with the pose P and the velocity V; `given`: stiffness, dissipation, friction."""
    pose, (k, d, mu) = P[body], given
    gap, normal = ground.at(vec.add(pose.translation, pose.turned_back(point.position)))
    E = tuple(pose.turned(axis) for axis in _axes(normal))
    r = point.touching(E[2])
    way = Transform(E, r).between(pose.target, None)  # type: ignore[arg-type]
    depth = -(gap + vec.dot(E[2], vec.sub(r, point.position)))
    leaving = d + ops.max(0.0, depth - DEEP) * (1.0 / LEAVING)
    u = (way @ V[body]).linear
    f0, _ = _pressure(depth, k, d, leaving, u[2], 0)
    return Touch(body, way, u, depth, k, d, leaving, mu * f0, creep, h)


def _pressure(depth: Number, k: Number, d: Number, leaving: Number, u: Number, h: Number) -> tuple:
    """The normal force, and by how much it falls with u."""
    d = ops.where(ops.less(0.0, u), leaving, d)
    pressed, factor = depth - h * u, 1.0 - d * u
    touches = ops.less(0.0, ops.min(pressed, factor))
    f = ops.where(touches, k * pressed * factor, 0.0)
    return f, ops.where(touches, k * (h * factor + d * pressed), 0.0)


def _axes(n: Vector) -> tuple[Vector, Vector, Vector]:
    """Two unit vectors across n, and n."""
    x, y, z = n
    side = ops.where(ops.less(z, 0.0), -1.0, 1.0)
    a = -1.0 / (side + z)
    b = x * y * a
    return (1.0 + side * x * x * a, side * b, -side * x), (b, side + y * y * a, -y), n


def dot(a: Numbers, b: Numbers) -> Number:
    """The sum of products."""
    total: Any = 0
    for x, y in zip(a, b):
        total = total + x * y
    return total
