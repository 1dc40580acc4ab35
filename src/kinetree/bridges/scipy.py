"""Functions of a model for SciPy's solvers: one vector in, one vector out, and the exact Jacobian.

    fit = kt.scipy.residual(distance, robot, wrt="q", goal=goal)
    scipy.optimize.least_squares(fit, q0, jac=fit.jac)

    flow = kt.scipy.motion(robot)
    scipy.integrate.solve_ivp(flow, (0, 5), np.concatenate([q, v]), method="Radau", jac=flow.jac)

Derivatives are with respect to the numbers of the vector, including those of quaternions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.bridges.slopes import slopes_of
from kinetree.derived import passive_force
from kinetree.errors import ArgumentError, ShapeError
from kinetree.extras import needed
from kinetree.model import Model
from kinetree.stages import Function, function
from kinetree.stages.arguments import bound
from kinetree.stages.batches import batch_of
from kinetree.stages.job import Job
from kinetree.stages.splice import lowered
from kinetree.stages.transforms import jacobian_of

Array = np.ndarray


class Residual:
    """A function of a model as a function of one vector x; made by `residual`.

    Attributes:
        size: the length of x.
    """

    def __init__(
        self, base: Function, model: Model, wrt: tuple[str, ...], states: int | None, given: dict[str, Any]
    ):
        known = {a.name: a for a in base.inputs}
        for name in wrt:
            if name not in known or name in given:
                wrong = (
                    "is given, so it cannot vary" if name in given else f"is not one of {', '.join(known)}"
                )
                raise ArgumentError(f"scipy.residual: the input {name!r} of {base.name} {wrong}")
        self.function, self.model, self.wrt, self.states, self.given = base, model, wrt, states, given
        self._shapes = [known[name].sizes(model) for name in wrt]
        self._widths = [int(np.prod(shape)) for shape in self._shapes]
        self._lead = () if states is None else (states,)
        self.size = sum(self._widths) * (states or 1)
        arrays, options = bound(base, model, (), {**given, **self._inputs(np.zeros(self.size))})
        self._job = Job(base, model, tuple(arrays), options)
        self._rows = [int(np.prod(shape)) for shape in self._job.shapes[1]]
        self._count = int(np.prod(batch_of(base, model, arrays, options)[0]))  # of states
        self._slopes = slopes_of(base, wrt)

    def __call__(self, x: Any) -> Any:
        """The results, state by state; a plain number if there is only one."""
        parts = zip(self._run(self.function, x), self._rows, strict=True)
        found = np.concatenate([np.reshape(part, (self._count, n)) for part, n in parts], axis=1).ravel()
        return found if found.size != 1 else float(found[0])

    def jac(self, x: Any) -> Any:
        """The derivatives of the results with respect to x: a matrix, or the gradient if the result is one
        number.

        With `states` it is sparse, with a block for each state.
        """
        blocks = _joined(self._run(self._slopes, x), self._rows, self._widths, self._count)
        if self.states is None:
            matrix = blocks.reshape(-1, self.size)
            return matrix if len(matrix) != 1 else matrix[0]
        pattern = self.sparsity
        return type(pattern)((blocks[:, self._used].ravel(), pattern.indices, pattern.indptr), pattern.shape)

    def hess(self, x: Any) -> Array:
        """The matrix of second derivatives with respect to x, if the result is one number."""
        if self._count * sum(self._rows) != 1:
            raise ShapeError(f"scipy.residual: {self.function.name} gives several numbers: it has no Hessian")
        first = jacobian_of(self.function, wrt=self.wrt, coordinates="ambient")
        second = jacobian_of(first, wrt=self.wrt, coordinates="ambient")
        return _joined(self._run(second, x), self._widths, self._widths)[0]

    @cached_property
    def sparsity(self) -> Any:
        """The sparsity of the Jacobian: a sparse matrix of ones, known from the robot itself."""
        sparse = needed("scipy.sparse", "kt.scipy")
        copies = np.ones((self._count, 1)) if self.states is None else sparse.eye(self.states)
        found = sparse.csr_matrix(sparse.kron(copies, self._used.astype(float), format="csr"))
        found.sort_indices()
        return found

    @cached_property
    def _used(self) -> Array:
        """The sparsity of the Jacobian of one state."""
        job = self._job
        program = lowered(Job(self._slopes, self.model, self._slopes.present(job.present), job.options))
        parts = [np.isin(np.arange(array.size), program.places(array)) for array in program.outputs]
        return _joined(parts, self._rows, self._widths)[0]

    def _inputs(self, x: Array) -> dict[str, Any]:
        """The inputs that x holds, by name."""
        if x.shape != (self.size,):
            raise ShapeError(
                f"scipy.residual: x has shape {x.shape}, but ({self.size},) is needed: {', '.join(self.wrt)} "
                f"of {self.states or 1} states"
            )
        parts = np.split(x.reshape(*self._lead, -1), np.cumsum(self._widths)[:-1], axis=-1)
        return {n: p.reshape(*self._lead, *s) for n, p, s in zip(self.wrt, parts, self._shapes, strict=True)}

    def _run(self, f: Function, x: Any) -> Sequence[Any]:
        found = f(self.model, **self._inputs(np.asarray(x, float)), **self.given)
        return found if isinstance(found, tuple) else (found,)


def residual(
    function: Function,
    model: Model,
    wrt: str | Sequence[str] = "q",
    *,
    states: int | None = None,
    **given: Any,
) -> Residual:
    """A function of a model in SciPy's form: `f(x)`, `f.jac(x)`, `f.hess(x)` and `f.sparsity`.

        fit = kt.scipy.residual(kt.gravity_force, robot, wrt="q")
        scipy.optimize.least_squares(fit, q0, jac=fit.jac)

    Args:
        function: a function of a model.
        model: the robot.
        wrt: the names of the inputs that x holds, one after another.
        states: the number of states in x, one after another, if x holds several.
        given: the other inputs and options. If they are batches, x is evaluated with all of them, and the
            results follow each other; with `states`, each state has its own.
    """
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    if not isinstance(function, Function):
        raise ArgumentError(
            f"scipy.residual: {function!r} is not a model function; give one such as kinetree.jacobian"
        )
    return Residual(function, model, names, states, given)


class Motion:
    """The equations of motion for `solve_ivp`: x = [q; v], f(t, x), f.jac(t, x); see `motion`."""

    def __init__(self, flow: Function, model: Model):
        self.function, self.model = flow, model
        self._slopes = slopes_of(flow, ("q", "v"))

    def __call__(self, t: float, x: Any) -> Array:
        """The rate of x = [q; v]."""
        return np.concatenate(self.function(self.model, t, *self._state(x)))

    def jac(self, t: float, x: Any) -> Array:
        """The derivatives of the rate with respect to x."""
        sizes = self.model.nq, self.model.nv
        return _joined(self._slopes(self.model, t, *self._state(x)), sizes, sizes)[0]

    def _state(self, x: Any) -> list[Array]:
        return np.split(np.asarray(x, float), [self.model.nq])


def motion(model: Model, tau: Any = None, *, passive: bool = True, smoothing: float = 0.0) -> Motion:
    """The equations of motion for `scipy.integrate.solve_ivp`, with the Jacobian for its implicit methods.

        flow = kt.scipy.motion(robot)
        solve_ivp(flow, (0, 5), np.concatenate([q, v]), method="Radau", jac=flow.jac)

    Quaternions in x need not have unit length: they are normalised.

    Args:
        model: the robot.
        tau: the forces of the motors: None, (nv,) numbers, or a function of a model "t, q, v -> tau" (with or
            without each of these inputs).
        passive: include damping, friction and springs of the joints.
        smoothing: velocity over which friction changes its sign, rad/s or m/s. At 0 it jumps, where solvers
            with error control take ever shorter steps.
    """
    law = tau if isinstance(tau, Function) else None
    constant = np.zeros(model.nv) if tau is None or law is not None else np.asarray(tau, float)
    if constant.shape != (model.nv,):
        raise ShapeError(
            f"scipy.motion: tau has shape {constant.shape} but model {model.name!r} needs ({model.nv},), or "
            "give a function of a model"
        )
    inputs = [] if law is None else [a.name for a in law.own_inputs]
    if not {"t", "q", "v"}.issuperset(inputs):
        raise ArgumentError(f"scipy.motion: {law!r} takes {', '.join(inputs)}, but only t, q and v are known")

    @function("t, q, v -> rate(nq), a")
    def flow(model: Model, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        q = model.normalize(q)
        here = {"t": t, "q": q, "v": v}
        force = constant if law is None else law(model, **{name: here[name] for name in inputs})
        if passive:
            force = force + passive_force(model, q, v, smoothing=smoothing)
        return model.rate(q, v), of.forward_dynamics(model, q, v, force)

    return Motion(flow, model)


def _joined(parts: Sequence[Any], rows: Sequence[int], columns: Sequence[int], count: int = 1) -> Array:
    """(count, sum of rows, sum of columns): block matrices of some states."""
    rest = iter(parts)
    bands = [np.concatenate([np.reshape(next(rest), (count, m, n)) for n in columns], axis=2) for m in rows]
    return np.concatenate(bands, axis=1)


__all__ = ["Motion", "Residual", "motion", "residual"]
