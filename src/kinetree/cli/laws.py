"""Laws of mechanics that hold for a model in every state, and their floating-point residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import kinetree as kt

if TYPE_CHECKING:
    from kinetree.model import Model

ROUNDING = 1e-12  # allowed where both sides are computed directly
DIFFERENCES = 1e-8  # allowed where one side is a finite difference
STEP = 1e-3  # seconds; the finite difference below is of fourth order in it


class Law(NamedTuple):
    """One law: its name, its residual relative to its terms, and the residual allowed for rounding."""

    name: str
    residual: float
    allowed: float
    remark: str = ""

    @property
    def holds(self) -> bool:
        return bool(self.residual <= self.allowed)  # False for NaN


def laws(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[Law]:
    """The laws of the model in the state (`q`, `v`) with the acceleration `a`."""
    M, Mdot = kt.mass_matrix(model, q), kt.mass_matrix_rate(model, q, v)
    C, Gamma = kt.coriolis_matrix(model, q, v), kt.christoffel_symbols(model, q)
    g, h = kt.gravity_force(model, q), kt.bias_force(model, q, v)
    tau = kt.inverse_dynamics(model, q, v, a)
    eigenvalues = np.linalg.eigvalsh(M)
    loose = ROUNDING * max(1.0, eigenvalues[-1] / eigenvalues[0] * 1e-3)
    spectrum = f"eigenvalues {eigenvalues[0]:.2g} to {eigenvalues[-1]:.2g}"
    skew = Mdot - 2 * C

    def energy(t: float) -> float:
        """Energy at time t of the motion with velocity v and acceleration a."""
        q_t, v_t = model.integrate(q, t * v), v + t * a
        return kt.kinetic_energy(model, q_t, v_t) + kt.potential_energy(model, q_t)

    def mass(t: float) -> np.ndarray:
        return kt.mass_matrix(model, model.integrate(q, t * v))

    return [
        Law("M = M^T", apart(M, M.T), ROUNDING),
        Law("M is positive definite", 0.0 if eigenvalues[0] > 0 else 1.0, 0.5, spectrum),
        Law("tau = M a + C v + g", apart(tau, M @ a + C @ v + g), ROUNDING),
        Law("C v + g = bias force", apart(C @ v + g, h), ROUNDING),
        Law("C = sum over k of Gamma_k v_k", apart(C, Gamma @ v), ROUNDING),
        Law("dM/dt - 2 C is skew", apart(skew, -skew.T), ROUNDING),
        Law(
            "forward dynamics undoes inverse dynamics", apart(kt.forward_dynamics(model, q, v, tau), a), loose
        ),
        Law("M^-1 M = 1", apart(kt.inverse_mass_matrix(model, q) @ M, np.eye(model.nv)), loose),
        Law("kinetic energy = 1/2 v^T M v", apart(kt.kinetic_energy(model, q, v), v @ M @ v / 2), ROUNDING),
        Law("dM/dt along the motion", apart(slope(mass), Mdot), DIFFERENCES),
        Law("power tau^T v = d(energy)/dt", apart(slope(energy), tau @ v), DIFFERENCES),
    ]


def slope(f: Callable[[float], np.ndarray | float], h: float = STEP) -> np.ndarray | float:
    """df/dt at t = 0 by fourth-order central differences."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def apart(x: np.ndarray | float, y: np.ndarray | float) -> float:
    """The largest difference between x and y, relative to the larger one."""
    x, y = np.asarray(x), np.asarray(y)
    size = max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))
    return float(np.abs(x - y).max(initial=0.0) / size) if size > 0 else 0.0
