"""Equations of motion in SymPy: functions of a model take symbols; this package shortens their results."""

from kinetree.symbolic.equations import Equations, equations
from kinetree.symbolic.normal import simplified
from kinetree.symbolic.steps import steps

__all__ = ["Equations", "equations", "simplified", "steps"]
