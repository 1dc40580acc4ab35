"""Loops in other numbers: fifty digits by multipliers, and the numbers of SymPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from tests.loops.projection import Welded
from tests.loops.random_loop import RandomLoop
from tests.reference.precise import exact
from tests.soak import loops as soak

import kinetree as kt

DIGITS = 50
SMALL = mpmath.mpf(10) ** (5 - DIGITS)


class Precise:
    """The tree of a model with loops, its rows and their derivatives, in mpmath numbers."""

    def __init__(self, welded: Welded, q: np.ndarray):
        self.welded, self.tree = welded, welded.tree
        self.q = exact(q)
        for _ in range(3):
            self._close()

    def run(self, name: str, *args: Any, **options: Any) -> Any:
        found = np.asarray(getattr(kt, name)(self.tree, *args, target="eager", **options))
        return np.array([mpmath.mpf(x) for x in found.ravel()], object).reshape(found.shape)

    def _close(self) -> None:
        """One Newton step of the dependent joints; from a float to fifty digits in three."""
        step = np.zeros(self.welded.wide, object) * mpmath.mpf(0)
        phi = self.rows(self.q)
        step[self.welded.rest] = -self.solved(phi[:, None])[:, 0]
        self.q = np.asarray(self.tree.integrate(self.q, step))

    def rows(self, q: np.ndarray) -> np.ndarray:
        """How far each row is open: rods, relations and welds that are all but closed."""
        parts = []
        for k, c in enumerate(self.welded.closures):
            assert hasattr(c, "joint"), "only joints close the loops of this test"
            one, other = (self.run("frame_placement", q, frame=name) for name in (f"closing{k}", f"end{k}"))
            gap = one[:3, :3].T @ other[:3, :3]
            turn = [gap[2, 1] - gap[1, 2], gap[0, 2] - gap[2, 0], gap[1, 0] - gap[0, 1]]
            parts += [x / 2 for x in turn] + list(one[:3, :3].T @ (other[:3, 3] - one[:3, 3]))
        return np.array(parts, object)

    def K(self, q: np.ndarray) -> np.ndarray:
        parts = []
        for k in range(len(self.welded.closures)):
            one, other = (self.run("jacobian", q, frame=name) for name in (f"closing{k}", f"end{k}"))
            parts.append(other - one)
        return np.concatenate(parts)

    def solved(self, right: np.ndarray) -> np.ndarray:
        """x of K_d x = right, by least squares: rows may be redundant."""
        K = self.K(self.q)[:, self.welded.rest]
        square = mpmath.matrix((K.T @ K).tolist())
        columns = [mpmath.lu_solve(square, mpmath.matrix(x.tolist())) for x in (K.T @ right).T]
        return np.array([list(x) for x in columns], object).T.reshape(len(self.welded.rest), right.shape[1])

    @property
    def G(self) -> np.ndarray:
        G = np.full((self.welded.wide, len(self.welded.independent)), mpmath.mpf(0), object)
        for k, j in enumerate(self.welded.independent):
            G[j, k] = mpmath.mpf(1)
        G[self.welded.rest] = -self.solved(self.K(self.q)[:, self.welded.independent])
        return G

    def G_rate(self, G: np.ndarray, v: np.ndarray) -> np.ndarray:
        """By central differences of sixth order in the digits that there are to spare."""
        h = mpmath.mpf(10) ** -8
        rate = np.asarray(self.tree.rate(self.q, G @ v))
        total: Any = 0
        for k, weight in ((1, 45), (2, -9), (3, 1)):
            total = total + weight * (self.K(self.q + k * h * rate) - self.K(self.q - k * h * rate))
        found = np.full(G.shape, mpmath.mpf(0), object)
        found[self.welded.rest] = -self.solved((total / (60 * h)) @ G)
        return found


@cache
def small(name: str) -> tuple[Welded, np.ndarray]:
    rng = np.random.default_rng(8)
    if name.startswith("random"):
        loop = RandomLoop(int(name.split()[1]))
        welded = Welded(loop.build())
        q = welded.complete(welded.model.neutral(), rng, loop.meeting)
    else:
        welded = Welded(getattr(kt.zoo, name)())
        q = welded.complete(welded.model.neutral(), rng)
    return welded, welded.closed(welded.tree.integrate(q, 0.1 * rng.normal(size=welded.wide)))[0]


@pytest.mark.parametrize("name", ["four_bar", "parallel_ankle"])
def test_fifty_digits(name):
    """The same bodies, closed and solved in fifty digits, meet multipliers there."""
    welded, q = small(name)
    model, rng = welded.model, np.random.default_rng(9)
    with mpmath.workdps(DIGITS):
        t = Precise(welded, q)
        assert max(abs(x) for x in t.rows(t.q)) < SMALL
        v, a = exact(rng.normal(size=model.nv)), exact(rng.normal(size=model.nv))
        G = t.G
        Q = t.q[: model.nq]
        M = G.T @ t.run("mass_matrix", t.q) @ G
        assert _far(kt.mass_matrix(model, Q, target="eager"), M) < SMALL
        Gdot = t.G_rate(G, v)
        tau = G.T @ t.run("inverse_dynamics", t.q, G @ v, G @ a + Gdot @ v)
        found = kt.inverse_dynamics(model, Q, v, a, target="eager")
        assert _far(found, tau) < mpmath.mpf(10) ** (10 - DIGITS)  # what differences leave
        back = kt.forward_dynamics(model, Q, v, found, target="eager")
        assert _far(back, a) < SMALL * 1000
        C = kt.coriolis_matrix(model, Q, v, target="eager")
        bias = kt.bias_force(model, Q, v, target="eager") - kt.gravity_force(model, Q, target="eager")
        assert _far(C @ v, bias) < SMALL * 1000
    plain = kt.inverse_dynamics(model, q[: model.nq], v.astype(float), a.astype(float), target="eager")
    assert _far(plain, tau) < 1e-12


def test_digits_that_a_position_near_a_dead_point_has():
    """A rod that passes an axis at a hundredth of its length: closed to rounding, and no worse than that."""
    loop = RandomLoop(1926)
    model = loop.build()
    checked = soak.state(loop, model, Welded(model))
    q, v, allowed = checked.q, checked.v, 4 * checked.truth.blur
    assert 1e-12 < allowed < 1e-10
    found = kt.mass_matrix_rate(model, q, v, target="eager")
    with mpmath.workdps(DIGITS):
        truth = kt.mass_matrix_rate(model, exact(q), exact(v), target="eager")
        assert 1e-14 < _far(found, truth) < allowed
        assert _far(checked.truth.M_partials @ v, truth) < allowed


def _far(found: Any, truth: Any) -> Any:
    found, truth = np.asarray(found).ravel(), np.asarray(truth).ravel()
    size = max(abs(x) for x in truth)
    return max(abs(x - y) for x, y in zip(found, truth, strict=True)) / size


def test_numbers_of_sympy():
    """A four-bar in SymPy's floats of thirty digits, as in mpmath's."""
    welded, q = small("four_bar")
    model = welded.model
    digits = [sympy.Float(float(x), 30) for x in q[: model.nq]]
    found = kt.mass_matrix(model, digits, target="eager")[0][0]
    with mpmath.workdps(30):
        truth = kt.mass_matrix(model, exact([float(x) for x in digits]), target="eager")[0][0]
        assert abs(mpmath.mpf(str(found)) - truth) < 1e-15 * truth  # SymPy rounds to the numbers of the model
