"""Equations with symbols: exact identities, and numbers when numbers are put in."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from tests.conftest import share
from tests.reference.measure import assert_close

import kinetree as kt


def arm(links: int, skew: bool):
    """A chain with symbolic masses, lengths and inertias; its second joint turned if `skew`."""
    m, L, I = (sp.symbols(f"{name}1:{links + 1}", positive=True) for name in "mLI")
    builder = kt.ModelBuilder("arm", gravity=(0, -sp.Symbol("g"), 0))
    turned = ((1, 0, 0), (0, 0, -1), (0, 1, 0))
    straight = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    for k in range(links):
        pose = kt.Pose(turned if skew and k == 1 else straight, (L[k - 1] if k else 0, 0, 0))
        inertia = kt.Inertia(m[k], (L[k] / 2, 0, 0), ((0, 0, 0), (0, I[k], 0), (0, 0, I[k])))
        parent = f"link{k - 1}" if k else None
        builder.add_body(f"link{k}", parent, kt.Revolute((0, 0, 1)), placement=pose, inertia=inertia)
    q = np.array(sp.symbols(f"q1:{links + 1}", real=True), dtype=object)
    v = np.array(sp.symbols(f"v1:{links + 1}", real=True), dtype=object)
    return builder.build(), q, v, (*m, *L, *I, sp.Symbol("g"))


@pytest.mark.parametrize("skew", [False, True])
@pytest.mark.parametrize("links", [2, 3, 4])
def test_christoffel_symbols_are_derivatives_of_the_mass_matrix(links, skew):
    """Algorithm 5 against dM/dq: differences simplify to zero, for two links by SymPy itself."""
    model, q, _, _ = arm(links, skew)
    M = kt.symbolic.simplified(kt.mass_matrix(model, q))
    gamma = kt.christoffel_symbols(model, q)
    for i, j, k in np.ndindex(gamma.shape):
        slope = sp.diff(M[i, j], q[k]) + sp.diff(M[i, k], q[j]) - sp.diff(M[j, k], q[i])
        difference = gamma[i, j, k] - slope / 2
        assert kt.symbolic.simplified(difference) == 0, (i, j, k)
        if links == 2:
            assert sp.simplify(sp.expand(difference)) == 0, (i, j, k)


@pytest.mark.parametrize("skew", [False, True])
def test_bias_and_energy(skew):
    model, q, v, _ = arm(2, skew)
    C = kt.coriolis_matrix(model, q, v, target="eager")
    bias = kt.bias_force(model, q, v, target="eager")
    gravity = kt.gravity_force(model, q, target="eager")
    potential = sp.sympify(kt.potential_energy(model, q, target="eager"))
    for k in range(2):
        assert sp.simplify(sp.diff(potential, q[k]) - gravity[k]) == 0
        assert sp.simplify((C @ v)[k] + gravity[k] - bias[k]) == 0
    kinetic = sp.sympify(kt.kinetic_energy(model, q, v, target="eager"))
    M = kt.mass_matrix(model, q, target="eager")
    assert sp.simplify(kinetic - (v @ M @ v) / 2) == 0


def test_symbols_become_numbers():
    model, q, v, parameters = arm(3, True)
    rng = np.random.default_rng(1)
    values = dict(zip((*parameters, *q, *v), rng.uniform(0.5, 1.5, len(parameters) + 6), strict=True))
    symbolic = kt.coriolis_matrix(model, q, v, target="eager")
    numbers = [[float(sp.sympify(e).subs(values)) for e in row] for row in symbolic]
    at = np.array([values[x] for x in q]), np.array([values[x] for x in v])
    gamma = kt.christoffel_symbols(model, q, target="eager")
    contracted = [[float(sp.sympify(g @ at[1]).subs(values)) for g in row] for row in gamma]
    assert_close(numbers, contracted, 1e-14)


@pytest.mark.parametrize("skew", [False, True])
def test_equations_are_those_of_the_functions(skew):
    """M, C, g and tau in their short form equal what the functions give, number by number."""
    model, q, v, parameters = arm(3, skew)
    found = kt.symbolic.equations(model, q, v)
    rng = np.random.default_rng(2)
    symbols = (*parameters, *q, *v, *found.a)
    numbers = rng.uniform(0.5, 1.5, len(symbols))

    def at(x):
        flat = sp.lambdify(symbols, [*np.ravel(np.array(x, object))], "math")(*numbers)
        return np.array(flat, float).reshape(np.shape(x))

    assert_close(at(found.M), at(kt.mass_matrix(model, q)), 1e-13)
    assert_close(at(found.C), at(kt.coriolis_matrix(model, q, v)), 1e-13)
    assert_close(at(found.g)[:, 0], at(kt.gravity_force(model, q)), 1e-13)
    assert_close(at(found.christoffel.tolist()) @ at(v), at(found.C), 1e-13)
    assert_close(at(found.tau), at(found.M * found.a + found.C * found.v + found.g), 1e-13)


def test_numbers_of_the_textbooks_come_out_as_printed():
    """(M4) of the pendulum, (N4) of the pendulum on a cart, Christoffel symbols of a double pendulum."""
    m1, m2, L1, L2, I1, I2, g = sp.symbols("m1 m2 L1 L2 I1 I2 g", positive=True)
    one = kt.symbolic.equations(kt.zoo.pendulum(m1, L1, I1, g))
    assert sp.Matrix([[I1 + L1**2 * m1]]) == one.M and sp.zeros(1, 1) == one.C
    assert one.g == sp.Matrix([L1 * g * m1 * sp.sin(one.q[0])])
    cart = kt.symbolic.equations(kt.zoo.cart_pole(m1, m2, L1, I1, g))
    c, s, rate = sp.cos(cart.q[1]), sp.sin(cart.q[1]), cart.v[1]
    assert sp.Matrix([[m1 + m2, L1 * m2 * c], [L1 * m2 * c, I1 + L1**2 * m2]]) == cart.M
    assert sp.Matrix([[0, -L1 * m2 * rate * s], [0, 0]]) == cart.C
    assert cart.g == sp.Matrix([0, L1 * g * m2 * s])
    two = kt.symbolic.equations(kt.zoo.double_pendulum(m1, m2, L1, L2, I1, I2, g))
    h = L1 * L2 * m2 * sp.sin(two.q[1])
    assert two.christoffel == sp.ImmutableDenseNDimArray([[[0, -h], [-h, -h]], [[h, 0], [0, 0]]])


def test_latex_writes_rates_of_coordinates_as_such():
    text = kt.symbolic.equations(kt.zoo.cart_pole()).latex()
    assert text.count("&=") == 3 and r"\dot{q_{2}}" in text and "v_{2}" not in text
    builder = kt.ModelBuilder("ball")
    builder.add_body("ball", None, kt.Spherical(), inertia=kt.Inertia(1.0, inertia=np.eye(3).tolist()))
    ball = kt.symbolic.equations(builder.build())
    assert "dot" not in ball.latex() and "v_{3}" in ball.latex()  # quasi-velocities are no rates
    assert ball._repr_latex_().startswith("$")


def test_symbols_of_the_users_own():
    x, theta = sp.symbols("x theta")
    found = kt.symbolic.equations(kt.zoo.cart_pole(), q=[x, theta], v=sp.Matrix([0, 1]))
    assert found.M.free_symbols == {theta} and found.C[0, 1].free_symbols == {theta}
    with pytest.raises(kt.errors.ShapeError, match="q has 3 entries, but the model needs 2"):
        kt.symbolic.equations(kt.zoo.cart_pole(), q=sp.symbols("a b c"))


@pytest.mark.parametrize("shape", [(3, 1), (1, 3)])
def test_matrices_of_sympy_are_vectors(shape):
    model, q, v, _ = arm(3, False)
    plain = kt.coriolis_matrix(model, q, v)
    assert (kt.coriolis_matrix(model, sp.Matrix(*shape, list(q)), sp.Matrix(*shape, list(v))) == plain).all()


JOINTS = kt.Spherical(), kt.Free(), kt.Planar(), kt.Universal((1, 0, 0), (0, 1, 0))


@pytest.mark.parametrize("joint", share(JOINTS, 2), ids=lambda joint: type(joint).__name__)
def test_every_kind_of_joint(joint):
    """Symbols at numbers equal numbers, for joints with quaternions and joints whose axes move."""
    builder = kt.ModelBuilder("two", gravity=(0, 0, -sp.Symbol("g")))
    body = kt.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]).tolist())
    builder.add_body("first", None, joint, inertia=body)
    builder.add_body("second", "first", kt.Helical((0, 1, 0), 0.25), kt.Pose(p=(0.5, 0, 0)), inertia=body)
    model = builder.build()
    plain = model.replace(gravity=(0, 0, -9.0))
    q, v = plain.random_state(np.random.default_rng(4))
    Q, V = (np.array(sp.symbols(f"{name}1:{len(x) + 1}"), object) for name, x in (("q", q), ("v", v)))
    values = dict(zip((*Q, *V, sp.Symbol("g")), (*q, *v, 9.0), strict=True))
    found = [float(sp.sympify(x).subs(values)) for x in kt.bias_force(model, Q, V)]
    assert_close(found, kt.bias_force(plain, q, v), 1e-13)
    short = kt.symbolic.equations(model, Q, V).g
    assert_close([float(x.subs(values)) for x in short], kt.gravity_force(plain, q), 1e-13)


@pytest.mark.parametrize("make", [kt.zoo.auto_tree, kt.zoo.chain])
def test_long_results_are_steps(make):
    """Of many bodies every operation is there once; carried out in order, the steps give the numbers."""
    model = make(8)
    q = np.array(sp.symbols("q1:9"), object)
    values = dict(zip(q, np.linspace(0.2, 1.3, 8), strict=True))
    taken, rest = kt.symbolic.steps(kt.christoffel_symbols(model, q))
    assert len(taken) < 4 * 8**3 and rest.shape == (8, 8, 8)
    for name, part in taken:
        values[name] = float(part.xreplace(values))
    found = np.array([float(sp.sympify(x).xreplace(values)) for x in rest.flat]).reshape(rest.shape)
    assert_close(found, kt.christoffel_symbols(model, np.linspace(0.2, 1.3, 8)), 1e-13)
