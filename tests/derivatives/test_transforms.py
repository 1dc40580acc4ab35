"""Derivatives of any function of a model: along directions, backwards, and as matrices."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests.conftest import share
from tests.derivatives.cases import Case, error, robot, tree

import kinetree as kt
from kinetree.stages import Job

# functions of (q), of (q, v), and with options; what they return is of every shape
FUNCTIONS: dict[str, tuple[Any, tuple[str, ...], dict[str, Any]]] = {
    "placements": (kt.placements, ("q",), {}),
    "jacobian": (kt.jacobian, ("q",), {"reference": "aligned"}),
    "mass_matrix": (kt.mass_matrix, ("q",), {}),
    "potential_energy": (kt.potential_energy, ("q",), {}),
    "bias_force": (kt.bias_force, ("q", "v"), {}),
    "inverse_dynamics": (kt.inverse_dynamics, ("q", "v", "a"), {}),
    "forward_dynamics": (kt.forward_dynamics, ("q", "v", "tau"), {}),
    "step": (kt.step, ("q", "v", "tau"), {"dt": 0.01, "integrator": "rk4"}),
}


@kt.function("q, v, goal(3), gain -> tau, distance")
def reach(model: kt.Model, q: Any, v: Any, goal: Any, gain: Any) -> Any:
    """A force towards a goal."""
    name = model.body_names[-1]
    place = kt.frame_placement(model, q, name)[:3, 3]
    J = kt.jacobian(model, q, name, "aligned")[3:]
    away = goal - place
    return J.T @ (gain * away) + kt.bias_force(model, q, v), kt.ops.sqrt(kt.ops.dot(away, away))


def given(c: Case, name: str) -> tuple[Any, list[Any], dict[str, Any]]:
    function, names, options = FUNCTIONS[name]
    if "frame" in function.options:
        options = {**options, "frame": c.model.body_names[-1]}
    return function, [getattr(c, n) for n in names], options


def ambient(c: Case, function: Any, values: list[Any], options: dict[str, Any]) -> list[Any]:
    """For each input the derivatives of all numbers of the results: along increments of q."""

    def flat(*args: Any) -> Any:
        found = function(c.model, *args, **options, target="eager")
        parts = found if isinstance(found, tuple) else (found,)
        return np.concatenate([np.ravel(part) for part in parts])

    columns = [c.along_q(lambda q: flat(q, *values[1:]))]
    for k in range(1, len(values)):
        columns.append(c.along(lambda x, k=k: flat(*values[:k], x, *values[k + 1 :]), values[k]))
    return columns


def as_changes(c: Case, function: Any, values: list[Any], options: dict[str, Any], columns: Any) -> list[Any]:
    """The same in increments of the results: a change of a position takes as many numbers as its velocity."""
    found = function(c.model, *values, **options, target="eager")
    parts = found if isinstance(found, tuple) else (found,)
    start, rows = 0, []
    for part, argument in zip(parts, function.outputs, strict=True):
        block = columns[start : start + np.size(part)]
        start += np.size(part)
        if argument.shape == ("nq",):
            block = np.linalg.pinv(np.stack([c.model.rate(part, e) for e in np.eye(c.n)], axis=1)) @ block
        rows.append(block)
    return rows


@pytest.mark.parametrize(
    ("which", "name"),
    [
        *share([("turning" if name == "step" else "flying", name) for name in FUNCTIONS], 2),
        *(pytest.param(n, f, marks=pytest.mark.long) for n in ("arm", "spacecraft") for f in FUNCTIONS),
    ],
)
def test_all_three_agree_with_complex_steps(which, name):
    c = tree(21, 3, types=("revolute", "universal")) if which == "arm" else robot(which)
    function, values, options = given(c, name)
    columns = ambient(c, function, values, options)
    rows = [as_changes(c, function, values, options, column) for column in columns]  # by input, by output
    rng = np.random.default_rng(0)
    tangents = [rng.normal(size=column.shape[1]) for column in columns]
    options = dict(options)
    extra = {"dt": options.pop("dt")} if "dt" in options else {}
    names = FUNCTIONS[name][1]
    primals = dict(zip(names, values, strict=True)) | extra
    _, change = kt.jvp(function, c.model, primals, dict(zip(names, tangents, strict=True)), **options)
    change = change if isinstance(change, tuple) else (change,)
    for k, found in enumerate(change):
        truth = sum(rows[n][k] @ tangents[n] for n in range(len(names)))
        assert error(np.ravel(found), truth) < 1e-12
    weights = [rng.normal(size=np.shape(found)) for found in change]
    cotangents = tuple(weights) if len(weights) > 1 else weights[0]
    _, gradients = kt.vjp(function, c.model, primals, cotangents, wrt=names, **options)
    for n, found in enumerate(gradients):
        truth = sum(np.ravel(w) @ rows[n][k] for k, w in enumerate(weights))
        assert error(found, truth) < 1e-11
    matrices = kt.jacobian_of(function, wrt=names)(c.model, **primals, **options)
    matrices = matrices if isinstance(matrices, tuple) else (matrices,)
    places = [(k, n) for k in range(len(change)) for n in range(len(names))]
    for (k, n), found in zip(places, matrices, strict=True):
        assert error(np.reshape(found, rows[n][k].shape), rows[n][k]) < 1e-12


def test_a_function_of_your_own():
    c = robot("arm7")
    goal, gain = np.array([0.3, -0.2, 0.8]), 3.0
    J = kt.jacobian_of(reach, wrt=("q", "goal", "gain"))
    found = J(c.model, c.q, c.v, goal, gain)
    pairs = [(of, wrt) for of in ("tau", "distance") for wrt in ("q", "goal", "gain")]
    assert [a.name for a in J.outputs] == [f"d_{of}_d_{wrt}" for of, wrt in pairs]
    assert [np.shape(x) for x in found] == [(7, 7), (7, 3), (7,), (7,), (3,), ()]
    run = lambda *args: reach(c.model, *args, target="eager")  # noqa: E731
    truth = c.along_q(lambda q: run(q, c.v, goal, gain)[0])
    assert error(found[0], truth) < 1e-13
    assert error(found[1], c.along(lambda g: run(c.q + 0j, c.v, g, gain)[0], goal)) < 1e-13
    assert error(found[4], c.along(lambda g: run(c.q + 0j, c.v, g, gain)[1], goal)) < 1e-13


@pytest.mark.parametrize("kind", share([kt.jvp_of, kt.vjp_of, kt.jacobian_of], 2))
def test_programs_with_loops(kind):
    """Nothing is refused: forward as it is, backwards column by column."""
    c = robot("quadruped")
    derived = kind(kt.inverse_dynamics)
    extra = {kt.jvp_of: {"d_q": c.tau, "d_a": c.v}, kt.vjp_of: {"b_tau": c.tau}, kt.jacobian_of: {}}[kind]
    job = Job(derived, c.model, derived.present(list(extra)), {}, mode="looped")
    assert not job.lowered().is_straight
    looped = kt.compile(derived, c.model, mode="looped", inputs=tuple(extra))
    straight = kt.compile(derived, c.model, mode="unrolled", inputs=tuple(extra))
    args = (c.q, c.v, c.a, *extra.values())
    for found, truth in zip(looped(*args), straight(*args), strict=True):
        assert error(found, truth) < 1e-12


@pytest.mark.parametrize("mode", ["looped", "unrolled"])
def test_names_in_any_order(mode):
    c = robot("arm7")
    compiled = [
        [
            kt.compile(kt.vjp_of(kt.inverse_dynamics, wrt=wrt), c.model, mode=mode, inputs=("b_tau",)),
            kt.compile(kt.jacobian_of(kt.inverse_dynamics, wrt=wrt), c.model, mode=mode),
        ]
        for wrt in (("q", "v", "a"), ("a", "v", "q"))
    ]
    (gradient, matrices), (reverse_gradient, reverse_matrices) = compiled
    _, *gradients = gradient(c.q, c.v, c.a, c.tau)
    _, *reverse_gradients = reverse_gradient(c.q, c.v, c.a, c.tau)
    truths = [*gradients, *matrices(c.q, c.v, c.a)]
    reverse = [*reverse_gradients[::-1], *reverse_matrices(c.q, c.v, c.a)[::-1]]
    for found, truth in zip(reverse, truths, strict=True):
        assert error(found, truth) < 1e-13


def test_a_long_tree_backwards():
    c = robot("chain", 80)
    value, (b_q, b_v, b_a) = kt.vjp(kt.inverse_dynamics, c.model, (c.q, c.v, c.a), c.tau)
    dq, dv, M = kt.inverse_dynamics_derivatives(c.model, c.q, c.v, c.a)
    assert error(value, kt.inverse_dynamics(c.model, c.q, c.v, c.a)) < 1e-11
    for found, truth in ((b_q, dq.T @ c.tau), (b_v, dv.T @ c.tau), (b_a, M @ c.tau)):
        assert error(found, truth) < 1e-11


@pytest.mark.parametrize(("name", "on"), share([
    ("inverse_dynamics", "arm7"), ("forward_dynamics", "arm7"), ("forward_dynamics", "quadruped"),
    ("inverse_dynamics", "quadruped"),
], 2))  # fmt: skip
def test_numbers_of_the_model(name, on):
    """Along inertial parameters and gravity: what a simulation depends on.

    Forward dynamics of the quadruped is differentiated implicitly.
    """
    c = robot(on)
    x = c.a if name == "inverse_dynamics" else c.tau
    numbers = {"parameters": c.model.parameters, "gravity": np.array(c.model.gravity, float)}
    _, (b_p, b_g, b_f) = kt.vjp(
        getattr(kt, name), c.model, (c.q, c.v, x, c.f_ext), c.tau,
        wrt=("parameters", "gravity", "f_ext"), **numbers,
    )  # fmt: skip

    def run(f=c.f_ext, **numbers):
        return c.run(name, c.q + 0j, c.v, x, f, **numbers)

    for found, slope in (
        (b_p, c.along(lambda p: run(parameters=p), numbers["parameters"])),
        (b_g, c.along(lambda g: run(gravity=g), numbers["gravity"])),
        (b_f, c.along(run, c.f_ext)),
    ):
        assert error(found, np.tensordot(c.tau, slope, 1)) < 1e-11


def test_ambient_coordinates():
    """The numbers of q themselves: what JAX and PyTorch differentiate by."""
    c = robot("spacecraft")
    step = 1e-30
    truth = np.stack(
        [np.imag(c.run("placements", c.q + 1j * step * e)) / step for e in np.eye(c.model.nq)], axis=-1
    )
    found = kt.jacobian_of(kt.placements, coordinates="ambient")(c.model, c.q)
    assert error(found, truth) < 1e-13
    weights = np.random.default_rng(0).normal(size=truth.shape[:-1])
    _, (gradient,) = kt.vjp(kt.placements, c.model, (c.q,), weights, coordinates="ambient")
    assert error(gradient, np.tensordot(weights, truth, 3)) < 1e-13


def test_batches_and_other_numbers():
    c = robot("arm7")
    rng = np.random.default_rng(0)
    q, v = c.model.random_state(rng, (3, 2))
    J = kt.jacobian_of(kt.bias_force, wrt="q")
    whole = J(c.model, q, v)
    assert whole.shape == (3, 2, 7, 7)
    for index in np.ndindex(3, 2):
        assert error(whole[index], J(c.model, q[index], v[index], target="eager")) < 1e-13
    bent = J(c.model, q[0, 0] + 1e-30j * np.eye(7)[2], v[0, 0])  # complex numbers run eagerly
    truth = J(c.model, q[0, 0] + 1e-6 * np.eye(7)[2], v[0, 0]) - J(
        c.model, q[0, 0] - 1e-6 * np.eye(7)[2], v[0, 0]
    )
    assert error(np.imag(bent) / 1e-30, truth / 2e-6) < 1e-7


def test_second_derivatives_by_differentiating_twice():
    c = robot("double_pendulum")
    twice = kt.jacobian_of(kt.jacobian_of(kt.potential_energy))
    found = twice(c.model, c.q)
    truth = c.along_q(lambda q: c.run("gravity_force", q))
    assert error(found, truth) < 1e-13


@pytest.mark.parametrize("outer", [kt.jvp_of, kt.vjp_of])
@pytest.mark.parametrize("inner", [kt.jvp_of, kt.vjp_of])
def test_derivatives_of_derivatives(inner, outer, rng):
    """Each has changes of its own, by names that differ; they agree with differences of the inner one."""
    c = robot("double_pendulum")
    first = inner(kt.forward_dynamics)
    given = {"q": c.q, "v": c.v, "tau": c.tau}
    given |= {n: rng.normal(size=2) for n in ("d_q", "d_v", "d_tau", "b_a") if n in first.order}
    along = {name: rng.normal(size=2) for name in given}
    ends = [first(c.model, **{n: x + e * along[n] for n, x in given.items()}) for e in (1e-6, -1e-6)]
    slopes = [(a - b) / 2e-6 for a, b in zip(*ends, strict=True)]
    if outer is kt.jvp_of:
        second = outer(first)
        found = second(c.model, **given, **{second.mark + n: x for n, x in along.items()})[len(slopes) :]
        assert max(map(error, found, slopes)) < 1e-7
        assert second.mark == ("d2_" if inner is kt.jvp_of else "d_")
    else:
        second = outer(first, wrt=tuple(given))
        weights = {second.mark + name: rng.normal(size=2) for name in second.results}
        found = second(c.model, **given, **weights)[len(slopes) :]
        change = sum(float(g @ along[n]) for g, n in zip(found, given, strict=True))
        truth = sum(float(w @ s) for w, s in zip(weights.values(), slopes, strict=True))
        assert abs(change - truth) < 1e-7 * max(1.0, abs(truth))
        assert second.mark == ("b2_" if inner is kt.vjp_of else "b_")


def test_exported(tmp_path):
    c = robot("cart_pole")
    derived = kt.vjp_of(kt.forward_dynamics)
    found = derived(c.model, c.q, c.v, c.tau, b_a=c.a, target="c")
    truth = derived(c.model, c.q, c.v, c.tau, b_a=c.a, target="eager")
    for f, t in zip(found, truth, strict=True):
        assert error(f, t) < 1e-13
    paths = kt.export_c([kt.jacobian_of(kt.mass_matrix)], c.model, tmp_path)
    assert any("mass_matrix_jacobian" in path.read_text() for path in paths)


def test_a_derivative_is_made_once_and_pickles():
    J = kt.jacobian_of(kt.inverse_dynamics, wrt=("q", "v"))
    assert J is kt.jacobian_of(kt.inverse_dynamics, wrt=("q", "v"))
    assert pickle.loads(pickle.dumps(J)) is J
    assert J is not kt.jacobian_of(kt.inverse_dynamics)


def test_inside_a_function_of_your_own():
    @kt.function("q, v, a -> y(nv)")
    def inner(model, q, v, a):
        return kt.vjp(kt.inverse_dynamics, model, (q, v, a), a)[1][0]

    c = robot("arm7")
    dq = kt.inverse_dynamics_derivatives(c.model, c.q, c.v, c.a).dtau_dq
    assert error(inner(c.model, c.q, c.v, c.a), dq.T @ c.a) < 1e-13
    heavier = 1.5 * c.model.parameters
    found = inner(c.model, c.q, c.v, c.a, parameters=heavier)
    assert error(found, 1.5 * dq.T @ c.a) < 1e-12


def test_a_singular_state_is_named():
    builder = kt.ModelBuilder("limp")
    nothing = kt.Inertia(0.0, (0, 0, 0), ((0, 0, 0), (0, 0, 0), (0, 0, 0)))
    builder.add_body("arm", "world", kt.Revolute((0, 0, 1)), kt.Pose(), nothing)
    model = builder.build(check="finite")
    zero = np.zeros(1)
    for target in ("cpu", "eager"):
        with pytest.raises(kt.errors.SingularError, match="'arm'"):
            kt.vjp_of(kt.forward_dynamics)(model, zero, zero, zero, b_a=zero, target=target)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, z: kt.jacobian_of(len), "is not a model function"),
        (lambda m, z: kt.jacobian_of(kt.bias_force, wrt="x"), "bias_force has no input 'x'; it has q, v"),
        (lambda m, z: kt.jacobian_of(kt.bias_force, of="x"), "bias_force has no output 'x'; it has tau"),
        (lambda m, z: kt.vjp_of(kt.bias_force, wrt=("v", "q", "v")), "the input 'v' is named twice"),
        (lambda m, z: kt.jvp_of(kt.bias_force, coordinates="polar"), "coordinates must be one of"),
        (lambda m, z: kt.vjp(kt.bias_force, m, (z, z, z, z), z), "tuple of at most 3 arrays"),
        (lambda m, z: kt.vjp(kt.coriolis_matrices, m, (z, z), z), "3 results .* but 1 cotangents"),
        (lambda m, z: kt.vjp(kt.bias_force, m, (z, z), z, wrt="gravity"), "needs 'gravity' itself"),
    ],
)  # fmt: skip
def test_misuse(call, message):
    model = kt.zoo.cart_pole()
    with pytest.raises(kt.errors.KinetreeError, match=message):
        call(model, np.zeros(2))
