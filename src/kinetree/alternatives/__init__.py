"""The same quantities by other routes: dense operators, one state at a time, as in the literature.

Nothing here is fast. Algorithms are checked against it, and it follows the notation of the papers.

    system = System(model, q, v)                 the stacked quantities of all bodies
    mass_matrix_newton_euler(system)             M = H phi M phi* H*
    forward_dynamics_gauss(system, tau)          Gauss' principle, with the joint forces as multipliers
    ConcurrentEquations(model, q, v)             equations (1) to (18) of Concurrent Dynamics
    complexity([kt.zoo.chain(n) for n in (6, 12)])     what each route costs, counted
"""

from kinetree.alternatives.concurrent import ConcurrentEquations
from kinetree.alternatives.costs import Cost, complexity
from kinetree.alternatives.routes import (
    coriolis_matrix_by_newton_euler,
    coriolis_matrix_dense,
    forward_dynamics_dense,
    forward_dynamics_gauss,
    forward_dynamics_operators,
    innovations_factors,
    mass_matrix_by_inverse_dynamics,
    mass_matrix_decomposed,
    mass_matrix_from_jacobians,
    mass_matrix_newton_euler,
)
from kinetree.alternatives.system import System

__all__ = [
    "ConcurrentEquations", "Cost", "System", "complexity", "coriolis_matrix_by_newton_euler",
    "coriolis_matrix_dense",
    "forward_dynamics_dense", "forward_dynamics_gauss", "forward_dynamics_operators",
    "innovations_factors", "mass_matrix_by_inverse_dynamics",
    "mass_matrix_decomposed", "mass_matrix_from_jacobians", "mass_matrix_newton_euler",
]  # fmt: skip
