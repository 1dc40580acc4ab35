"""Motion in time: steps, simulations and the trajectories that they give."""

from kinetree.motion.steps import INTEGRATORS, step


__all__ = ["INTEGRATORS", "step"]
