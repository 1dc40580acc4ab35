"""The algorithms, each once, in its own file."""

from kinetree.algorithms.aba import forward_dynamics
from kinetree.algorithms.crba import mass_matrix
from kinetree.algorithms.rnea import inverse_dynamics

__all__ = ["forward_dynamics", "inverse_dynamics", "mass_matrix"]
