"""Base parameters: the combinations of inertial parameters that the motion of a robot depends on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.identification.regressors import regressor_columns, torque_regressor
from kinetree.model import Model

Array = np.ndarray

RANK = 1e-9  # a column is a combination of others if less than this fraction of it is left
NOISE = 1e-10  # coefficients below this are rounding errors
STATES = 3  # random states per column: far more equations than unknowns


class BaseParameters(NamedTuple):
    """The identifiable combinations of parameters: tau = Y[:, independent] @ (matrix @ pi)."""

    independent: Array  # (r,) columns of the regressor that are independent of those before them
    matrix: Array  # (r, p): the base parameters are matrix @ pi
    names: list[str]  # each combination, in words

    @property
    def rank(self) -> int:
        """The number of base parameters."""
        return len(self.independent)


def base_parameters(model: Model, *, extra: tuple[str, ...] = ()) -> BaseParameters:
    """The combinations of inertial parameters that generalised forces depend on.

        Y pi = Y[:, independent] (matrix @ pi)        matrix[:, independent] = 1

    If a column of the regressor is a combination of others in every state, its parameter cannot be identified
    alone: it adds to theirs. Columns of outer bodies are taken first. Computed from the regressor at random
    states, whose rank equals that of all states with probability 1; coefficients are exact to about 1e-12.

    Args:
        model: the robot.
        extra: further columns, as for `torque_regressor`.

    Reference: Gautier (1991), numerical calculation of the base inertial parameters.
    """
    kinds = (extra,) if isinstance(extra, str) else tuple(extra)
    return model.memo(("base parameters", kinds), lambda: _found(model, kinds))


def _found(model: Model, extra: tuple[str, ...]) -> BaseParameters:
    names = regressor_columns(model, extra)
    R = _triangle(model, extra, len(names))
    order = np.arange(len(names))[::-1]  # outer bodies first
    sizes = np.linalg.norm(R, axis=0)
    chosen: list[int] = []
    basis = np.zeros((len(R), 0))
    for column in order:
        rest = R[:, column] / (sizes[column] or 1.0)
        for _ in range(2):  # reorthogonalisation: twice is enough
            rest = rest - basis @ (basis.T @ rest)
        left = float(np.linalg.norm(rest))
        if sizes[column] > RANK * sizes.max(initial=0.0) and left > RANK:
            basis = np.column_stack([basis, rest / left])
            chosen.append(int(column))
    independent = np.array(sorted(chosen), dtype=int)
    others = np.array([k for k in range(len(names)) if k not in set(chosen)], dtype=int)
    matrix = np.zeros((len(independent), len(names)))
    matrix[np.arange(len(independent)), independent] = 1.0
    if others.size and independent.size:
        scale = sizes[independent]
        share = np.linalg.lstsq(R[:, independent] / scale, R[:, others], rcond=None)[0] / scale[:, None]
        weight = np.abs(share) * scale[:, None]
        seen = sizes[others] > RANK * sizes.max()
        share[(weight <= NOISE * sizes[others]) | ~seen] = 0.0
        matrix[:, others] = share
    words = [_words(row, int(own), names) for row, own in zip(matrix, independent, strict=True)]
    return BaseParameters(independent, matrix, words)


def _triangle(model: Model, extra: tuple[str, ...], width: int) -> Array:
    """The triangular factor of the regressor at random states, accumulated in chunks of states."""
    rng = np.random.default_rng(0)
    R = np.zeros((0, width))
    needed = STATES * width
    while needed > 0:
        count = min(64, needed)
        q, v = model.random_state(rng, count)
        Y = torque_regressor(model, q, v, rng.normal(size=(count, model.nv)), extra=extra)
        R = triangle(np.concatenate([R, Y.reshape(-1, width)]))
        needed -= count
    return R


def triangle(rows: Array) -> Array:
    """The triangular factor of a matrix, or of several."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _words(row: Array, own: int, names: list[str]) -> str:
    """A combination, in words: "link7.zz + 0.5 link6.m"."""
    words = names[own]
    for k in np.flatnonzero(row):
        if k != own:
            size = abs(float(row[k]))
            factor = "" if abs(size - 1.0) < 1e-9 else f"{size:.6g} "
            words += f" {'-' if row[k] < 0 else '+'} {factor}{names[k]}"
    return words
