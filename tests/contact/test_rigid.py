"""Compliant contact against an exact complementarity solver: they meet as the ground grows stiff."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.rigid import Rigid, solved
from tests.contact.scenes import box, quadruped, standing

import kinetree as kt


def test_the_reference_is_complementary():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(9, 12))
    A, b = B @ B.T + 0.1 * np.eye(9), 2 * rng.normal(size=9)
    p = solved(A, b, 0.5, None)
    w = A @ p + b
    assert (p[2::3] >= 0).all() and (w[2::3] > -1e-10).all() and abs(p[2::3] * w[2::3]).max() < 1e-10
    across, slip = p.reshape(-1, 3)[:, :2], w.reshape(-1, 3)[:, :2]
    size, bound = np.linalg.norm(across, axis=1), 0.5 * p[2::3]
    assert (size <= bound * (1 + 1e-9) + 1e-12).all()
    slides = np.linalg.norm(slip, axis=1) > 1e-9
    np.testing.assert_allclose(size[slides], bound[slides], rtol=1e-6)
    assert (np.einsum("ci,ci->c", across, slip) <= 1e-10).all()


def compared(
    model: kt.Model, q: np.ndarray, v: np.ndarray, mu: float, steps: int, h: float, stiffness: list[float],
    lagged: bool = True,
) -> list[float]:  # fmt: skip
    """How far compliant motions end from the rigid one."""
    rigid, (x, u) = Rigid(model, mu, h, lagged), (q, v)
    for _ in range(steps):
        x, u = rigid.step(x, u)
    errors = []
    for k in stiffness:
        run = kt.simulate(
            model, q, v, duration=steps * h, dt=h, contact_stiffness=k, contact_friction=mu, creep=1e-7,
            contact_dissipation=0.0, contact_accuracy=1e-8, limits=False,
        )  # fmt: skip
        errors.append(float(abs(model.difference(x, run.q[-1])).max()))
    return errors


def tilted_box() -> tuple[kt.Model, np.ndarray, np.ndarray]:
    model = box(2.0, (0.1, 0.08, 0.05))
    q = model.neutral()
    q[6] = 0.08
    return (
        model,
        model.integrate(q, [0.2, -0.1, 0.0, 0.0, 0.0, 0.0]),
        np.array([0.3, 1.5, 0.2, 1.0, 0.4, -0.5]),
    )


def test_a_falling_box_without_friction():
    first, second, third = compared(*tilted_box(), 0.0, 60, 2e-3, [1e6, 1e7, 1e8])
    assert third < 2e-5 and third < 0.2 * second < 0.04 * first, (first, second, third)


def sliding_box() -> tuple[kt.Model, np.ndarray, np.ndarray]:
    model = box(2.0, (0.1, 0.08, 0.05))
    q = model.neutral()
    q[6] = 0.0505
    return model, q, np.array([0.0, 0.0, 0.0, 0.08, 0.05, 0.0])


def test_a_box_that_lands_and_slides_until_it_stops():
    """Friction with the normal force of the step before, in both: the error falls as 1 / k."""
    first, second, third = compared(*sliding_box(), 0.4, 20, 2e-3, [1e6, 1e7, 1e8])
    assert third < 2e-5 and third < 0.2 * second < 0.04 * first, (first, second, third)


@pytest.mark.long
def test_a_sliding_box_with_coulombs_law_of_the_same_step():
    """Friction is one step late here: what that changes falls with h."""
    long, short = (compared(*sliding_box(), 0.4, round(0.04 / h), h, [1e8], False)[0] for h in (4e-3, 1e-3))
    assert short < 0.4 * long < 1e-3, (long, short)


def test_a_quadruped_that_lands():
    model = quadruped()
    q = standing(model)
    q[6] += 0.01
    v = np.random.default_rng(1).normal(size=18) * 0.3
    first, second, third = compared(model, q, v, 0.0, 40, 2e-3, [1e6, 1e7, 1e8])
    assert third < 1e-4 and third < 0.2 * second < 0.04 * first, (first, second, third)
