"""Functions of a model in CasADi: graphs of SX, and compiled libraries with their derivatives."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from tests.derivatives.cases import error
from tests.targets.cases import STATES, tree

import kinetree as kt
from kinetree import functions  # noqa: F401  fills the registry
from kinetree.sweep import REGISTRY

ca = pytest.importorskip("casadi")


def flat(array: Any) -> np.ndarray:
    """An array as the matrix that CasADi has of it."""
    array = np.asarray(array)
    return array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array.reshape(-1, 1)


def by_columns(block: np.ndarray, of: np.ndarray, wrt: np.ndarray) -> np.ndarray:
    """A Jacobian of arrays as CasADi has it: both as vectors, column by column."""
    order = [np.arange(x.size).reshape(flat(x).shape).ravel("F") for x in (np.asarray(of), np.asarray(wrt))]
    return np.reshape(block, (np.size(of), np.size(wrt)))[np.ix_(*order)]


def every(found: Any) -> tuple:
    return tuple(found) if isinstance(found, tuple) else (found,)


# -- SX


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_algorithm_as_a_graph(name):
    """On a tree with quaternions, rotors and a mimic joint; inputs and options are those of its recipe."""
    setting = tree(26).setting(name)
    graph = kt.casadi.wrap(getattr(kt, name), setting.model, inputs=setting.present, **setting.options)
    states = [[flat(x[k]) for x in setting.inputs.values()] for k in range(STATES)]
    rows = [[np.array(result) for result in graph.call(state)] for state in states]
    assert setting.worst([np.array(part) for part in zip(*rows, strict=True)]) <= 1


@pytest.mark.parametrize("make", [kt.zoo.puma560, lambda: tree(15).model], ids=["puma560", "floating tree"])
def test_casadi_differentiates_it_as_we_do(make, rng):
    """Also by the numbers of quaternions."""
    model = make()
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    graph = kt.casadi.wrap(kt.forward_dynamics, model)
    blocks = graph.jacobian().call([q, v, tau, 0])
    slopes = kt.jacobian_of(kt.forward_dynamics, coordinates="ambient")(model, q, v, tau)
    for found, truth in zip(blocks, slopes, strict=True):
        assert error(np.array(found), truth) < 1e-12


def test_a_long_robot_whose_program_has_loops(rng):
    model = kt.zoo.chain(150)
    assert not kt.inverse_dynamics.lower(model, ("q", "v", "a"), {}).is_straight
    q, v, a = rng.normal(size=(3, model.nv))
    graph = kt.casadi.wrap(kt.inverse_dynamics, model)
    assert error(np.array(graph(q, v, a)).ravel(), kt.inverse_dynamics(model, q, v, a)) < 1e-11


def test_every_operation(rng):
    @kt.function("q, v -> y(20)")
    def all_of_them(model, q, v):
        o, (x, y) = kt.ops, (q[0], v[0])
        both = o.where(o.less(x, y), x, o.where(o.less_equal(y, 0.3), y, o.where(o.equal(x, y), 1.0, 2.0)))
        return np.array([
            x + y, x - y, x * y, x / y, -x, o.sin(x), o.cos(x), o.tan(x), o.asin(0.1 * x), o.acos(0.1 * x),
            o.atan(x), o.atan2(x, y), o.exp(x), o.log(2 + x * x), o.tanh(x), abs(x) + o.sign(y),
            o.floor(3 * x), o.min(x, y), o.max(x, y), both + o.sqrt(1 + x * x),
        ])  # fmt: skip

    model = kt.zoo.pendulum()
    graph = kt.casadi.wrap(all_of_them, model)
    for q, v in rng.normal(size=(10, 2, 1)):
        assert error(np.array(graph(q, v)).ravel(), all_of_them(model, q, v)) < 1e-15


def test_zeros_of_the_robot_are_no_entries():
    """Legs do not feel each other: their blocks of the mass matrix are not there."""
    model = kt.zoo.quadruped()
    pattern = kt.casadi.wrap(kt.mass_matrix, model).sparsity_out(0)
    M = kt.mass_matrix(model, model.random_state(1)[0])
    assert pattern.nnz() < 0.8 * M.size
    assert np.count_nonzero(M[~np.array(ca.DM(pattern, 1), bool)]) == 0


def test_graphs_are_small():
    """One instruction an operation of the program, and those that read and write."""
    model = kt.zoo.arm7()
    ops = kt.compile(kt.inverse_dynamics, model).ops
    assert kt.casadi.wrap(kt.inverse_dynamics, model).n_instructions() < 1.4 * ops["flops"]


# -- matrices of CasADi as numbers


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics_derivatives", "placements"])
@pytest.mark.parametrize("kind", ["SX", "MX", "DM"])
def test_functions_of_a_model_take_matrices_of_casadi(name, kind, rng):
    model, function = tree(15).model, getattr(kt, name)
    names = [a.name for a in function.inputs if not a.optional]
    q, v = model.random_state(rng)
    numbers = {"q": q, "v": v, "a": v[::-1].copy(), "tau": v}
    state = [numbers[n] for n in names]
    truth = function(model, *state)
    if kind == "DM":
        found = function(model, *map(ca.DM, state))
        values = [np.array(x) for x in every(found)]
    else:
        symbols = [getattr(ca, kind).sym(n, len(x)) for n, x in zip(names, state, strict=True)]
        found = function(model, *symbols, target="eager")
        values = [np.array(x) for x in ca.Function("f", symbols, list(every(found))).call(state)]
    assert type(found) is type(truth) if isinstance(truth, tuple) else isinstance(found, getattr(ca, kind))
    for x, t in zip(values, every(truth), strict=True):
        assert error(x, flat(t)) < 1e-12


def test_matrices_of_casadi_beside_numbers_options_and_optional_inputs(rng):
    model = kt.zoo.puma560()
    x, wrench = ca.SX.sym("x", 6), rng.normal(size=(model.nbodies, 6))
    q, v = model.random_state(rng)
    tau = kt.inverse_dynamics(model, q, x, list(v), f_ext=wrench, gravity=ca.DM([0, 0, -1]))
    truth = kt.inverse_dynamics(model, q, v, v, f_ext=wrench, gravity=np.array([0, 0, -1.0]))
    assert error(np.array(ca.Function("f", [x], [tau])(v)).ravel(), truth) < 1e-13
    J = ca.Function("J", [x], [kt.jacobian(model, x, frame="link6")])
    assert error(np.array(J(q)), kt.jacobian(model, q, frame="link6")) < 1e-13
    for wrong, text in ((ca.SX.sym("q", 5), "5 by 1"), (ca.SX.sym("q", 1, 6), "1 by 6"), (q[:5], r"\(5,\)")):
        with pytest.raises(kt.errors.ShapeError, match=text):
            kt.inverse_dynamics(model, wrong, x, x)
    for keywords in ({"out": np.zeros(6)}, {"target": "cpu"}):
        with pytest.raises(kt.errors.ArgumentError, match="matrices of CasADi go without"):
            kt.gravity_force(model, x, **keywords)


def test_numbers_one_by_one(rng):
    """Arrays of NumPy that hold numbers of CasADi: the algorithm itself runs on them."""
    model = tree(15).model
    q, v = model.random_state(rng)
    symbols = [ca.SX.sym(n, k) for n, k in (("q", model.nq), ("v", model.nv), ("tau", model.nv))]
    given = [np.array([x[k] for k in range(x.numel())], object) for x in symbols]
    f = ca.Function("f", symbols, [ca.vertcat(*kt.forward_dynamics(model, *given))])
    assert error(np.array(f(q, v, v)).ravel(), kt.forward_dynamics(model, q, v, v)) < 1e-11


def test_a_graph_is_made_once():
    model = kt.zoo.pendulum()
    graph = kt.casadi.wrap(kt.forward_dynamics, model)
    assert kt.casadi.wrap(kt.forward_dynamics, model) is graph
    assert kt.casadi.wrap(kt.forward_dynamics, model, inputs=["gravity"]).n_in() == 4


# -- externals


CASES = {  # model, function, optional inputs: vectors, matrices, more axes, quaternions, numbers of the model
    "forward dynamics": (kt.zoo.double_pendulum, kt.forward_dynamics, ()),
    "inverse dynamics, quaternions": (lambda: tree(32).model, kt.inverse_dynamics, ()),
    "mass matrix by parameters": (kt.zoo.double_pendulum, kt.mass_matrix, ("parameters",)),
    "placements": (kt.zoo.double_pendulum, kt.placements, ()),
    "forces outside and gravity": (kt.zoo.cart_pole, kt.inverse_dynamics, ("f_ext", "gravity")),
    "a step": (kt.zoo.cart_pole, kt.step, ()),
}


@pytest.mark.parametrize("case", CASES)
def test_externals_and_their_derivatives(case, rng):
    """Values, Jacobians, products from the left, and the Jacobians of these, against our own transforms."""
    make, function, optional = CASES[case]
    model = make()
    q, v = model.random_state(rng)
    known = {"q": q, "v": v, "parameters": model.parameters, "gravity": np.array(model.gravity), "dt": 0.01}
    names = function.present([*optional, *(["dt"] if function is kt.step else [])])
    values = {
        a.name: known[a.name] if a.name in known else rng.normal(size=a.sizes(model))
        for a in function.inputs
        if a.name in names
    }
    f = kt.casadi.external(function, model, inputs=names)
    inputs = [flat(x) for x in values.values()]
    truth = every(function(model, **values))
    for found, x in zip(f.call(inputs), truth, strict=True):
        assert error(np.array(found), flat(x)) < 1e-13
    slopes = every(kt.jacobian_of(function, wrt=names, coordinates="ambient")(model, **values))
    pairs = [(x, values[n]) for x in truth for n in names]
    unused = [0] * len(truth)
    for found, block, (x, y) in zip(f.jacobian().call([*inputs, *unused]), slopes, pairs, strict=True):
        assert error(np.array(found), by_columns(block, x, y)) < 1e-12
    weights = {f"b_{name}": rng.normal(size=np.shape(x)) for name, x in zip(outputs(function), truth)}
    gradient = kt.vjp_of(function, wrt=names, coordinates="ambient")
    seeds = [flat(x) for x in weights.values()]
    sums = every(gradient(model, **values, **weights))[len(truth) :]
    for found, x in zip(f.reverse(1).call([*inputs, *unused, *seeds]), sums, strict=True):
        assert error(np.array(found), flat(x)) < 1e-12
    bends = kt.jacobian_of(gradient, wrt=names, of=[f"b_{n}" for n in names], coordinates="ambient")
    rest = iter(every(bends(model, **values, **weights)))
    second = f.reverse(1).jacobian()
    found = dict(zip(second.name_out(), second.call([*inputs, *unused, *seeds, *[0] * len(names)])))
    for x, a in zip(sums, names, strict=True):
        for b in names:
            assert error(np.array(found[f"jac_adj_{a}_{b}"]), by_columns(next(rest), x, values[b])) < 1e-11


def outputs(function: Any) -> list[str]:
    taken = [a.name for a in function.inputs]
    return [f"{a.name}_out" if a.name in taken else a.name for a in function.outputs]


def test_jacobians_have_the_zeros_of_the_robot(rng):
    """Inverse dynamics of a star: no spoke feels another one, and the hub does not feel its own angle."""
    model = kt.zoo.star(3)
    slopes = kt.casadi.external(kt.inverse_dynamics, model, order=1).jacobian()
    places = [{*zip(*slopes.sparsity_out(k).get_triplet(), strict=True)} for k in range(3)]
    assert not {(1, 2), (2, 1)} & (places[0] | places[1] | places[2])
    assert not any(column == 0 for _, column in places[0])
    q, v, a = rng.normal(size=(3, 3))
    for found, truth in zip(slopes.call([q, v, a, 0]), kt.inverse_dynamics_derivatives(model, q, v, a)):
        assert error(np.array(found), truth) < 1e-13


def test_a_state_that_is_refused_is_a_failed_evaluation(rng):
    model = kt.zoo.spacecraft()
    f = kt.casadi.external(kt.bias_force, model, order=0)
    q, v = model.random_state(rng)
    assert np.isfinite(np.array(f(q, v))).all()
    assert np.isnan(np.array(f(q, np.nan * v))).all()
    with pytest.raises(RuntimeError, match=r"[Ee]valuation failed"):
        f(3 * q, v)


def test_ipopt_with_exact_derivatives():
    """The posture with the smallest gravity torques that reaches a point: what SLSQP finds with our own."""
    model = kt.zoo.puma560()
    goal = np.array([0.4, 0.2, 0.3])

    @kt.function("q -> p(3)")
    def tip(model, q):
        return kt.frame_placement(model, q, model.body_names[-1])[:3, 3]

    torque = kt.casadi.external(kt.gravity_force, model)
    place = kt.casadi.external(tip, model)
    q = ca.MX.sym("q", model.nq)
    problem = {"x": q, "f": ca.sumsqr(torque(q)) + ca.sumsqr(q), "g": place(q) - goal}
    quiet = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    solver = ca.nlpsol("solver", "ipopt", problem, quiet)
    found = solver(x0=np.full(model.nq, 0.3), lbg=0, ubg=0)
    assert solver.stats()["success"] and solver.stats()["iter_count"] < 60
    best = np.array(found["x"]).ravel()
    assert error(tip(model, best), goal) < 1e-7
    _, slope = kt.vjp(kt.gravity_force, model, (best,), 2 * kt.gravity_force(model, best))
    lagrangian = slope[0] + 2 * best + kt.jacobian_of(tip)(model, best).T @ np.array(found["lam_g"]).ravel()
    assert error(lagrangian, np.zeros(model.nv)) < 1e-6


# -- misuse


def test_a_library_is_kept_on_disk(monkeypatch, tmp_path, rng):
    """The next process, here an equal model, neither traces nor compiles; a changed file is not believed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    q = rng.normal(size=2)
    truth = kt.gravity_force(kt.zoo.double_pendulum(), q)
    first = kt.casadi.external(kt.gravity_force, kt.zoo.double_pendulum(), order=1)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", "")
    again = kt.casadi.external(kt.gravity_force, kt.zoo.double_pendulum(), order=1)
    for f in (first, again):
        assert error(np.array(f(q)).ravel(), truth) < 1e-14
        assert f.jacobian().n_out() == 1
    for file in tmp_path.rglob("*.kto"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(kt.errors.CompileError, match="needs a C compiler"):
        kt.casadi.external(kt.gravity_force, kt.zoo.double_pendulum(), order=1)
    monkeypatch.setenv("PATH", path)
    assert kt.casadi.external(kt.gravity_force, kt.zoo.double_pendulum(), order=1)(q).numel() == 2


def test_without_a_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(kt.errors.CompileError, match=r"casadi.external needs a C compiler"):
        kt.casadi.external(kt.gravity_force, kt.zoo.pendulum(), order=0)


def test_misuse():
    model = kt.zoo.pendulum()
    with pytest.raises(kt.errors.KinetreeError, match=r"casadi.wrap: 3 is not a model function"):
        kt.casadi.wrap(3, model)
    with pytest.raises(kt.errors.KinetreeError, match="gravity_force has no input 'f_ext'"):
        kt.casadi.wrap(kt.gravity_force, model, inputs=["f_ext"])
    with pytest.raises(kt.errors.KinetreeError, match=r"casadi.external: the model must be a kinetree Model"):
        kt.casadi.external(kt.gravity_force, "pendulum")
    with pytest.raises(kt.errors.KinetreeError, match="order must be 0, 1 or 2, not 3"):
        kt.casadi.external(kt.gravity_force, model, order=3)
    with pytest.raises(kt.errors.KinetreeError, match="jacobian needs the argument 'frame'"):
        kt.casadi.wrap(kt.jacobian, model)
