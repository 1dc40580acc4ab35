"""Calls that are wrong, each in one way: a type checker complains where there is nothing to ignore."""

from __future__ import annotations

import numpy as np

import kinetree as kt

robot = kt.zoo.arm7()
rng = np.random.default_rng(0)
q, v = robot.random_state(rng)
a = tau = rng.normal(size=robot.nv)
f = np.zeros((robot.nbodies, 6))

kt.inverse_dynamiks(robot, q, v, a)  # type: ignore
kt.rnea(robot, q, v, a)  # type: ignore
kt.zoo.arm8()  # type: ignore
kt.spatial.Twist()  # type: ignore
kt.errors.ModelErorr("no")  # type: ignore
robot.ndof  # type: ignore
robot.random_states(rng)  # type: ignore
kt.inverse_dynamics(q, robot, v, a)  # type: ignore
kt.inverse_dynamics("panda.urdf", q, v, a)  # type: ignore
kt.inverse_dynamics(robot, q, v)  # type: ignore
kt.inverse_dynamics(robot, q, v, acc=a)  # type: ignore
kt.inverse_dynamics(robot, q, v, a, fext=f)  # type: ignore
kt.inverse_dynamics(robot, q, v, a, f, f)  # type: ignore
kt.inverse_dynamics(robot, q, v, "a")  # type: ignore
kt.forward_dynamics(robot, q, v, torque=tau)  # type: ignore
kt.forward_dynamics(robot, q, v, tau, q=q)  # type: ignore
kt.mass_matrix(q)  # type: ignore
kt.mass_matrix(robot)  # type: ignore
kt.mass_matrix(robot, q, v)  # type: ignore
kt.mass_matrix(robot, q, out="M")  # type: ignore
kt.mass_matrix(robot, q, target=1)  # type: ignore
kt.jacobian(robot, "tool", q)  # type: ignore
kt.jacobian(robot, q)  # type: ignore
kt.jacobian(robot, q, "tool", "local")  # type: ignore
kt.jacobian(robot, q, frame=7)  # type: ignore
kt.frame_placement(robot, q, body="tool")  # type: ignore
kt.frame_acceleration(robot, q, v, a, frame="tool", kind="classic")  # type: ignore
kt.body_accelerations(robot, q, v, a, kind="spacial")  # type: ignore
kt.articulated_wrenches(robot, q, v, tau, side="left")  # type: ignore
kt.hybrid_dynamics(robot, q, v, tau, accelerate=3)  # type: ignore
kt.operational_space_inertia(robot, q, frames=1)  # type: ignore
kt.external_wrenches(robot, q, "tool")  # type: ignore
mass, com = kt.composite_moments(robot, q)  # type: ignore
text: str = kt.mass_matrix(robot, q)  # type: ignore
kt.step(robot, q, v, tau)  # type: ignore
kt.step(robot, q, v, tau, dt="1 ms")  # type: ignore
kt.contact_forces(robot, q, v, tau, dt=1e-3, ground="grass")  # type: ignore
kt.load("robot.urdf", repiar=True)  # type: ignore
kt.load(3)  # type: ignore
kt.save("robot.urdf", robot)  # type: ignore
kt.Revolute((0, 0, 1), (0, 0, 0))  # type: ignore
