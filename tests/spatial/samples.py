"""Attitudes, twists and bodies to try things on, the hard ones among them: no turn, half turns."""

from __future__ import annotations

import math

import numpy as np

from kinetree.spatial import Inertia, Motion, Pose

ANGLES = (
    0.0, 1e-300, 1e-160, 1e-30, 1e-16, 1e-9, 1e-5, 1e-3, 0.03, 0.5, 0.99999, 1.0, 1.00001, 1.9, 2.0, 2.1, 3.0,
    math.pi - 1e-3, math.pi - 1e-6, math.pi - 1e-9, math.pi - 1e-13, math.pi - 4.5e-16, math.pi,
)  # fmt: skip
"""From no turn to a half turn, dense where formulas change or cancel."""


def directions(rng: np.random.Generator, count: int = 4) -> np.ndarray:
    """Unit vectors: coordinate axes, nearly coordinate axes, and random ones."""
    fixed = np.array([(1, 0, 0), (0, -1, 0), (0, 0, 1), (1, 1e-9, 0), (1, -1, 0), (1, 1, 1)], dtype=float)
    all_ = np.concatenate([fixed, rng.standard_normal((count, 3))])
    return all_ / np.linalg.norm(all_, axis=1, keepdims=True)


def rotation_vectors(rng: np.random.Generator, largest: float = math.pi) -> np.ndarray:
    """Rotation vectors of every angle in ANGLES up to `largest`, about every direction."""
    return np.array([angle * n for n in directions(rng) for angle in ANGLES if angle <= largest])


def quaternions(rng: np.random.Generator) -> np.ndarray:
    """Unit quaternions, with single and double zeros and with either sign of w."""
    signs = np.array([s for s in np.ndindex(3, 3, 3, 3) if any(k != 1 for k in s)], dtype=float) - 1.0
    all_ = np.concatenate([signs, rng.standard_normal((20, 4))])
    return all_ / np.linalg.norm(all_, axis=1, keepdims=True)


def random_motion(rng: np.random.Generator) -> Motion:
    return Motion.from_components(rng.standard_normal(6).tolist())


def random_inertia(rng: np.random.Generator) -> Inertia:
    """The inertia of eight random point masses: physical by construction."""
    masses, points = rng.uniform(0.1, 1.0, 8), rng.standard_normal((8, 3))
    m = float(masses.sum())
    c = masses @ points / m
    arms = points - c
    J = sum(w * (a @ a * np.eye(3) - np.outer(a, a)) for w, a in zip(masses, arms, strict=True))
    return Inertia(m, c.tolist(), np.asarray(J).tolist())


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose.random(rng)
