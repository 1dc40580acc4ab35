"""Random mechanisms that reach every corner: joints, forests, rotors, mimic joints, armatures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .mechanism import ALL_TYPES, ONE_DOF, RATES, SIZES, Array, Body, Mass, Mechanism, Rotor


def unit_vector(rng: np.random.Generator, aligned: float = 0.5) -> Array:
    """A unit vector, along a coordinate axis (either way) with probability `aligned`."""
    if rng.random() < aligned:
        return np.eye(3)[rng.integers(3)] * rng.choice([1.0, -1.0])
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def rotation_about(axis: Array, angle: float) -> Array:
    """Rodrigues' rotation matrix."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def random_rotation(rng: np.random.Generator) -> Array:
    """The identity, a right-angled turn or any rotation."""
    kind = rng.random()
    if kind < 0.25:
        return np.eye(3)
    if kind < 0.5:
        return np.round(rotation_about(np.eye(3)[rng.integers(3)], np.pi / 2 * rng.integers(1, 4)))
    return rotation_about(unit_vector(rng, 0), rng.uniform(-np.pi, np.pi))


def random_mass(rng: np.random.Generator, scale: float = 1.0, size: float = 0.3) -> Mass:
    """The inertia of a cloud of points: physical by construction."""
    points = rng.normal(scale=size, size=(5, 3)) + rng.normal(scale=size, size=3)
    masses = rng.uniform(0.2, 1.0, 5) * scale
    total = masses.sum()
    com = masses @ points / total
    d = points - com
    inertia = np.einsum("p,pi,pj->ij", masses, d, d)
    return Mass(total, com, np.trace(inertia) * np.eye(3) - inertia)


def spinning_mass(rng: np.random.Generator, axis: Array) -> Mass:
    """The inertia of a body of revolution about `axis`, with its centre of mass on it."""
    mass, half, radius = rng.uniform(0.1, 1.0), rng.uniform(0.02, 0.1), rng.uniform(0.05, 0.2)
    axial, across = 0.5 * mass * radius**2, mass * (radius**2 / 4 + half**2 / 3)
    inertia = across * np.eye(3) + (axial - across) * np.outer(axis, axis)
    return Mass(mass, axis * rng.uniform(-0.1, 0.1), inertia)


def random_body(rng: np.random.Generator, parent: int, kind: str) -> Body:
    """A body on a joint of the given type with random axes, placement and inertia."""
    axis, axis2 = unit_vector(rng), unit_vector(rng)
    while kind == "universal" and abs(axis @ axis2) > 0.9:
        axis2 = unit_vector(rng)
    position = rng.normal(scale=0.5, size=3) * (rng.random(3) < 0.7)
    rotation = random_rotation(rng)
    return Body(parent, kind, rotation, position, random_mass(rng), axis, axis2, pitch=rng.uniform(-0.5, 0.5))


def random_rotor(rng: np.random.Generator, body: int, width: int) -> Rotor:
    """A rotor for a joint of `width` coordinates: general or of revolution, aligned or skew, off the axis."""
    axis = unit_vector(rng)
    mass = spinning_mass(rng, axis) if rng.random() < 0.4 else random_mass(rng, 0.2, 0.1)
    ratios = tuple(float(rng.choice([-1, 1]) * rng.uniform(0.5, 8)) for _ in range(width))
    return Rotor(body, random_rotation(rng), rng.normal(scale=0.2, size=3), mass, axis, ratios)


def random_mechanism(
    rng: np.random.Generator,
    bodies: int,
    *,
    types: tuple[str, ...] = ALL_TYPES,
    chain: float = 0.5,
    roots: float = 0.15,
    rotors: float = 0.3,
    mimics: float = 0.4,
    armatures: float = 0.2,
) -> Mechanism:
    """A mechanism of `bodies` bodies; the numbers are probabilities per body.

    `chain`: the parent is the body before. `roots`: the body hangs on the world (so forests arise).
    `mimics`: a one-DoF joint follows another anywhere: an ancestor, a sibling, a mimic joint, any.
    """
    out: list[Body] = []
    for i in range(bodies):
        before = i - 1 if rng.random() < chain else int(rng.integers(max(i, 1)))
        parent = -1 if i == 0 or rng.random() < roots else before
        kind = str(rng.choice(types))
        if kind == "fixed" and i == bodies - 1 and not any(SIZES[b.type][1] for b in out):
            kind = next((t for t in types if t != "fixed"), "revolute")
        body = random_body(rng, parent, kind)
        if SIZES[kind][1] and rng.random() < armatures:
            body = replace(body, armature=rng.uniform(0.01, 1.0))
        leaders = [k for k in range(i) if out[k].type in ONE_DOF]
        if kind in ONE_DOF and leaders and rng.random() < mimics:
            near = [k for k in leaders if k == parent or out[k].parent == parent]
            chained = [k for k in leaders if out[k].mimic]
            choice = near if near and rng.random() < 0.6 else leaders
            leader = int(rng.choice(chained if chained and rng.random() < 0.5 else choice))
            multiplier = float(rng.choice([-1, 1]) * rng.uniform(0.3, 2.0))
            body = replace(body, mimic=(leader, multiplier, float(rng.uniform(-1, 1))))
        out.append(body)
    for i, b in enumerate(out):  # a joint may also follow one that comes later
        if b.mimic and not out[b.mimic[0]].mimic and rng.random() < 0.3:
            leader, multiplier, offset = b.mimic
            out[i], out[leader] = replace(b, mimic=None), replace(out[leader], mimic=(i, multiplier, offset))
    spinning: list[Rotor] = []
    for i, b in enumerate(out):
        if b.type in RATES:
            count = int(rng.binomial(3, rotors / 2))
            spinning += [random_rotor(rng, i, SIZES[b.type][1]) for _ in range(count)]
    gravity = tuple((rng.normal(size=3) * 6).tolist()) if rng.random() < 0.7 else (0.0, 0.0, -9.81)
    return Mechanism(tuple(out), tuple(spinning), gravity)  # type: ignore[arg-type]
