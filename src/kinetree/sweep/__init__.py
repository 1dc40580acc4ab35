"""Sweeps: the only loops over a tree, and how an algorithm is declared."""

from kinetree.sweep.algorithm import REGISTRY, Algorithm, algorithm, choice
from kinetree.sweep.signature import REQUIRED, Argument
from kinetree.sweep.sweep import Sweep

__all__ = ["REGISTRY", "REQUIRED", "Algorithm", "Argument", "Sweep", "algorithm", "choice"]
