"""The cost of each route in multiplications: a check of the complexity claims of the documents.

Sweeps are counted in their programs. Routes with dense matrices run on counting arrays: a matrix product
counts without multiplications by zero, a solution with a unit triangular matrix counts as a substitution, any
other as n^3 / 3 plus n^2 for each column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree.alternatives import routes
from kinetree.alternatives.system import System
from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.stages import Job

Array = np.ndarray


class Cost(NamedTuple):
    """The number of multiplications of a route, on models of growing size."""

    quantity: str  # what it computes
    route: str  # how
    claim: int  # the power of N that the documents give for chains, corrected
    counts: tuple[int, ...]  # for each model
    power: int | None  # degree of the counts as a polynomial in the number of velocities; None if not one


class Tally:
    """The number of multiplications so far."""

    def __init__(self) -> None:
        self.count = 0


class Counted(np.ndarray):
    """An array whose products, quotients and solutions are counted; zeros cost nothing."""

    tally: Tally

    def __array_finalize__(self, of: Any) -> None:
        self.tally = getattr(of, "tally", Tally())

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        plain = [np.asarray(x) for x in given]
        result = getattr(ufunc, method)(*plain, **more)
        if ufunc is np.matmul:
            self.tally.count += _products(*plain)
        elif ufunc in (np.multiply, np.divide) and not any(x.ndim == 0 for x in plain):
            self.tally.count += int(np.count_nonzero(result))
        return counted(result, self.tally)

    def __array_function__(self, function: Any, types: Any, given: Any, more: Any) -> Any:
        result = function(*_plain(given), **more)
        if function is np.linalg.solve or function is np.linalg.inv:
            self.tally.count += _solution(np.asarray(given[0]), np.asarray(result))
        return counted(result, self.tally)


def counted(x: Any, tally: Tally) -> Any:
    """The array as a counting one."""
    result = np.asarray(x).view(Counted)
    result.tally = tally
    return result


def _plain(x: Any) -> Any:
    """Nested lists and tuples of arrays, with counting arrays turned into plain ones."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(_plain, x))
    return np.asarray(x) if isinstance(x, Counted) else x


def _products(A: Array, B: Array) -> int:
    """The multiplications of A B, except those by zero."""
    rows = np.count_nonzero(_clean(B.reshape(len(B), -1)), axis=1)
    return int(np.sum(np.count_nonzero(_clean(A), axis=0) * rows))


def _clean(A: Array) -> Array:
    """The matrix with rounding noise set to zero."""
    return np.abs(A) > 1e-13 * np.abs(A).max(initial=0.0)


def _solution(A: Array, X: Array) -> int:
    """The multiplications to solve A X = B: by substitution, X = B + (1 - A) X, or by elimination."""
    strict = np.eye(len(A)) - A
    if not np.any(np.diag(strict)) and (not np.any(np.triu(strict)) or not np.any(np.tril(strict))):
        return _products(strict, X)
    n, columns = len(A), X.size // max(len(A), 1)
    return n**3 // 3 + n * n * columns


def _dense(model: Model, route: Callable[..., Any], *given: Array) -> int:
    """The multiplications of a route with dense matrices, at some state, including those for phi."""
    q, v = model.random_state(0)
    system, tally = System(model, q, v), Tally()
    for name in ("E", "S", "M", "b", "c", "V", "ring"):
        setattr(system, name, counted(getattr(system, name), tally))
    route(system, *given)
    return tally.count


def _sweep(model: Model, name: str, times: int = 1) -> int:
    """The multiplications and divisions in the unrolled program of an algorithm."""
    function = getattr(of, name)
    ops = Job(function, model, function.present(None), function.options, mode="unrolled").lowered().ops
    return times * (ops["mul"] + ops["div"])


# (quantity, route, power of N on chains, count)
ROUTES: tuple[tuple[str, str, int, Callable[[Model], int]], ...] = (
    ("mass matrix", "H phi M phi* H*, multiplied out", 3,
     lambda m: _dense(m, routes.mass_matrix_newton_euler)),
    ("mass matrix", "Jacobians, J^T (M J)", 3, lambda m: _dense(m, routes.mass_matrix_from_jacobians)),
    ("mass matrix", "N inverse dynamics", 2, lambda m: _sweep(m, "inverse_dynamics", m.nv)),
    ("mass matrix", "composite bodies", 2, lambda m: _sweep(m, "mass_matrix")),
    ("Coriolis matrix", "dense, J^T (M J' + B J)", 3, lambda m: _dense(m, routes.coriolis_matrix_dense)),
    ("Coriolis matrix", "N modified Newton-Euler calls", 2, lambda m: _sweep(m, "coriolis_product", m.nv)),
    ("Coriolis matrix", "composite bodies", 2, lambda m: _sweep(m, "coriolis_matrix")),
    ("Christoffel symbols", "composite bodies", 3, lambda m: _sweep(m, "christoffel_values")),
    ("inverse dynamics", "Newton-Euler recursion", 1, lambda m: _sweep(m, "inverse_dynamics")),
    ("inverse dynamics", "composite bodies", 1, lambda m: _sweep(m, "inverse_dynamics_composite")),
    ("forward dynamics", "dense solution (19a)", 3,
     lambda m: _dense(m, routes.forward_dynamics_dense, np.ones(m.nv))),
    ("forward dynamics", "principle of Gauss", 3,
     lambda m: _dense(m, routes.forward_dynamics_gauss, np.ones(m.nv))),
    ("forward dynamics", "factors, right to left (19b)", 1,
     lambda m: _sweep(m, "forward_dynamics_concurrent")),
    ("forward dynamics", "articulated bodies", 1, lambda m: _sweep(m, "forward_dynamics")),
)  # fmt: skip


def complexity(models: Sequence[Model]) -> tuple[Cost, ...]:
    """The cost of every route on each of these models, such as chains of 6, 8, 10, 12 and 14 bodies.

    Counts of chains are polynomials in their length. Sizes must grow in equal steps, and at least five are
    needed to recognise a polynomial of degree 3. Costs do not depend on the state.

    Reference: Jain (2024) part 4 and Concurrent Dynamics (2017) claim these powers; the latter's O(N^2) of
    the Jacobian procedure is O(N^3) on a chain.
    """
    sizes = [model.nv for model in models]
    if len(models) < 5 or sizes[1] <= sizes[0] or np.ptp(np.diff(sizes)):
        raise ArgumentError(f"complexity: give five models whose sizes grow in equal steps, not {sizes}")
    found = []
    for quantity, route, claim, count in ROUTES:
        counts = tuple(count(model) for model in models)
        found.append(Cost(quantity, route, claim, counts, _degree(counts)))
    return tuple(found)


def _degree(counts: Sequence[int]) -> int | None:
    """The degree of the polynomial through the counts: the order of the first constant differences."""
    for degree in range(1, len(counts) - 1):
        steps = np.diff(counts, degree)
        if np.ptp(steps) <= 0.05 * np.abs(steps).max():
            return degree
    return None
