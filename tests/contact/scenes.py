"""Things that touch the ground, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import kinetree as kt

G = 9.81


def solid(mass: float, size: tuple[float, float, float]) -> kt.Inertia:
    """A homogeneous cuboid about its centre."""
    a, b, c = (x * x for x in size)
    return kt.Inertia(mass, (0, 0, 0), np.diag([b + c, a + c, a + b]) * (mass / 12))


def thing(shape: Any, inertia: kt.Inertia, **contact: Any) -> kt.Model:
    """One body that flies freely."""
    builder = kt.ModelBuilder("thing")
    builder.add_body("thing", joint=kt.Free(), inertia=inertia)
    builder.add_geometry("thing", shape, **contact)
    return builder.build()


def box(mass: float = 10.0, half: tuple[float, float, float] = (0.1, 0.1, 0.1), **contact: Any) -> kt.Model:
    return thing(kt.Box(half), solid(mass, tuple(2 * x for x in half)), **contact)


def quadruped(trunk: bool = False, **contact: Any) -> kt.Model:
    """The quadruped of the zoo with points for feet, and corners of its trunk."""
    model = kt.zoo.quadruped()
    model = model.replace(geometries={name: contact for name in model.geometry_names})
    return model.add_geometry("trunk", kt.Box((0.2, 0.1, 0.06)), **contact) if trunk else model


def standing(model: kt.Model) -> np.ndarray:
    """A quadruped with bent knees whose feet just touch the ground."""
    q = model.neutral()
    for name in model.joint_names:
        if "thigh" in name or "shank" in name:
            q[model.position_index(name)] = 0.8 if "thigh" in name else -1.6
    q[6] -= min(lowest(model, q))
    return q


def lowest(model: kt.Model, q: np.ndarray) -> list[float]:
    """The heights of all points."""
    T = kt.placements(model, q)
    return [float(T[p.body - 1][2] @ (*p.position, 1.0)) for p in model.contact_points]


def gains(model: kt.Model, kp: float = 100.0, kd: float = 3.0) -> dict[str, np.ndarray]:
    """A servo at every joint but the base."""
    driven = np.arange(model.nv) >= 6
    return {"kp": kp * driven, "kd": kd * driven}


def tilted(angle: float) -> np.ndarray:
    """Gravity on a slope that descends along x, in axes of the slope."""
    return G * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def energy(model: kt.Model, run: kt.Trajectory) -> np.ndarray:
    """Of motion, weight and of what is pressed in."""
    T = kt.placements(model, run.q)
    total = run.energy.copy()
    for p in model.contact_points:
        depth = np.maximum(0, -(T[..., p.body - 1, 2, :] @ np.array([*p.position, 1.0])))
        total = total + 0.5 * p.stiffness * depth**2
    return total


def dense(
    model: kt.Model, q: np.ndarray, v: np.ndarray, x: np.ndarray, h: float, creep: float = 1e-4,
    ground: Any = None, added: Any = None, rub: Any = None, numbers: Any = None, pulls: Any = (),
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The change of velocity and the forces, by dense Newton steps with a bisected search along each.

    `pulls` are (place, offset, slope, low, high): what acts along the velocities of all joints, u = G v.
    """
    ground = ground or kt.Ground(height=-1e9)
    n, points = np.array(ground.normal), model.contact_points
    own = [[getattr(p, name) for p in points] for name in ("stiffness", "dissipation", "friction")]
    k, d, mu = np.array(own if numbers is None else numbers)
    M = kt.mass_matrix(model, q) + np.diag(np.zeros(model.nv) if added is None else added)
    G = kt.loop_matrix(model, q)
    place, offset, fall, least, most = np.array(pulls, float).reshape(-1, 5).T
    G = G[place.astype(int)]
    axes = np.linalg.svd(n[None])[2][1:]
    R = np.stack([axes[0], axes[1], n])
    rows, depth, T = [], [], kt.placements(model, q)
    for p in points:
        A = T[p.body - 1][:3, :3]
        r = A @ np.array(p.touching(tuple(A.T @ n)), float)
        J = kt.jacobian(model, q, model.body_names[p.body - 1], "aligned")
        rows.append(R @ (J[3:] + np.cross(J[:3].T, r).T))
        depth.append(ground.height - n @ (T[p.body - 1][:3, 3] + r))
    J, depth = np.array(rows).reshape(-1, 3, model.nv), np.array(depth)
    rub = np.zeros(model.nv) if rub is None else rub

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
        joints = rub * (v + c) / np.sqrt((v + c) ** 2 + 1e-8)
        pulled = np.clip(offset - fall * (G @ (v + c)), least, most)
        return M @ c - x + h * joints - h * G.T @ pulled - h * np.einsum("cij,ci->j", J, force(J @ (v + c)))

    change = np.zeros(model.nv)
    for _ in range(500):
        u, w = J @ (v + change), v + change
        soft = np.sqrt((u[:, :2] ** 2).sum(1) + creep**2)
        t = u[:, :2] / soft[:, None]
        H = np.zeros((len(u), 3, 3))
        H[:, :2, :2] = (bound / soft)[:, None, None] * (np.eye(2) - t[:, :, None] * t[:, None, :])
        H[:, 2, 2] = pressure(u[:, 2], h)[1]
        full = M + h * np.diag(rub * 1e-8 / (w * w + 1e-8) ** 1.5) + h * np.einsum("cij,cik,ckl->jl", J, H, J)
        free = offset - fall * (G @ w)
        full = full + h * G.T @ np.diag(fall * ((least <= free) & (free <= most))) @ G
        step = -np.linalg.solve(full, gradient(change))
        low, high = 0.0, 1.0
        if step @ gradient(change + step) > 0 and abs(step).max() > 1e-12:
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if step @ gradient(change + middle * step) < 0 else (low, middle)
        change = change + high * step
        if abs(step).max() < 1e-13 * (1 + abs(v).max()):
            break
    return change, force(J @ (v + change)) @ R
