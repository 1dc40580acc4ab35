"""The functions of a model: each algorithm of the registry as something to call.

The kind of number decides how a call runs. Floats (arrays, lists, scalars) run as machine code that is
compiled once for the model; complex numbers, 50-digit numbers, symbols and expressions run eagerly, in plain
Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.arguments import bound, documentation, signature
from kinetree.errors import KinetreeError, ShapeError
from kinetree.interpreters import eager
from kinetree.model import Model
from kinetree.sweep import Algorithm

TARGETS = ("cpu", "eager")
FLOAT64 = np.dtype(np.float64)
ndarray = np.ndarray


class ModelFunction:
    """A function of a model that broadcasts over leading batch axes like a NumPy gufunc.

        f(model, *arrays, out=None, target=None)

    `target="eager"` runs the plain Python interpreter; "cpu" compiled code; None chooses by the kind of
    number.
    """

    def __init__(self, algorithm: Algorithm):
        self.algorithm = algorithm
        self.__name__ = algorithm.name
        self.__doc__ = documentation(algorithm)
        self.__signature__ = signature(algorithm)
        self.__wrapped__ = algorithm.text

    def __call__(
        self, model: Model, *args: Any, out: Any = None, target: str | None = None, **keywords: Any
    ) -> Any:
        ready = getattr(model, "_ready", None)
        if ready is not None and target is None and not keywords:
            kernel = ready.get((self, len(args)))
            if kernel is not None and _are_doubles(args):
                return kernel(*args) if out is None else kernel(*args, out=out)
        arrays, options = bound(self.algorithm, model, args, keywords)
        if target not in (None, *TARGETS):
            raise KinetreeError(
                f"{self.__name__}: unknown target {target!r}; choose from {', '.join(TARGETS)}"
            )
        plain = all(array.dtype.kind in "fiub" for array in arrays.values())
        if target == "cpu" and not plain:
            raise ShapeError(
                f"{self.__name__}: target 'cpu' needs arrays of floats; leave it out for other numbers"
            )
        if target == "eager" or not plain:
            return self._eager(model, arrays, options, out)
        from kinetree import kernels

        kernel = kernels.kernel_for(self.algorithm, model, arrays, options)
        if len(args) == len(arrays) and not options and kernel.dtype == FLOAT64:
            # the next call with as many arrays of doubles goes straight to the kernel, which checks shapes
            model.__dict__.setdefault("_ready", {})[self, len(args)] = kernel
        return kernel(*arrays.values(), out=out)

    def _eager(self, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any], out: Any) -> Any:
        cores = {a.name: len(a.shape) for a in self.algorithm.inputs}
        try:
            batch = np.broadcast_shapes(
                *(array.shape[: array.ndim - cores[name]] for name, array in arrays.items())
            )
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise ShapeError(
                f"{self.__name__}: the batch axes of the arguments do not broadcast: {shapes}"
            ) from None
        values = {name: _numbers(array, cores[name], batch) for name, array in arrays.items()}
        with np.errstate(invalid="ignore"):  # an infinity that comes in goes out as NaN
            _, outputs = eager.run(self.algorithm, model, values, options)
        objects = any(array.dtype == object for array in arrays.values())
        results = [eager.assembled(output, batch, objects) for output in outputs]
        results = [
            _poisoned(result, arrays, cores, batch, output.shape)
            for result, output in zip(results, outputs, strict=True)
        ]
        kinds = [array.dtype for array in arrays.values()]
        if kinds and all(kind == np.float32 for kind in kinds):
            results = [result.astype(np.float32) for result in results]
        if out is not None:
            outs = out if isinstance(out, tuple) else (out,)
            for place, result in zip(outs, results, strict=True):
                if np.shape(place) != np.shape(result):
                    raise ShapeError(
                        f"{self.__name__}: out has shape {np.shape(place)} but {np.shape(result)} is needed"
                    )
                np.copyto(place, result, casting="same_kind")
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"<function {self.__name__} of a model>"


def _are_doubles(args: tuple) -> bool:
    for a in args:  # a plain loop: this is on the way of every call
        if type(a) is not ndarray or a.dtype is not FLOAT64:
            return False
    return True


def _numbers(array: np.ndarray, core: int, batch: tuple[int, ...]) -> Any:
    """The array as nested lists of numbers, where the batch axes are part of each number."""
    if array.ndim == core and not batch:
        return array.tolist()
    axes = tuple(range(array.ndim - core, array.ndim))
    return _split(np.moveaxis(array, axes, tuple(range(core))), core)


def _split(array: np.ndarray, depth: int) -> Any:
    return [_split(part, depth - 1) for part in array] if depth else array + 0


def _poisoned(result: Any, arrays: dict, cores: dict, batch: tuple[int, ...], core: tuple[int, ...]) -> Any:
    """NaN in every number of a state into which a NaN or infinity went, also where the result does not depend
    on it.
    """
    if not isinstance(result, (np.ndarray, np.generic)) or result.dtype.kind != "f":
        return result
    bad: Any = np.zeros(batch, bool)
    for name, array in arrays.items():
        finite = np.isfinite(array)
        bad = bad | ~finite.all(axis=tuple(range(array.ndim - cores[name], array.ndim)))
    if not np.any(bad):
        return result
    return np.where(np.reshape(bad, np.shape(bad) + (1,) * len(core)), np.nan, result)[()]


placements = ModelFunction(algorithms.placements)
body_velocities = ModelFunction(algorithms.body_velocities)
body_accelerations = ModelFunction(algorithms.body_accelerations)
partial_velocities = ModelFunction(algorithms.partial_velocities)

frame_placement = ModelFunction(algorithms.frame_placement)
frame_velocity = ModelFunction(algorithms.frame_velocity)
frame_acceleration = ModelFunction(algorithms.frame_acceleration)
jacobian = ModelFunction(algorithms.jacobian)
jacobian_rate = ModelFunction(algorithms.jacobian_rate)

center_of_mass = ModelFunction(algorithms.center_of_mass)
center_of_mass_velocity = ModelFunction(algorithms.center_of_mass_velocity)
center_of_mass_jacobian = ModelFunction(algorithms.center_of_mass_jacobian)

inverse_dynamics = ModelFunction(algorithms.inverse_dynamics)
bias_force = ModelFunction(algorithms.bias_force)
gravity_force = ModelFunction(algorithms.gravity_force)
forward_dynamics = ModelFunction(algorithms.forward_dynamics)
hybrid_dynamics = ModelFunction(algorithms.hybrid_dynamics)

mass_matrix = ModelFunction(algorithms.mass_matrix)
inverse_mass_matrix = ModelFunction(algorithms.inverse_mass_matrix)
mass_matrix_rate = ModelFunction(algorithms.mass_matrix_rate)
mass_matrix_product = ModelFunction(algorithms.mass_matrix_product)
mass_matrix_solve = ModelFunction(algorithms.mass_matrix_solve)
mass_matrix_logdet = ModelFunction(algorithms.mass_matrix_logdet)
mass_matrix_trace = ModelFunction(algorithms.mass_matrix_trace)

composite_inertias = ModelFunction(algorithms.composite_inertias)
composite_moments = ModelFunction(algorithms.composite_moments)
articulated_inertias = ModelFunction(algorithms.articulated_inertias)

coriolis_matrix = ModelFunction(algorithms.coriolis_matrix)
coriolis_matrices = ModelFunction(algorithms.coriolis_matrices)
coriolis_product = ModelFunction(algorithms.coriolis_product)
coriolis_transpose_product = ModelFunction(algorithms.coriolis_transpose_product)
christoffel_symbols = ModelFunction(algorithms.christoffel_symbols)

kinetic_energy = ModelFunction(algorithms.kinetic_energy)
potential_energy = ModelFunction(algorithms.potential_energy)

momentum = ModelFunction(algorithms.momentum)
centroidal_momentum = ModelFunction(algorithms.centroidal_momentum)
centroidal_momentum_matrix = ModelFunction(algorithms.centroidal_momentum_matrix)
centroidal_momentum_matrix_rate = ModelFunction(algorithms.centroidal_momentum_matrix_rate)
system_inertia = ModelFunction(algorithms.system_inertia)

joint_wrenches = ModelFunction(algorithms.joint_wrenches)
constraint_forces = ModelFunction(algorithms.constraint_forces)
base_reaction = ModelFunction(algorithms.base_reaction)
composite_wrenches = ModelFunction(algorithms.composite_wrenches)
articulated_wrenches = ModelFunction(algorithms.articulated_wrenches)

# the same quantities by other routes, for comparison
composite_moments_walker_orin = ModelFunction(algorithms.composite_moments_walker_orin)
inverse_dynamics_composite = ModelFunction(algorithms.inverse_dynamics_composite)
inverse_dynamics_inertial = ModelFunction(algorithms.inverse_dynamics_inertial)
forward_dynamics_concurrent = ModelFunction(algorithms.forward_dynamics_concurrent)
gravity_force_composite = ModelFunction(algorithms.gravity_force_composite)
mass_matrix_inertial = ModelFunction(algorithms.mass_matrix_inertial)
