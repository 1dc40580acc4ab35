"""Every function of a model with loops in one state, against its open tree and multipliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.loops.projection import Projection, Welded

import kinetree as kt

Array = np.ndarray
Run = Callable[..., Any]


class Checked:
    """One model in one closed state, and the errors of what is computed for it.

    Args:
        q: of all joints of the model, and of those that close its loops.
        run: (name, *arguments, **options) -> what the library gives; eager by default.
    """

    def __init__(self, welded: Welded, q: Array, rng: np.random.Generator, run: Run | None = None):
        model = self.model = welded.model
        self.q, (self.v, self.a) = q[: model.nq], rng.normal(size=(2, model.nv))
        self.f_ext, self.body = rng.normal(size=(model.nbodies, 6)), int(rng.integers(model.nbodies))
        self.truth = Projection(welded, q, self.v, self.a, self.f_ext)
        self.run = run or (
            lambda name, *args, **more: getattr(kt, name)(model, *args, target="eager", **more)
        )
        ways = 4  # by which G comes into what is second in velocities: twice itself, its rate by two more
        self.tolerance = 1e-13 * self.truth.condition + ways * self.truth.blur + 1e-12
        self.errors: dict[str, float] = {}

    def expect(self, name: str, found: Any, truth: Any, *sizes: Any, times: float = 1.0) -> None:
        """Note an error in units of what is allowed; sizes of terms that add up to the truth count too."""
        found, truth = np.asarray(found, float), np.asarray(truth, float)
        assert found.shape == truth.shape, f"{name}: shapes {found.shape} and {truth.shape}"
        assert np.isfinite(found).all(), f"{name}: not finite"
        size = max([1e-300, *(float(np.abs(x).max(initial=0.0)) for x in (truth, *sizes))])
        error = float(np.abs(found - truth).max(initial=0.0)) / size / (self.tolerance * times)
        self.errors[name] = max(error, self.errors.get(name, 0.0))

    @property
    def failures(self) -> list[str]:
        return [f"{name}: {error * self.tolerance:.1e}" for name, error in self.errors.items() if error > 1]

    def all(self) -> Checked:
        self.kinematics()
        self.forces()
        self.velocity_terms()
        return self

    def kinematics(self) -> None:
        """Where things are and how they move: as in the tree, whose joints move as the loops let them."""
        t, q, nb = self.truth, self.q, self.model.nbodies
        for name in ("placements", "composite_inertias"):
            self.expect(name, self.run(name, q), t.run(name, t.q)[:nb])
        for name in ("center_of_mass", "potential_energy", "system_inertia"):
            size = (1.0, self.model.total_mass) if name != "center_of_mass" else (1.0,)
            self.expect(name, self.run(name, q), t.run(name, t.q), *size)
        u = np.abs(t.G) @ np.abs(self.v)
        J = t.run("partial_velocities", t.q)[:nb]
        reach = np.abs(J) @ u
        for name in (
            "body_velocities",
            "momentum",
            "centroidal_momentum",
            "center_of_mass_velocity",
            "kinetic_energy",
        ):
            truth = t.run(name, t.q, t.u)
            truth = truth[:nb] if name == "body_velocities" else truth
            weight = self.model.total_mass if "momentum" in name or "energy" in name else 1.0
            size = reach.max(initial=1.0) * weight * (1 + reach.max(initial=0.0) if "energy" in name else 1.0)
            self.expect(name, self.run(name, q, self.v), truth, size)
        self.expect("partial_velocities", self.run("partial_velocities", q), J @ t.G, np.abs(J) @ np.abs(t.G))
        bend = np.abs(J) @ (np.abs(t.G) @ np.abs(self.a) + np.abs(t.Gdot) @ np.abs(self.v)) + (reach**2).max(
            initial=1
        )
        A = t.run("body_accelerations", t.q, t.u, t.du)[:nb]
        self.expect("body_accelerations", self.run("body_accelerations", q, self.v, self.a), A, bend)
        self._jacobians(reach)

    def _jacobians(self, reach: Array) -> None:
        t, q, frame = self.truth, self.q, self.model.body_names[self.body]
        size = reach.max(initial=1.0)
        for reference in (("body", "world", "aligned")[self.body % 3],):
            J = t.run("jacobian", t.q, frame=frame, reference=reference)
            rate = t.run("jacobian_rate", t.q, t.u, frame=frame, reference=reference)
            found = self.run("jacobian", q, frame=frame, reference=reference)
            self.expect("jacobian", found, J @ t.G, np.abs(J) @ np.abs(t.G), np.abs(t.G))
            found = self.run("jacobian_rate", q, self.v, frame=frame, reference=reference)
            parts = np.abs(rate) @ np.abs(t.G), np.abs(J) @ np.abs(t.Gdot), size * np.abs(t.G)
            self.expect("jacobian_rate", found, rate @ t.G + J @ t.Gdot, *parts)
        for name in ("center_of_mass_jacobian", "centroidal_momentum_matrix"):
            J = t.run(name, t.q)
            self.expect(name, self.run(name, q), J @ t.G, np.abs(J) @ np.abs(t.G))
        A, rate = t.run("centroidal_momentum_matrix", t.q), t.run("centroidal_momentum_matrix_rate", t.q, t.u)
        parts = np.abs(rate) @ np.abs(t.G), np.abs(A) @ np.abs(t.Gdot), size * np.abs(A) @ np.abs(t.G)
        found = self.run("centroidal_momentum_matrix_rate", q, self.v)
        self.expect("centroidal_momentum_matrix_rate", found, rate @ t.G + A @ t.Gdot, *parts)

    def forces(self) -> None:
        """The mass matrix, and forces and accelerations by multipliers."""
        t, q, v, a, G = self.truth, self.q, self.v, self.a, np.abs(self.truth.G)
        heavy = G.T @ np.abs(t.M_tree) @ G
        self.expect("mass_matrix", self.run("mass_matrix", q), t.M, heavy)
        self.expect("mass_matrix_product", self.run("mass_matrix_product", q, a), t.M @ a, heavy @ np.abs(a))
        bias, gravity = t.run("bias_force", t.q, t.u), t.run("gravity_force", t.q)
        moved = np.abs(t.M_tree) @ (G @ np.abs(a) + np.abs(t.Gdot) @ np.abs(v))
        terms = G.T @ moved, G.T @ np.abs(bias), G.T @ np.abs(gravity), G.T @ np.abs(t.wrench_tree)
        weight = self.model.total_mass * np.linalg.norm(np.array(self.model.gravity, float))
        heavy = weight * np.abs(t.run("center_of_mass_jacobian", t.q)).max(initial=0.0) * G.max(initial=0.0)
        terms += (heavy,)
        tau = t.G.T @ t.wrench_tree
        self.expect("inverse_dynamics", self.run("inverse_dynamics", q, v, a, self.f_ext), tau, *terms)
        self.expect(
            "gravity_force", self.run("gravity_force", q), t.G.T @ gravity, G.T @ np.abs(gravity), heavy
        )
        falling = t.run("inverse_dynamics", t.q, t.u, t.Gdot @ v)
        self.expect("bias_force", self.run("bias_force", q, v), t.G.T @ falling, *terms)
        free, _ = t.multipliers(tau)
        inverse, size = np.linalg.inv(t.M), max(np.abs(x).max(initial=0.0) for x in terms)
        stiff = 1.0 + np.linalg.cond(t.M)
        spread = np.abs(inverse).max(initial=0.0) * size
        self.expect("multipliers", free[t.welded.independent], a, spread, times=stiff)
        found = self.run("forward_dynamics", q, v, tau, self.f_ext)
        self.expect("forward_dynamics", found, free[t.welded.independent], spread, times=stiff)
        self.expect("inverse_mass_matrix", self.run("inverse_mass_matrix", q), inverse, times=stiff)
        self.expect("mass_matrix_solve", self.run("mass_matrix_solve", q, t.M @ a), a, times=stiff)
        power = float(v @ self.run("inverse_dynamics", q, v, a))
        work = float(t.u @ t.run("inverse_dynamics", t.q, t.u, t.du))
        self.expect("work", power, work, *(np.abs(v).sum() * np.abs(x).max(initial=0.0) for x in terms))

    def velocity_terms(self) -> None:
        """C, the rate of M and the Christoffel symbols, by derivatives through the closed loops."""
        t, q, v, G = self.truth, self.q, self.v, np.abs(self.truth.G)
        C = t.run("coriolis_matrix", t.q, t.u)
        inertia = np.abs(t.run("composite_inertias", t.q)).max(initial=1.0)
        speed = max(
            1.0, np.abs(t.u).max(initial=0), np.abs(t.run("body_velocities", t.q, t.u)).max(initial=0)
        )
        sizes = G.T @ np.abs(C) @ G, G.T @ np.abs(t.M_tree) @ np.abs(t.Gdot), inertia * speed * (G.T @ G)
        found = self.run("coriolis_matrix", q, v)
        self.expect("coriolis_matrix", found, t.coriolis, *sizes)
        self.expect("mass_matrix_rate", self.run("mass_matrix_rate", q, v), t.M_partials @ v, *sizes)
        self.expect("C + C^T", found + found.T, t.M_partials @ v, *sizes)
        symbols = self.run("christoffel_symbols", q)
        self.expect("christoffel_symbols v", symbols @ v, t.coriolis, *sizes)
        if all(
            body.joint.nq == body.joint.nv and body.joint.type_name != "planar_twist" for body in self._free()
        ):
            every = max((np.abs(t.G_rate(e)).max(initial=0.0) for e in np.eye(len(v))), default=0.0)
            bends = (G.T @ np.abs(t.M_tree)).max(initial=0.0) * every
            self.expect("christoffel_symbols", symbols, t.christoffel, *sizes, bends)

    def _free(self) -> list[Any]:
        """The bodies whose joints have independent velocities."""
        index = self.model.coordinate_index
        return [
            b
            for b in self.model.bodies
            if b.mimic is None and index(b.joint_name).stop > index(b.joint_name).start
        ]
