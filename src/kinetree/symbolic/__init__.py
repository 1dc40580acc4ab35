"""Equations of motion in SymPy: every function of a model takes symbols, and these make the results short."""

from kinetree.symbolic.equations import Equations, equations
from kinetree.symbolic.normal import simplified
from kinetree.symbolic.steps import steps

__all__ = ["Equations", "equations", "simplified", "steps"]
