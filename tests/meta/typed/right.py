"""Typical calls, clean under `mypy --strict` and pyright. They run, too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import kinetree as kt

Vector = npt.NDArray[np.float64]

robot: kt.Model = kt.zoo.arm7()
rng = np.random.default_rng(0)
q, v = robot.random_state(rng)
a: Vector = rng.normal(size=robot.nv)
tip = robot.body_names[-1]


def energy(model: kt.Model, q: Vector, v: Vector) -> float:
    return float(kt.kinetic_energy(model, q, v) + kt.potential_energy(model, q))


tau: Vector = kt.inverse_dynamics(robot, q, v, a)
kt.inverse_dynamics(robot, q=q, v=v, a=a, f_ext=np.zeros((robot.nbodies, 6)))
kt.inverse_dynamics(robot, list(q), tuple(v), a.tolist())
kt.inverse_dynamics(robot, q, v, a, out=np.empty(robot.nv))
kt.inverse_dynamics(robot, q, v, a, target="eager").sum()
kt.forward_dynamics(robot, q, v, tau).reshape(-1, 1)
known, accelerate = tau, [robot.joint_names[0]]
acceleration, force = kt.hybrid_dynamics(robot, q, v, known, accelerate=accelerate)
M: Vector = kt.mass_matrix(robot, np.tile(q, (10, 1)))
print(kt.mass_matrix_solve(robot, q, x=a) @ tau)
np.linalg.inv(kt.inverse_mass_matrix(robot, q))
print(kt.bias_force(robot, q, v) - kt.gravity_force(robot, q))
print(kt.coriolis_matrix(robot, q, v) @ v)
kt.christoffel_symbols(robot, q).transpose(1, 0, 2)
J = kt.jacobian(robot, q, tip)
print(kt.jacobian(robot, q, frame=tip, reference="aligned", point=[0.0, 0.0, 0.1]).T @ np.ones(6))
kt.jacobian_rate(robot, q, v, tip, "world")
print(kt.frame_placement(robot, q, tip)[:3, 3])
kt.frame_acceleration(robot, q, v, a, frame=tip, kind="classical")
print(kt.placements(robot, q)[..., :3, :3])
kt.center_of_mass(robot, q).tolist()
round(energy(robot, q, v), 3)
inertia, inverse = kt.operational_space_inertia(robot, q, frames=[tip])
kt.external_wrenches(robot, q, {tip: np.ones(6)}, reference="world")
mass, com, about = kt.composite_moments(robot, q)
fast = kt.compile(kt.forward_dynamics, robot, dtype="float32")
fast(q, v, tau)
kt.step(robot, q, v, tau, dt=1e-3)
kt.step(robot, np.tile(q, (2, 1)), v, tau, dt=np.array([1e-3, 2e-3]))
box = kt.zoo.solid(kt.Box((0.1, 0.1, 0.1)), mass=1.0)
still = np.zeros(6)
pressed: Vector = kt.contact_forces(box, box.neutral(), still, still, 1e-3, creep=1e-3, newton_limit=None)
kt.contact_forces(box, box.neutral(), still, still, dt=1e-3, contact_accuracy=1, ground=kt.Ground())
builder = kt.ModelBuilder("pendulum")
bob = kt.Inertia(1.0, (0, 0, -1), np.eye(3).tolist())
builder.add_body("bob", "world", kt.Revolute((0, 1, 0)), kt.Pose(), bob)
kt.gravity_force(builder.build(), [0.1])
print(kt.ops.sin(0.5) + kt.ops.sqrt(2.0))
kt.spatial.Motion((0, 0, 1), (0, 0, 0))
issubclass(kt.errors.ShapeError, ValueError)
print(kt.operators(robot, q).phi.T)
