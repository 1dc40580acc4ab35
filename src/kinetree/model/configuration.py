"""Positions as points of a manifold: neutral and random ones, steps along velocities, differences.

The last axis counts coordinates and the axes before it are the batch. Numbers of any kind are served: plain
numbers as floating-point arrays, others (symbols, many digits, expressions) as arrays of objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import ops
from kinetree.errors import ShapeError
from kinetree.model.layout import described

if TYPE_CHECKING:
    from kinetree.model.model import Model


def neutral(model: Model) -> np.ndarray:
    """The position in which every joint's successor coincides with its predecessor."""
    values = [x for body in model.bodies if body.mimic is None for x in body.joint.neutral()]
    return np.array(values, dtype=float)


def random_state(model: Model, rng: Any, batch: int | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """A random position, within finite limits where there are any, and a velocity with normal components."""
    rng = np.random.default_rng(rng)
    shape = (batch,) if isinstance(batch, int) else tuple(batch)
    q = np.empty((int(np.prod(shape)), model.nq))
    for row in q:
        row[:] = [x for body in model.bodies if body.mimic is None for x in body.joint.random(rng)]
    _draw_between_limits(model, q, rng)
    return q.reshape(*shape, model.nq), rng.standard_normal((*shape, model.nv))


def _draw_between_limits(model: Model, q: np.ndarray, rng: np.random.Generator) -> None:
    """Draw coordinates with two finite limits again, between them; clip those with one."""
    vector, _ = model.coordinate_places
    limits = model.limits
    for place, k in zip(vector["q"], vector["v"]):
        low, high = limits.lower[k], limits.upper[k]
        if not (ops.is_literal(low) and ops.is_literal(high) and low <= high):
            continue
        bounded = np.isfinite(high - low)
        q[:, place] = low + (high - low) * rng.random(len(q)) if bounded else np.clip(q[:, place], low, high)


def integrate(model: Model, q: Any, dv: Any) -> np.ndarray:
    """q (+) dv: the position reached from `q` by moving with the velocity `dv` for a unit of time."""
    q, dv = read(model, "integrate", "q", q), read(model, "integrate", "dv", dv)
    return _apply(model, "integrate", ("q", "v", "q"), lambda a, b: a + b, q, dv)


def difference(model: Model, q0: Any, q1: Any) -> np.ndarray:
    """q1 (-) q0: the velocity that leads from `q0` to `q1` in a unit of time."""
    q0, q1 = read(model, "difference", "q0", q0), read(model, "difference", "q1", q1)
    return _apply(model, "difference", ("q", "q", "v"), lambda a, b: b - a, q0, q1)


def rate(model: Model, q: Any, v: Any) -> np.ndarray:
    """The rates of the position coordinates, qdot = A(q) v."""
    q, v = read(model, "rate", "q", q), read(model, "rate", "v", v)
    return _apply(model, "rate", ("q", "v", "q"), lambda a, b: b, q, v)


def _apply(
    model: Model,
    method: str,
    spaces: tuple[str, str, str],
    vector_rule: Callable,
    a: np.ndarray,
    b: np.ndarray,
) -> np.ndarray:
    """One operation of all joints: at once where coordinates form a vector space, joint by joint elsewhere.

    `spaces` says of both operands and of the result whether they are positions (q) or velocities (v).
    """
    first, second, result = spaces
    vector, others = model.coordinate_places
    batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    out = np.empty((*batch, model.nq if result == "q" else model.nv), dtype=np.result_type(a, b))
    out[..., vector[result]] = vector_rule(a[..., vector[first]], b[..., vector[second]])
    for joint, place in others:
        operands = tuple(_entry(a, k) for k in place[first]), tuple(_entry(b, k) for k in place[second])
        for k, value in zip(place[result], getattr(joint, method)(*operands)):
            out[..., k] = value
    return out


def _entry(x: np.ndarray, k: int) -> Any:
    """One coordinate of all states of the batch; the number itself if there is no batch."""
    return x[k] if x.ndim == 1 else x[..., k]


def read(model: Model, function: str, name: str, x: Any) -> np.ndarray:
    """`x` as an array whose last axis counts positions (names that begin with q) or velocities."""
    velocities = not name.startswith("q")
    width = model.nv if velocities else model.nq
    array = np.asarray(x)
    if array.ndim == 0 or array.shape[-1] != width:
        raise ShapeError(
            f"{function}: {name} has shape {array.shape} but model '{model.name}' needs (..., {width}): "
            f"{described(model.bodies, velocities)}"
        )
    if array.dtype.kind in "iub":
        return array.astype(float)
    if array.dtype.kind not in "fcO":
        raise ShapeError(f"{function}: {name} must hold numbers, got an array of {array.dtype}")
    return array
