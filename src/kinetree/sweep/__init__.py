"""Sweeps: the only loops over a tree, and how an algorithm is declared."""

from kinetree.sweep.algorithm import REGISTRY, Algorithm, Argument, algorithm, choice
from kinetree.sweep.sweep import Sweep

__all__ = ["REGISTRY", "Algorithm", "Argument", "Sweep", "algorithm", "choice"]
