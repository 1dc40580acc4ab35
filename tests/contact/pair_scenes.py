"""Bodies that touch each other, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.contact.scenes import G, solid

import kinetree as kt
from kinetree.model.manifold import touches

__all__ = ["G", "dense", "placed", "solid", "things"]


def things(
    *parts: tuple[Any, float], pairs: Any = "all", gravity: Any = (0, 0, -G), **contact: Any
) -> kt.Model:
    """Bodies that fly freely: shapes with their masses."""
    builder = kt.ModelBuilder("things", gravity)
    for k, (shape, mass) in enumerate(parts):
        inertia = kt.zoo.solid(shape, mass=mass).bodies[0].inertia
        builder.add_body(f"thing_{k}", joint=kt.Free(), inertia=inertia)
        builder.add_geometry(f"thing_{k}", shape, **contact)
    return builder.build().replace(pairs=pairs)


def placed(model: kt.Model, *positions: Any) -> np.ndarray:
    """Free bodies at positions."""
    q = model.neutral()
    for k, position in enumerate(positions):
        q[7 * k + 4 : 7 * k + 7] = position
    return q


def frames(model: kt.Model, q: np.ndarray) -> dict[str, kt.Pose]:
    """The pose of each geometry in the world."""
    T = kt.placements(model, q)
    return {
        part.name: (kt.Pose(T[part.body - 1]) if part.body else kt.Pose()) @ part.placement
        for part in model.geometries
    }


def points(model: kt.Model, q: np.ndarray, ground: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """J (c, 3, nv), axes (c, 3, 3) and depths (c,) of all points, of the ground and of pairs."""
    T, shapes, poses = kt.placements(model, q), {g.name: g.shape for g in model.geometries}, frames(model, q)

    def jacobian(body: int, at: np.ndarray) -> np.ndarray:
        if not body:
            return np.zeros((3, model.nv))
        J = kt.jacobian(model, q, model.body_names[body - 1], "aligned")
        return J[3:] + np.cross(J[:3].T, at - T[body - 1][:3, 3]).T

    found = []
    for p in model.contact_points:
        A, n = T[p.body - 1][:3, :3], np.array((ground or kt.Ground()).normal)
        at = T[p.body - 1][:3, 3] + A @ np.array(p.touching(tuple(A.T @ n)), float)
        depth = ground.height - n @ at if ground else -1e9
        found.append((jacobian(p.body, at), n, depth, 1.0))
    bodies = iter(model.pair_points)
    for pair in model.pairs:
        a, b = pair[:2]
        for touch in touches(shapes[a], poses[a], shapes[b], poses[b]):
            own, at = next(bodies), np.array(touch.point, float)
            J = jacobian(own.body, at) - jacobian(own.other_body, at)
            found.append((J, np.array(touch.normal, float), -float(touch.gap), touch.share))
    axes = [np.vstack([np.linalg.svd(n[None])[2][1:], n]) for _, n, _, _ in found]
    rows = [R @ J for R, (J, *_) in zip(axes, found)]
    return np.array(rows), np.array(axes), np.array([[d, s] for *_, d, s in found]).T


def dense(
    model: kt.Model, q: np.ndarray, v: np.ndarray, x: np.ndarray, h: float, ground: Any = None,
    creep: float = 1e-4, added: Any = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The change of velocity and the forces, by dense Newton steps with a bisected search along each."""
    J, axes, (depth, share) = points(model, q, ground)
    felt = [*model.contact_points, *model.pair_points]
    k, d, mu = np.array([[p.stiffness, p.dissipation, p.friction] for p in felt], float).T
    k = k * share
    M = kt.mass_matrix(model, q) + np.diag(np.zeros(model.nv) if added is None else added)

    def pressure(u: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        out = np.where(u > 0, d + np.maximum(0, depth - 0.01) / 0.005, d)
        a, b = depth - h * u, 1 - out * u
        on = (a > 0) & (b > 0)
        return np.where(on, k * a * b, 0), np.where(on, k * (h * b + out * a), 0)

    bound = mu * pressure((J @ v)[:, 2], 0)[0]

    def force(u: np.ndarray) -> np.ndarray:
        soft = np.sqrt((u[:, :2] ** 2).sum(1) + creep**2)
        return np.concatenate([-(bound / soft)[:, None] * u[:, :2], pressure(u[:, 2], h)[0][:, None]], 1)

    def gradient(c: np.ndarray) -> np.ndarray:
        return M @ c - x - h * np.einsum("cij,ci->j", J, force(J @ (v + c)))

    change = np.zeros(model.nv)
    for _ in range(500):
        u = J @ (v + change)
        soft = np.sqrt((u[:, :2] ** 2).sum(1) + creep**2)
        t = u[:, :2] / soft[:, None]
        H = np.zeros((len(u), 3, 3))
        H[:, :2, :2] = (bound / soft)[:, None, None] * (np.eye(2) - t[:, :, None] * t[:, None, :])
        H[:, 2, 2] = pressure(u[:, 2], h)[1]
        step = -np.linalg.solve(M + h * np.einsum("cij,cik,ckl->jl", J, H, J), gradient(change))
        low, high = 0.0, 1.0
        if step @ gradient(change + step) > 0 and abs(step).max() > 1e-12:
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if step @ gradient(change + middle * step) < 0 else (low, middle)
        change = change + high * step
        if abs(step).max() < 1e-13 * (1 + abs(v).max()):
            break
    return change, np.einsum("cij,ci->cj", axes, force(J @ (v + change)))
