"""Motion in time: steps, simulations and the trajectories that they give."""

from kinetree.motion.simulate import simulate
from kinetree.motion.steps import INTEGRATORS, step
from kinetree.motion.trajectory import Event, Failure, Trajectory

__all__ = ["INTEGRATORS", "Event", "Failure", "Trajectory", "simulate", "step"]
