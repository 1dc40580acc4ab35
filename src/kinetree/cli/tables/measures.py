"""The tables of the thesis, computed and measured here: one function per table returns its rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree import symbolic, zoo
from kinetree.alternatives import complexity
from kinetree.cli.tables.table import Grown
from kinetree.cli.timing import best
from kinetree.model import Model
from kinetree.stages import compile

SIZES = (5, 10, 15)  # N in the tables of errors and differences
GROWING = (8, 16, 32, 64)
COUNTED = (6, 8, 10, 12, 14)
DIFFERENTIATED = 10  # most bodies for which M is differentiated: more take minutes
RATIO, SPIN = 5.0, 1.0  # of the rotors of chapter 4
SECONDS = 0.05  # per timing


Rows = list[tuple[float, ...]]


def columns(measure: Callable[[int], Iterable[float]], sizes: Iterable[int]) -> Rows:
    """The rows of a table, from a function that computes the column of each size."""
    return [*zip(*map(measure, sizes), strict=True)]


def apart(a: Any, b: Any) -> float:
    return float(np.abs(np.subtract(a, b)).max())


# --- chapter 3 ------------------------------------------------------------------------------------
def validity() -> Rows:
    def errors(n: int) -> tuple[float, ...]:
        model = zoo.auto_tree(n)  # axes parallel to gravity, which has no effect
        q, v = np.arange(1.0, n + 1), np.full(n, math.pi / 2)
        C, rate = of.coriolis_matrix(model, q, v), of.mass_matrix_rate(model, q, v)
        tau = of.inverse_dynamics(model, q, v, np.zeros(n))
        gamma = of.christoffel_symbols(model, q)
        return (
            apart(C @ v, tau),
            apart(rate, C + C.T),
            apart(gamma[0, 0] @ v, C[0, 0]),
        )

    return columns(errors, SIZES)


def calls() -> Rows:
    robots = zoo.chain(20), zoo.tree(20, 2), zoo.biped(), zoo.quadruped(spine=True)
    return [(call(of.coriolis_matrix, m) * 1e6, call(of.christoffel_symbols, m) * 1e6) for m in robots]


def symbols() -> Rows:
    from sympy import symbols

    def seconds(n: int) -> tuple[float, ...]:
        model, q = zoo.auto_tree(n), np.array(symbols(f"q1:{n + 1}", real=True), object)
        direct = [once(partial(f, model, q)) for f in (of.mass_matrix, of.christoffel_symbols)]
        return *direct, once(lambda: by_derivatives(model, q)) if n <= DIFFERENTIATED else math.nan

    return columns(seconds, SIZES)


def by_derivatives(model: Model, q: np.ndarray) -> np.ndarray:
    """Gamma_ijk = (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) / 2, by SymPy."""
    from sympy import diff

    M = symbolic.equations(model, q).M
    slopes = np.array([[[diff(x, k) for k in q] for x in row] for row in M.tolist()], object)
    return (slopes + slopes.transpose(0, 2, 1) - slopes.transpose(2, 0, 1)) / 2


def grow_chains() -> Rows:
    return columns(lambda n: curves(zoo.chain(n)), GROWING)


def grow_trees() -> Rows:
    return columns(lambda n: curves(zoo.tree(n, 2)), GROWING)


def grow_legs() -> Rows:
    """Bipeds and quadrupeds with 10, 18, 30 and 42 degrees of freedom, 6 of them in the trunk."""

    def costs(nv: int) -> list[float]:
        two, four = (curves(zoo.legged(legs, (nv - 6) // legs))[:2] for legs in (2, 4))
        return [x for pair in zip(two, four, strict=True) for x in pair]

    return columns(costs, (10, 18, 30, 42))


def curves(model: Model) -> list[float]:
    """Microseconds for C, for Gamma, and for Gamma without its zeros."""
    functions = of.coriolis_matrix, of.christoffel_symbols, of.christoffel_values
    return [call(f, model, "looped") * 1e6 for f in functions]


# --- chapter 4 ------------------------------------------------------------------------------------
def accelerations(
    n: int, branching: int, rate: float, spin: float = SPIN, mass: float = 0.5
) -> list[np.ndarray]:
    """Forward dynamics with rotors (MABA), without (ABA), by Eq. 4.26 (MCRBA), and by that without C v."""
    geared, plain = zoo.geared_tree(n, branching, RATIO, mass, spin), zoo.auto_tree(n, branching)
    q = tau = np.arange(1.0, n + 1)
    v = np.full(n, rate)
    H = of.mass_matrix(plain, q) + RATIO**2 * spin * np.eye(n)
    g = of.gravity_force(plain, q)
    return [
        of.forward_dynamics(geared, q, v, tau),
        of.forward_dynamics(plain, q, v, tau),
        np.linalg.solve(H, tau - of.bias_force(plain, q, v)),
        np.linalg.solve(H, tau - g),
    ]


def differences(branching: int, rate: float, **rotors: float) -> Rows:
    """Rows: MABA - ABA, MABA - MCRBA, MCRBA - ABA, and the last without C v."""

    def errors(n: int) -> tuple[float, ...]:
        maba, aba, mcrba, without = accelerations(n, branching, rate, **rotors)
        return apart(maba, aba), apart(maba, mcrba), apart(mcrba, aba), apart(without, aba)

    return columns(errors, SIZES)


def round_trip() -> Rows:
    def error(n: int) -> tuple[float]:
        model, q, v = zoo.geared_tree(n), np.arange(1.0, n + 1), np.full(n, math.pi / 2)
        return (apart(of.inverse_dynamics(model, q, v, of.forward_dynamics(model, q, v, q)), q),)

    return columns(error, SIZES)


def idle_rotors() -> Rows:
    return differences(1, 0.0, spin=0.0, mass=0.0)[:3]


def serial_at_rest() -> Rows:
    return differences(1, 0.0)[:3]


def branched_at_rest() -> Rows:
    return differences(2, 0.0)[:3]


def serial_moving() -> Rows:
    return differences(1, math.pi / 2)


def rotor_calls() -> Rows:
    return [tuple(x * 1e-3 for x in rotors_or_none(20, branching, None)) for branching in (1, 2)]


def grow_geared_chains() -> Rows:
    return columns(lambda n: rotors_or_none(n, 1), GROWING)


def grow_geared_trees() -> Rows:
    return columns(lambda n: rotors_or_none(n, 2), GROWING)


def rotors_or_none(n: int, branching: int, mode: str | None = "looped") -> list[float]:
    """Microseconds for forward dynamics with and without rotors."""
    models = zoo.geared_tree(n, branching), zoo.auto_tree(n, branching)
    return [call(of.forward_dynamics, m, mode) * 1e6 for m in models]


# --- costs ----------------------------------------------------------------------------------------
def operations() -> list[Grown]:
    """Multiplications of every method; the powers are the degrees of polynomials through five sizes."""
    costs = complexity([zoo.chain(n) for n in COUNTED])
    return [Grown(cost.counts[::2], math.nan if cost.power is None else cost.power) for cost in costs]


def call(function: Any, model: Model, mode: str | None = None) -> float:
    """Seconds for one call from Python on one state, excluding compilation."""
    kernel = compile(function, model, mode=mode)
    rng = np.random.default_rng(0)
    q, v = model.random_state(rng)
    given = [{"q": q, "v": v}.get(name, rng.normal(size=model.nv)) for name in function.present(None)]
    out = kernel(*given)
    return best(lambda: kernel(*given, out=out), SECONDS)


def once(run: Callable[[], object]) -> float:
    """Seconds of the best of several runs: the first ones also import modules and fill caches."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < 1.0:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
