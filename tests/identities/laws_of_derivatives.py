"""Laws of derivatives."""

from __future__ import annotations

import numpy as np
from tests.identities.case import Case
from tests.identities.declare import law


@law("inverse_dynamics_derivatives")
def forces_change_as_their_derivatives_say(c: Case) -> None:
    """d tau / dt along a motion with velocity v and constant jerk x: dq v + dv a + M x."""
    dq, dv, M = c.run("inverse_dynamics_derivatives", c.q, c.v, c.a, c.f_ext)
    step = 1e-30
    ahead = c.run_on(c.model, "inverse_dynamics", "eager")(
        c.q + 1j * step * c.model.rate(c.q, c.v),
        c.v + 1j * step * c.a,
        c.a + 1j * step * c.x,
        c.f_ext,
    )
    size = max(float(np.abs(part).max(initial=1)) for part in (dq, dv, M, c.v, c.a)) ** 2
    c.expect(dq @ c.v + dv @ c.a + M @ c.x, np.imag(ahead) / step, 1e-12, size)


@law("forward_dynamics_derivatives", "inverse_dynamics_derivatives")
def derivatives_of_forward_dynamics_undo_those_of_inverse_dynamics(c: Case) -> None:
    """M da/dq = -dtau/dq, M da/dv = -dtau/dv and M da/dtau = 1, at the same motion."""
    forces = c.run("inverse_dynamics_derivatives", c.q, c.v, c.a, c.f_ext)
    found = c.run("forward_dynamics_derivatives", c.q, c.v, c.tau, c.f_ext)
    truth = (-forces[0], -forces[1], np.eye(c.n))
    for slope, expected in zip(found, truth, strict=True):
        products = np.abs(c.M) @ np.abs(slope) if c.n else np.zeros((0, 0))
        size = float(products.max(initial=1)) + float(np.abs(expected).max(initial=0))
        c.expect(c.M @ slope, expected, 1e-14 * c.condition + 1e-12, size)
