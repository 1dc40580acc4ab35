"""`kt.identify`: inertial parameters from measured motion."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ArgumentError, ShapeError
from kinetree.identification.base import BaseParameters, base_parameters, triangle
from kinetree.identification.columns import Columns
from kinetree.identification.regressors import torque_regressor
from kinetree.model import Model

Array = np.ndarray

BARRIERS = 10  # heights of the barrier
REWEIGHTED = 5  # iterations that estimate the noise from the residual
# The search for physical parameters, in units of the weighted squares: the first barrier height, and the last
# one relative to the regularization, so that the prior decides what the data do not; Newton steps at each
# height, and when they end.
HIGHEST, LOWEST = 1e2, 1e-3
STEPS, CONVERGED, SHORTEST = 50, 1e-2, 1e-9


class Identified(NamedTuple):
    """The result of an identification.

    `base_values` are the least-squares estimates of the identifiable combinations, unbiased and without the
    prior; `parameters` are physical, and follow the prior where the data say nothing.
    """

    model: Model  # with the parameters found
    parameters: Array  # (nb, 10)
    extra: dict[str, Array]  # the further parameters, by kind
    covariance: Array  # (p, p) of all parameters in column order; the prior counts as knowledge
    base: BaseParameters
    base_values: Array  # (r,)
    base_covariance: Array  # (r, r)
    noise: Array  # (nv,) standard deviation of the forces
    samples: int

    def base_interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """The ends of the intervals that contain each base parameter with the given probability."""
        free = max(1.0, self.samples - len(self.base_values) / len(self.noise))
        z = NormalDist().inv_cdf(0.5 + level / 2)
        t = z + (z**3 + z) / (4 * free)  # Student's t for this many degrees of freedom
        half = t * np.sqrt(np.diag(self.base_covariance))
        return self.base_values - half, self.base_values + half


def identify(
    model: Model,
    q: Any,
    v: Any,
    a: Any,
    tau: Any,
    *,
    extra: tuple[str, ...] = (),
    noise: Any = None,
    weights: Any = None,
    prior: Any = None,
    regularization: float = 1e-3,
    chunk: int = 1024,
) -> Identified:
    """The physical inertial parameters that best explain measured forces.

        minimise  sum |Y pi - tau|^2 / noise^2 + regularization * distance(pi, prior)^2

    over physical parameters: every pseudo-inertia is positive, and so is friction. Rotors, armatures, damping
    and friction that are not asked for in `extra`, and all springs, are taken from the model. The regressor
    is processed in chunks and never stored as a whole.

    Args:
        model: the robot, with parameters that serve as the prior.
        q, v, a, tau: measurements (samples, ...); tau is the force of the motors.
        extra: which further parameters to find, as for `torque_regressor`.
        noise: (nv,) standard deviations of tau; estimated from the residual if None.
        weights: (samples,) the weight of each sample; 1 if None.
        prior: (nb, 10) parameters to stay near; those of the model if None.
        regularization: weight of the prior: it counts as a measurement of each parameter to within 100 % of
            the size of its body, divided by the square root of this number.
        chunk: samples at a time.

    Raises:
        ShapeError: measurements that do not fit the model or each other.
        ArgumentError: fewer equations than base parameters.
    """
    columns = Columns(model, extra, prior)
    if not regularization > 0:
        raise ArgumentError(f"identify: regularization must be positive, got {regularization}")
    measured = _measured(model, q, v, a, tau, weights)
    base = base_parameters(model, extra=extra)
    samples = len(measured[0])
    if samples * model.nv <= base.rank:
        raise ArgumentError(
            f"identify: {samples} samples of {model.nv} forces cannot tell {base.rank} base parameters: "
            "give more samples of a motion that moves all joints"
        )
    T = _triangles(model, columns, measured, chunk)
    deviations = _given_noise(model, noise)
    values, deviations = _fitted(T, base, samples, deviations)
    R = triangle((T / deviations[:, None, None]).reshape(-1, T.shape[-1]))
    R, z = R[: columns.count, :-1], R[: columns.count, -1]
    reduced = triangle(R[:, base.independent])
    inverse = np.linalg.inv(reduced)
    full, covariance = _physical(columns, R, z, regularization)
    parameters, further = columns.split(full)
    return Identified(
        columns.model_with(parameters, further), parameters, further, covariance, base, values,
        inverse @ inverse.T, deviations, samples,
    )  # fmt: skip


def _measured(model: Model, q: Any, v: Any, a: Any, tau: Any, weights: Any) -> tuple[Array, ...]:
    arrays = []
    nv = model.nv
    for name, x, width in (("q", q, model.nq), ("v", v, nv), ("a", a, nv), ("tau", tau, nv)):
        array = np.asarray(x, float)
        if array.ndim != 2 or array.shape[1] != width:
            raise ShapeError(f"identify: {name} has shape {array.shape}, but (samples, {width}) is needed")
        if not np.isfinite(array).all():
            raise ArgumentError(f"identify: {name} holds numbers that are not finite: leave such samples out")
        arrays.append(array)
    counts = {len(array) for array in arrays}
    if len(counts) > 1:
        raise ShapeError(f"identify: q, v, a and tau have {[len(x) for x in arrays]} samples, not as many")
    given = np.ones(len(arrays[0])) if weights is None else np.asarray(weights, float)
    if given.shape != (len(arrays[0]),) or not (given >= 0).all():
        raise ShapeError(f"identify: weights must be {len(arrays[0])} numbers that are not negative")
    return (*arrays, given)


def _given_noise(model: Model, noise: Any) -> Array | None:
    if noise is None:
        return None
    given = np.broadcast_to(np.asarray(noise, float), (model.nv,)).copy()
    if not (given > 0).all():
        raise ArgumentError(f"identify: noise must be positive, got {given}")
    return given


def _triangles(model: Model, columns: Columns, measured: tuple[Array, ...], chunk: int) -> Array:
    """(nv, p + 1, p + 1): for each force the triangular factor of its equations [Y | tau]."""
    width = columns.count + 1
    T = np.zeros((model.nv, 0, width))
    for q, v, a, tau, weights in _chunks(measured, chunk):
        Y = torque_regressor(model, q, v, a, extra=columns.extra)
        known = tau - columns.known(q, v, a)
        rows = np.concatenate([Y, known[..., None]], axis=-1) * np.sqrt(weights)[:, None, None]
        T = triangle(np.concatenate([T, np.swapaxes(rows, 0, 1)], axis=1))
    return T


def _chunks(measured: tuple[Array, ...], chunk: int) -> Iterator[tuple[Array, ...]]:
    for start in range(0, len(measured[0]), chunk):
        yield tuple(array[start : start + chunk] for array in measured)


def _fitted(T: Array, base: BaseParameters, samples: int, noise: Array | None) -> tuple[Array, Array]:
    """The base parameters by weighted least squares, and the noise, from the residual if it is not known."""
    places = [*base.independent, T.shape[-1] - 1]
    T = T[:, :, places]
    sizes = np.linalg.norm(T[:, :, -1], axis=1) / np.sqrt(samples)
    deviations = np.where(sizes > 0, sizes, 1.0) if noise is None else noise
    for _ in range(REWEIGHTED if noise is None else 1):
        equations = (T / deviations[:, None, None]).reshape(-1, len(places))
        values = np.linalg.lstsq(equations[:, :-1], equations[:, -1], rcond=None)[0]
        if noise is None:
            left = np.linalg.norm(T @ np.append(values, -1.0), axis=1)
            free = max(1.0, samples - base.rank / len(T))
            deviations = np.maximum(left / np.sqrt(free), 1e-12 * np.maximum(sizes, 1e-300))
    return values, deviations


def _physical(columns: Columns, R: Array, z: Array, regularization: float) -> tuple[Array, Array]:
    """All parameters, physical, and their covariance, by Newton's method with a barrier."""
    W, prior = columns.metric(), columns.prior
    A = np.concatenate([R, np.sqrt(regularization) * W])
    c = np.concatenate([z, np.sqrt(regularization) * (W @ prior)])
    normal = A.T @ A
    covariance = np.linalg.pinv(normal, hermitian=True)
    best = np.linalg.lstsq(A, c, rcond=None)[0]
    if columns.is_physical(best):
        return best, covariance

    def cost(x: Array, height: float) -> float:
        left = A @ x - c
        return float(left @ left) / 2 + height * columns.barrier(x)[0]

    x = prior
    for height in np.geomspace(HIGHEST, min(LOWEST * regularization, HIGHEST), BARRIERS):
        for _ in range(STEPS):
            _, gradient, bends = columns.barrier(x)
            slope = A.T @ (A @ x - c) + height * gradient
            second = normal + height * bends
            scale = 1 / np.sqrt(np.diag(second))
            step = scale * np.linalg.solve(second * np.outer(scale, scale), -scale * slope)
            drop = -float(slope @ step)
            if drop < height * CONVERGED:
                break
            length, now = 1.0, cost(x, height)
            while not columns.is_physical(x + length * step) or (
                cost(x + length * step, height) > now - 0.1 * length * drop and length > SHORTEST
            ):
                length /= 2
            x = x + length * step
    return x, covariance
