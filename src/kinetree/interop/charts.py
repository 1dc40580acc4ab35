"""Charts: maps between the coordinates of one joint here and of the same joint in another library.

A chart maps positions x here to y there, and velocities v to w = T(x) v with a square, orthogonal T. So
accelerations become T a + (dT/dt) v and forces T f (power is the same: w . T f = v . f); T^T maps back.
Arrays may have any leading batch axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.spatial.quaternion import quaternion_conjugate, quaternion_matrix, quaternion_product

Array = np.ndarray


Order = tuple[int, ...] | None


class Chart:
    """The same coordinates on both sides, possibly in another order.

    Args:
        positions, velocities: entry k is the index there of coordinate k here; None for the same order.
    """

    def __init__(self, positions: Order = None, velocities: Order = None) -> None:
        self.positions, self.velocities = (x if x is None else np.array(x) for x in (positions, velocities))

    def position(self, x: Array) -> Array:
        """The position there."""
        return x if self.positions is None else x[..., np.argsort(self.positions)]

    def back(self, y: Array) -> Array:
        """The position here."""
        return y if self.positions is None else y[..., self.positions]

    def matrix(self, x: Array, nv: int) -> Array:
        """T(x), (..., nv, nv)."""
        T = np.eye(nv)
        return T if self.velocities is None else T[np.argsort(self.velocities)]

    def rate(self, x: Array, v: Array) -> Array:
        """(dT/dt) v, (..., nv), for x moving with velocity v."""
        return np.zeros(v.shape)


# A ball joint in MuJoCo: quaternions have their scalar part first.
BALL = Chart((1, 2, 3, 0))
# A free joint in Pinocchio: y = [position, quaternion xyzw], w = [linear, angular] in body axes.
FREE_TWIST = Chart((3, 4, 5, 6, 0, 1, 2), (3, 4, 5, 0, 1, 2))


class Circle(Chart):
    """An unbounded revolute joint in Pinocchio: y = [cos x, sin x]."""

    def position(self, x: Array) -> Array:
        return np.concatenate([np.cos(x), np.sin(x)], axis=-1)

    def back(self, y: Array) -> Array:
        return np.arctan2(y[..., 1:], y[..., :1])


class PlanarBody(Chart):
    """A planar joint in Pinocchio: y = [px, py, cos, sin], w = [linear, turn] in body axes."""

    def position(self, x: Array) -> Array:
        return np.concatenate([x[..., 1:], np.cos(x[..., :1]), np.sin(x[..., :1])], axis=-1)

    def back(self, y: Array) -> Array:
        return np.concatenate([np.arctan2(y[..., 3:], y[..., 2:3]), y[..., :2]], axis=-1)

    def matrix(self, x: Array, nv: int) -> Array:
        c, s = np.cos(x[..., 0]), np.sin(x[..., 0])
        T = np.zeros((*x.shape[:-1], 3, 3))
        T[..., 0, 1], T[..., 0, 2] = c, s
        T[..., 1, 1], T[..., 1, 2] = -s, c
        T[..., 2, 0] = 1.0
        return T

    def rate(self, x: Array, v: Array) -> Array:
        c, s = np.cos(x[..., 0]), np.sin(x[..., 0])
        turn, vx, vy = v[..., 0], v[..., 1], v[..., 2]
        return np.stack([turn * (-s * vx + c * vy), turn * (-c * vx - s * vy), np.zeros_like(turn)], axis=-1)


class PlanarOrder(PlanarBody):
    """The same for a joint whose velocities are in body axes here, too: [turn, linear], reordered."""

    def matrix(self, x: Array, nv: int) -> Array:
        return np.eye(3)[[1, 2, 0]]

    def rate(self, x: Array, v: Array) -> Array:
        return np.zeros(v.shape)


class FreeWorld(Chart):
    """A free joint in MuJoCo: y = [position, quaternion wxyz] of the body in the world or its parent.

    w = [rate of the position, in world (parent) axes; angular velocity in body axes].

    Args:
        placement: pose, in that world or parent, of the predecessor side, from which x is measured.
    """

    def __init__(self, placement: Any) -> None:
        super().__init__()
        self.R = np.array(placement.R, dtype=float)
        self.p = np.array(placement.p, dtype=float)
        self.quaternion = tuple(placement.rotation.as_quaternion())

    def position(self, x: Array) -> Array:
        turned = quaternion_product(self.quaternion, np.moveaxis(x[..., :4], -1, 0))
        x_, y_, z_, w_ = (np.broadcast_to(part, x.shape[:-1]) for part in turned)
        return np.concatenate([self.p + x[..., 4:] @ self.R.T, np.stack([w_, x_, y_, z_], -1)], axis=-1)

    def back(self, y: Array) -> Array:
        there = np.moveaxis(y[..., [4, 5, 6, 3]], -1, 0)
        turned = quaternion_product(quaternion_conjugate(self.quaternion), there)
        attitude = np.stack([np.broadcast_to(part, y.shape[:-1]) for part in turned], axis=-1)
        return np.concatenate([attitude, (y[..., :3] - self.p) @ self.R], axis=-1)

    def _attitude(self, x: Array) -> Array:
        """The rotation of the body in the world or parent."""
        rows = quaternion_matrix(np.moveaxis(x[..., :4], -1, 0))
        return self.R @ np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def matrix(self, x: Array, nv: int) -> Array:
        T = np.zeros((*x.shape[:-1], 6, 6))
        T[..., :3, 3:] = self._attitude(x)
        T[..., 3:, :3] = np.eye(3)
        return T

    def rate(self, x: Array, v: Array) -> Array:
        turning = np.cross(v[..., :3], v[..., 3:])  # d(R u)/dt = R (omega x u)
        linear = (self._attitude(x) @ turning[..., None])[..., 0]
        return np.concatenate([linear, np.zeros_like(linear)], axis=-1)
