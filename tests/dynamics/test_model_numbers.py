"""`parameters=` and `gravity=`: as if the model had these numbers, for every function and every target."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.reference.random_mechanism import random_mechanism
from tests.targets import recipes

import kinetree as kt
from kinetree.names import MODULE_OF

FUNCTIONS = [name for name in MODULE_OF if isinstance(getattr(kt, name), kt.Function)]


def parts(result) -> tuple:
    return result if isinstance(result, tuple) else (result,)


def held(model: kt.Model, rng: np.random.Generator) -> tuple:
    """A joint that is held at some position."""
    body = next(body for body in model.bodies if body.mimic is None)
    return (kt.JointConstraint(body.joint_name, rng.normal(size=body.joint.nq)),)


def sample(name: str, batch: int = 3):
    """A model with rotors and mimic joints, inputs and options for a function, and other numbers."""
    rng = np.random.default_rng(list(name.encode()))
    mechanism = random_mechanism(rng, 3, types=("revolute", "universal"), chain=1.0, roots=0.0, rotors=0.5)
    model = mechanism.build()
    if name == "nullify_momentum":
        model = kt.zoo.spacecraft()
    function = getattr(kt, name)
    known = recipes.OPTIONS | {
        "frames": lambda model, rng: tuple(rng.choice(model.body_names, 2)),
        "rotors": lambda model, rng: "none",
        "smoothing": lambda model, rng: 0.1,
        "integrator": lambda model, rng: "rk4",
        "passive": lambda model, rng: True,
        "limits": lambda model, rng: False,
        "ground": lambda model, rng: False,
        "newton_limit": lambda model, rng: None,
        "extra": lambda model, rng: ("rotors", "damping"),
        "constraints": held,
        "steps": lambda model, rng: 2,
        "unactuated": lambda model, rng: (),
    }
    options = {option: known[option](model, rng) for option in function.options}
    needed = [a for a in function.own_inputs if not a.optional]
    inputs = {a.name: rng.normal(size=(batch, *a.sizes(model, options))) for a in needed}
    inputs |= {k: np.abs(x) for k, x in inputs.items() if k in recipes.POSITIVE}
    if "dt" in inputs:
        inputs["dt"] = np.full(batch, 0.01)
    if "q" in inputs:
        inputs["q"] = np.array([model.random_state(rng)[0] for _ in range(batch)])
    own = np.asarray(model.parameters, float)
    parameters = own * rng.uniform(0.5, 2.0, (batch, model.nbodies, 1))  # as physical as before
    numbers = {"parameters": parameters, "gravity": rng.normal(size=(batch, 3))}
    return model, function, inputs, options, numbers


@pytest.mark.parametrize(
    ("name", "target"),
    share([(name, "eager") for name in FUNCTIONS if "second" not in name and "hessian" not in name], 2)
    + [
        pytest.param(name, "cpu", marks=pytest.mark.long) if "hessian" in name else (name, "cpu")
        for name in share(FUNCTIONS, 6)
    ],
)
def test_as_if_the_model_had_them(name, target):
    model, function, inputs, options, numbers = sample(name)
    found = parts(function(model, **inputs, **options, **numbers, target=target))
    for k in range(3):
        other = model.with_parameters(numbers["parameters"][k]).replace(gravity=tuple(numbers["gravity"][k]))
        one = {name: x[k] for name, x in inputs.items()}
        expected = parts(function(other, **one, **options, target="eager"))
        for value, truth in zip(found, expected, strict=True):
            size = max(1.0, float(np.abs(truth).max(initial=0.0)))
            np.testing.assert_allclose(value[k], truth, rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix", "kinetic_energy", "momentum"])
def test_dynamics_are_linear_in_them(name):
    """f(a + b) - f(b) does not depend on b: the regressor of identification."""
    model, function, inputs, options, numbers = sample(name)
    numbers.pop("gravity")
    p = numbers["parameters"]

    def at(parameters):
        return np.asarray(function(model, **inputs, **options, parameters=parameters))

    change, again = at(p[:1] + p[1:2]) - at(p[:1]), at(p[2:] + p[1:2]) - at(p[2:])
    np.testing.assert_allclose(change, again, rtol=0, atol=1e-12 * np.abs(at(p)).max())
