"""Rigid contact, for comparison: an exact complementarity problem in every step, solved with dense matrices.

    M d = x + J_n^T a + J_t^T b       0 <= a  _|_  gap + h u_n >= 0       |b_c| <= bound_c, against the slip

`bound` is mu a (Coulomb's law), or known. The contacts are solved one after the other, each exactly, until
nothing changes (a nonlinear Gauss-Seidel iteration).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import kinetree as kt
from kinetree.motion import flight


class Rigid:
    """A model whose points meet the plane z = 0 and do not sink in."""

    def __init__(self, model: kt.Model, mu: float, h: float, lagged: bool):
        self.model, self.mu, self.h, self.lagged = model, mu, h, lagged
        self.before = np.zeros(len(model.contact_points))  # normal impulses of the last step

    def step(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state after a step without forces but gravity."""
        model, h = self.model, self.h
        start = flight.steady(model, v)
        force = flight.gyroscopic_difference(model, v, h) - kt.inverse_dynamics(model, q, v, start)
        change = self.change(q, v, h * force)
        return flight.advanced(model, q, v, change / h + start, h)

    def change(self, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The change of velocity by the momentum x and the impulses of the ground."""
        J, gap = self.contacts(q)
        touching = gap < 1e-2 + 2 * self.h * abs(v).max()
        J, gap, before = J[touching], gap[touching], self.before[touching]
        inverse = np.linalg.inv(kt.mass_matrix(self.model, q))
        if not len(J):
            self.before[:] = 0
            return inverse @ x
        rows = J.reshape(-1, self.model.nv)
        A = rows @ inverse @ rows.T
        b = rows @ (v + inverse @ x)
        b[2::3] += gap / self.h
        impulses = solved(A, b, self.mu, self.mu * before if self.lagged else None)
        self.before[:] = 0
        self.before[touching] = impulses[2::3]
        return inverse @ (x + rows.T @ impulses)

    def contacts(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobians (points, 3, nv) in world axes, and heights of the points."""
        T, rows, gap = kt.placements(self.model, q), [], []
        for p in self.model.contact_points:
            r = T[p.body - 1][:3, :3] @ np.array(p.position)
            J = kt.jacobian(self.model, q, self.model.body_names[p.body - 1], "aligned")
            rows.append(J[3:] + np.cross(J[:3].T, r).T)
            gap.append((T[p.body - 1][:3, 3] + r)[2])
        return np.array(rows), np.array(gap)


def solved(A: np.ndarray, b: np.ndarray, mu: float, bound: Any, most: int = 200_000) -> np.ndarray:
    """Impulses p with w = A p + b: normal ones complementary to w_n, tangential ones against w_t."""
    p, n = np.zeros(len(b)), len(b) // 3
    for _ in range(most):
        largest = 0.0
        for c in range(n):
            k = slice(3 * c, 3 * c + 3)
            rest = A[k] @ p + b[k] - A[k, k] @ p[k]
            new = np.array([*p[k][:2], max(0.0, -(rest[2] + A[k, k][2, :2] @ p[k][:2]) / A[k, k][2, 2])])
            radius = mu * new[2] if bound is None else bound[c]
            new[:2] = sliding(A[k, k][:2, :2], rest[:2] + A[k, k][:2, 2] * new[2], radius)
            largest = max(largest, abs(new - p[k]).max())
            p[k] = new
        if largest < 1e-11 * (1e-3 + abs(p).max()):
            return p
    raise AssertionError("the rigid contacts were not solved")


def sliding(A: np.ndarray, b: np.ndarray, radius: float) -> np.ndarray:
    """The least of 1/2 p A p + b p in a disc: the tangential impulse that stops the slip, or opposes it."""
    free = -np.linalg.solve(A, b)
    if np.hypot(*free) <= radius:
        return free
    if radius == 0:
        return np.zeros(2)
    low, high = 0.0, np.hypot(*b) / radius
    for _ in range(100):  # (A + s) p = -b with |p| = radius
        middle = (low + high) / 2
        p = -np.linalg.solve(A + middle * np.eye(2), b)
        low, high = (middle, high) if np.hypot(*p) > radius else (low, middle)
    return p
