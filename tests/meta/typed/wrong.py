"""Calls that are wrong, each in one way and on one line that ends with the mark: a type checker sees it."""

from __future__ import annotations

import numpy as np

import kinetree as kt

robot = kt.zoo.arm7()
rng = np.random.default_rng(0)
q, v = robot.random_state(rng)
a = tau = rng.normal(size=robot.nv)
f = np.zeros((robot.nbodies, 6))

kt.inverse_dynamiks(robot, q, v, a)  # wrong
kt.rnea(robot, q, v, a)  # wrong
kt.zoo.arm8()  # wrong
kt.spatial.Twist()  # wrong
kt.errors.ModelErorr("no")  # wrong
robot.ndof  # wrong
robot.random_states(rng)  # wrong
kt.inverse_dynamics(q, robot, v, a)  # wrong
kt.inverse_dynamics("panda.urdf", q, v, a)  # wrong
kt.inverse_dynamics(robot, q, v)  # wrong
kt.inverse_dynamics(robot, q, v, acc=a)  # wrong
kt.inverse_dynamics(robot, q, v, a, fext=f)  # wrong
kt.inverse_dynamics(robot, q, v, a, f, f)  # wrong
kt.inverse_dynamics(robot, q, v, "a")  # wrong
kt.forward_dynamics(robot, q, v, torque=tau)  # wrong
kt.forward_dynamics(robot, q, v, tau, q=q)  # wrong
kt.mass_matrix(q)  # wrong
kt.mass_matrix(robot)  # wrong
kt.mass_matrix(robot, q, v)  # wrong
kt.mass_matrix(robot, q, out="M")  # wrong
kt.mass_matrix(robot, q, target=1)  # wrong
kt.jacobian(robot, "tool", q)  # wrong
kt.jacobian(robot, q)  # wrong
kt.jacobian(robot, q, "tool", "local")  # wrong
kt.jacobian(robot, q, frame=7)  # wrong
kt.frame_placement(robot, q, body="tool")  # wrong
kt.frame_acceleration(robot, q, v, a, frame="tool", kind="classic")  # wrong
kt.body_accelerations(robot, q, v, a, kind="spacial")  # wrong
kt.articulated_wrenches(robot, q, v, tau, side="left")  # wrong
kt.hybrid_dynamics(robot, q, v, tau, accelerate=3)  # wrong
kt.operational_space_inertia(robot, q, frames=1)  # wrong
kt.external_wrenches(robot, q, "tool")  # wrong
mass, com = kt.composite_moments(robot, q)  # wrong
text: str = kt.mass_matrix(robot, q)  # wrong
kt.load("robot.urdf", repiar=True)  # wrong
kt.load(3)  # wrong
kt.save("robot.urdf", robot)  # wrong
kt.Revolute((0, 0, 1), (0, 0, 0))  # wrong
