"""Motion over time: steps, simulations and their trajectories."""

from kinetree.motion.contact import contact_forces
from kinetree.motion.simulate import simulate
from kinetree.motion.steps import INTEGRATORS, step
from kinetree.motion.trajectory import Event, Failure, Trajectory

__all__ = ["INTEGRATORS", "Event", "Failure", "Trajectory", "contact_forces", "simulate", "step"]
