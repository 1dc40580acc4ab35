"""Functions of a model in CasADi: as graphs of scalars (SX), or as compiled code with its derivatives.

    a = kt.forward_dynamics(robot, q, v, tau)               # of SX or MX
    f = kt.casadi.wrap(kt.forward_dynamics, robot)          # the casadi.Function of it

q is a column of nq numbers, and derivatives are with respect to these numbers. An array of more than two axes
becomes a matrix: the rows of all its matrices, one below the other.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from kinetree.bridges.casadi_library import Matrix, faces, library, matrix
from kinetree.bridges.numbers import Run, operations
from kinetree.compiler.runtime import cache
from kinetree.errors import ArgumentError, ShapeError
from kinetree.extras import needed
from kinetree.model import Model
from kinetree.stages.arguments import named
from kinetree.stages.compile import job_for
from kinetree.stages.function import Function
from kinetree.stages.job import Job
from kinetree.stages.splice import lowered


def wrap(function: Function, model: Model, *, inputs: Sequence[str] | None = None, **options: Any) -> Any:
    """The `casadi.Function` of a function of a model: its operations as a graph of SX.

    The graph is that of the simplified program, without the terms that are zero for this robot. CasADi calls
    it with SX, MX or numbers, differentiates it, and generates code from it. It cannot refuse a state: where
    inertia is singular, its results are whatever the divisions give.

    Args:
        function: a function of a model, such as `kinetree.inverse_dynamics`, or one of your own.
        model: the robot.
        inputs: names of optional inputs to take ("f_ext", "parameters", "gravity"); by default none.
        options: static options of the function (`frame="tool"`, ...).
    """
    ca = _casadi()
    job = job_for("casadi.wrap", function, model, inputs, options)

    def make() -> Any:
        program, face = lowered(job), faces(job, order=0)[0]
        symbols = [ca.SX.sym(name, m.rows, m.columns) for name, (m, _) in face.inputs.items()]
        matrices = [m for m, _ in face.inputs.values()]
        numbers = [[x[row, column] for column, row in m.positions] for x, m in zip(symbols, matrices)]
        run = Run(program, _operations(), numbers)
        results = [
            _assembled(run.memory[array], m)
            for array, (m, _) in zip(program.outputs, face.outputs.values(), strict=True)
        ]
        return ca.Function(face.name, symbols, results, list(face.inputs), list(face.outputs))

    return model.memo(("casadi.wrap", job), make)


def external(
    function: Function,
    model: Model,
    *,
    inputs: Sequence[str] | None = None,
    order: int = 2,
    **options: Any,
) -> Any:
    """The `casadi.Function` of a function of a model: exported C, compiled here, with its derivatives.

    CasADi calls it with MX or numbers; it cannot be used in SX. Jacobians have the sparsity of the robot. A
    state that the function refuses (a singular inertia, a quaternion far from unit length) is a failed
    evaluation, which solvers such as Ipopt treat as a step that was too long. Needs the C compiler of the
    system (cc, gcc or clang); the compiled library is cached on disk.

    Args:
        function, model, inputs, options: as for `wrap`.
        order: of the derivatives: 0 for none, 1 for the Jacobian, 2 for second derivatives as well, which an
            exact Hessian needs. Higher orders take longer to compile.
    """
    ca = _casadi()
    if order not in (0, 1, 2):
        raise ArgumentError(f"casadi.external: order must be 0, 1 or 2, not {order!r}")
    job = job_for("casadi.external", function, model, inputs, options)

    def make() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return ca.external(function.name, str(_built(job, order, Path(folder))))

    return model.memo(("casadi.external", job, order), make)


def _built(job: Job, order: int, folder: Path) -> Path:
    """The compiled library of a job in a folder: from the disk cache, or compiled now and cached."""
    key, name = job.key, ""
    if key is not None:
        facts = ("casadi", sys.platform, platform.machine(), str(order), key)
        name = hashlib.sha256("\0".join(facts).encode()).hexdigest()
        code = cache.load(name)
        if code is not None:
            file = folder / "kept.so"
            file.write_bytes(code)
            return file
    file = library(faces(job, order), folder)
    if name:
        cache.store(name, file.read_bytes())
    return file


def evaluated(
    function: Function, model: Model, args: tuple, keywords: dict[str, Any], out: Any, target: str | None
) -> Any:
    """Call a function with SX, MX or DM, through its graph."""
    who = function.name
    if target not in (None, "eager") or out is not None:
        raise ArgumentError(f"{who}: matrices of CasADi go without target= and out=: make them NumPy arrays")
    given, options = named(function, model, args, keywords)
    job = job_for(who, function, model, tuple(given), options)
    graph = wrap(function, model, inputs=tuple(given), **options)
    matrices = [_matrix(job, n, core, given[n]) for n, core in zip(job.present, job.shapes[0], strict=True)]
    results = graph.call(matrices)
    if len(results) == 1:
        return results[0]
    return tuple(results) if function.result is None else function.result(*results)


def _matrix(job: Job, name: str, core: tuple[int, ...], value: Any) -> Any:
    """An argument as the matrix that a graph takes; else ShapeError."""
    ca, m = _casadi(), matrix(core)
    if not isinstance(value, (ca.SX, ca.MX, ca.DM)):
        array = np.asarray(value)
        if array.shape != core:
            raise ShapeError(job.wrong_shape(name, array.shape))
        value = array.reshape(m.rows, m.columns)
    elif value.shape != (m.rows, m.columns):
        raise ShapeError(
            f"{job.function.name}: {name} is a matrix of {value.shape[0]} by {value.shape[1]}, but model "
            f"{job.model.name!r} needs {m.rows} by {m.columns} (one state; CasADi's map does batches)"
        )
    return value


@functools.cache
def _operations() -> dict[str, Any]:
    """Each operation of a program, on CasADi numbers."""
    ca = _casadi()
    own = {
        "less": ca.lt, "less_equal": ca.le, "equal": ca.eq, "where": ca.if_else, "min": ca.fmin,
        "max": ca.fmax, "abs": ca.fabs, "logical_and": ca.logic_and, "logical_or": ca.logic_or,
        "logical_not": ca.logic_not,
    }  # fmt: skip
    return operations(SimpleNamespace(**(vars(ca) | own)))


def _assembled(numbers: list[Any], m: Matrix) -> Any:
    """The matrix of some numbers, without structural zeros."""
    ca = _casadi()
    places = [k for k, x in enumerate(numbers) if not ca.SX(x).is_zero()]
    order, starts, rows = m.pattern(places)
    values = ca.vertcat(*(numbers[k] for k in order)) if order else ca.SX(0, 1)
    return ca.SX(ca.Sparsity(m.rows, m.columns, starts, rows), values)


def _casadi() -> Any:
    return needed("casadi", "kt.casadi")


__all__ = ["external", "wrap"]
