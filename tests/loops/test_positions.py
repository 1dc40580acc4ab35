"""Positions of models with loops: closed ones, random ones, steps and differences, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.loops.mechanisms import ALL, HINGE, at, four_bar, link, platform, related, spatial_linkage

import kinetree as kt
from kinetree.errors import AssemblyError, ModelError, ShapeError, SingularError, StateError

AREA = share(ALL, 2)


@pytest.fixture(scope="module", params=AREA)
def model(request):
    return ALL[request.param]()


def openings(model, q):
    """How far the loops are open, from the world poses of the bodies alone."""
    poses = kt.placements(model.spanning_tree, q)

    def point(body, p):
        world = np.broadcast_to(np.array(p, float), (*q.shape[:-1], 3))
        if body == 0:
            return world
        T = poses[..., body - 1, :, :]
        return np.einsum("...ij,j->...i", T[..., :3, :3], p) + T[..., :3, 3]

    found = []
    for loop in model.loops:
        for c in loop.closures:
            kind = type(c).__name__
            if kind == "JointClosure":
                found.append(point(c.body, c.placement.p) - point(c.other, c.other_placement.p))
            elif kind == "RodClosure":
                apart = point(c.body, c.point) - point(c.other, c.other_point)
                found.append(np.linalg.norm(apart, axis=-1, keepdims=True) - c.length)
            else:
                x, y = (q[..., model.position_index(model.joint_names[i - 1])] for i in c.bodies)
                found.append(x - np.polynomial.polynomial.polyval(y, c.coefficients))
    return np.concatenate(found, axis=-1)


def test_positions_are_closed(model, rng):
    assert np.abs(openings(model, model.neutral())).max() < 1e-14
    q, v = model.random_state(rng, (3, 20))
    assert q.shape == (3, 20, model.nq) and v.shape == (3, 20, model.nv)
    assert np.abs(openings(model, q)).max() < 1e-13
    assert np.abs(openings(model, model.integrate(q, 0.01 * v))).max() < 1e-13
    assert np.abs(q - q.mean(axis=(0, 1))).max(axis=(0, 1)).min() > 0.02  # they are spread
    assert model.random_state(rng, 0)[0].shape == (0, model.nq)


def test_random_states_repeat_and_keep_limits():
    joint = {"limits": (-2.5, 2.5)}
    model = four_bar(**joint)
    q, _ = model.random_state(5, 300)
    again, _ = model.random_state(5, 300)
    assert np.array_equal(q, again)
    assert (np.abs(q) <= 2.5).all()


def test_difference_undoes_integrate(model, rng):
    q, v = model.random_state(rng, 10)
    dv = 0.01 * v
    end = model.integrate(q, dv)
    np.testing.assert_allclose(model.difference(q, end), dv, atol=1e-13)
    np.testing.assert_allclose(model.integrate(q, model.difference(q, end)), end, atol=1e-12)


def test_integrate_is_the_flow_of_rate(model, rng):
    q, v = model.random_state(rng, 10)
    h = 1e-3
    slopes = [(model.integrate(q, k * h * v) - model.integrate(q, -k * h * v)) / (2 * k * h) for k in (1, 2)]
    np.testing.assert_allclose((4 * slopes[0] - slopes[1]) / 3, model.rate(q, v), atol=1e-6)


def test_batch_gives_the_same_bits(model, rng):
    q, v = model.random_state(rng, 4)
    together = model.integrate(q, v * 0.01), model.rate(q, v), model.assemble(q)
    for k in range(4):
        alone = model.integrate(q[k], v[k] * 0.01), model.rate(q[k], v[k])
        for a, b in zip(alone, together, strict=False):
            assert np.array_equal(a, b[k])


def test_not_a_number_stays_alone(model, rng):
    q, v = model.random_state(rng, 3)
    q[1] = np.nan
    for found in (model.integrate(q, 0.01 * v), model.rate(q, v), model.difference(q, q), model.assemble(q)):
        assert np.isfinite(found[[0, 2]]).all()
        assert np.isnan(found[1]).any()


def test_loop_matrix(model, rng):
    q, v = model.random_state(rng, 5)
    G = kt.loop_matrix(model, q)
    assert G.shape == (5, model.nu, model.nv)
    np.testing.assert_allclose(G, kt.loop_matrix(model, q, target="eager"), rtol=1e-12, atol=1e-13)
    u = np.einsum("...ij,...j->...i", G, v)
    np.testing.assert_allclose(model.spanning_tree.rate(q, u), model.rate(q, v), atol=1e-12)
    tree = kt.mass_matrix(model.spanning_tree, q)
    M = kt.mass_matrix(model, q)
    np.testing.assert_allclose(np.swapaxes(G, -1, -2) @ tree @ G, M, atol=1e-13 * np.abs(M).max())


def test_spanning(model, rng):
    q, v = model.random_state(rng, 3)
    found = model.spanning(q, v)
    u = np.einsum("...ij,...j->...i", kt.loop_matrix(model, q), v)
    tree = model.spanning_tree
    assert set(found) == set(tree.split_velocities(u[0]))
    for joint, own in tree.split_velocities(u).items():
        np.testing.assert_allclose(found[joint].velocity, own, atol=1e-12)
        np.testing.assert_allclose(found[joint].position, q[:, tree.position_index(joint)], atol=1e-12)
    one = model.spanning(q[0], v)
    assert one["crank" if "crank" in found else next(iter(found))].velocity.shape[0] == 3


def test_spanning_knows_mimic_joints():
    b = kt.ModelBuilder("m")
    b.add_body("a", None, HINGE, None, link(0.2))
    b.add_body("b", "a", HINGE, at(0.2), link(0.2), mimic=("a", -2.0, 0.1))
    found = b.build().spanning([0.3], [1.0])
    assert found["b"].position[0] == pytest.approx(-0.5) and found["b"].velocity[0] == -2.0


def test_assemble_holds_the_independent_joints():
    model = four_bar()
    q = model.neutral()
    q[0] += 0.2
    found = model.assemble(q)
    assert found[0] == q[0] and np.abs(openings(model, found)).max() < 1e-15
    held = model.assemble(q, fixed="rocker")
    assert held[2] == q[2] and np.abs(openings(model, held)).max() < 1e-15
    np.testing.assert_allclose(model.assemble(held), held, atol=1e-15)


def test_assemble_batches_and_many_digits():
    mpmath = pytest.importorskip("mpmath")
    model = four_bar()
    q = model.random_state(1, (2, 3))[0]
    found = model.assemble(q + [0.0, 0.01, -0.02])
    np.testing.assert_allclose(found, q, atol=1e-13)
    with mpmath.workdps(50):
        exact = model.assemble(np.array([mpmath.mpf("0.1"), mpmath.mpf(0.6), mpmath.mpf(1.2)], object))
        node = model.nodes[0]
        assert exact[0] == mpmath.mpf("0.1")
        assert max(abs(x) for x in node.closed(list(exact), 0).phi) < mpmath.mpf(10) ** -15


def test_positions_by_name_close_the_loop():
    model = four_bar()
    q = model.positions({"crank": [0.2, 0.4]})
    assert q.shape == (2, 3) and np.abs(openings(model, q)).max() < 1e-15
    np.testing.assert_array_equal(q[:, 0], [0.2, 0.4])
    assert model.split_velocities(np.array([2.0])) == {"crank": np.array([2.0])}
    assert model.velocities({"crank": 3.0}).tolist() == [3.0]
    with pytest.raises(ShapeError, match="depends on others by a loop"):
        model.velocities({"rocker": 1.0})
    assert model.coordinate_index("rocker") == slice(1, 1)


def test_the_table_says_what_depends():
    text = repr(four_bar())
    assert "dependent, rotor" in text
    assert "loop 'four_bar': crank -> coupler, rocker (1 degree of freedom, 2 rows, 3 more redundant" in text
    assert repr(four_bar().loops[0]).startswith("<Loop 'four_bar'")
    assert "2 of 3 dependent" in repr(spatial_linkage())
    assert "dependent" in four_bar()._repr_html_()
    words = four_bar().describe_coordinates(True)
    assert words == "revolute joint 'crank' takes 1, 2 more depend on these by loops"


def test_a_loop_that_cannot_be_closed():
    model = four_bar()
    with pytest.raises(AssemblyError, match=r"'four_bar' .* closed with 'crank', 'rocker' held: it .* m\."):
        model.assemble([0.3, 0.2, -2.0], fixed=("crank", "rocker"))
    with pytest.raises(AssemblyError, match="in state 1 of the batch"):
        model.assemble([model.neutral(), [0.3, 0.2, -2.0]], fixed=("crank", "rocker"))
    with pytest.raises(ModelError, match="no joint 'crnk'"):
        model.assemble(model.neutral(), fixed=("crnk",))
    with pytest.raises(ShapeError, match=r"needs \(..., 3\)"):
        model.assemble([0.0])


@pytest.mark.parametrize("target", ["cpu", "eager"])
def test_open_loops_are_refused(target):
    model = four_bar()
    q, v = model.random_state(3, 4)
    q[2, 1] += 1e-3
    for function, given in ((kt.mass_matrix, (q,)), (kt.forward_dynamics, (q, v, v)), (kt.loop_matrix, (q,))):
        with pytest.raises(AssemblyError, match=r"'four_bar'.* open by 0\.00\d+ m.*assemble") as error:
            function(model, *given, target=target)
        assert "state 2 of the batch" in str(error.value)
        with pytest.raises(AssemblyError, match=r"open by 0\.00\d+ m"):
            function(model, *(x[2] for x in given), target=target)
    q[2, 1] -= 1e-3 * (1 - 1e-6)
    assert np.isfinite(kt.mass_matrix(model, q, target=target)).all()  # rounded, as in a file


def test_steps_that_no_loop_can_make():
    model = four_bar(independent=("rocker",))
    with pytest.raises(AssemblyError, match=r"integrate: loop 'four_bar' .* cannot move so far"):
        model.integrate(model.neutral(), [1.6])
    for method in (model.integrate, model.rate):
        with pytest.raises(AssemblyError, match=f"{method.__name__}: loop 'four_bar'"):
            method(model.neutral() + [0.0, 0.1, 0.0], [0.1])


@pytest.mark.parametrize("target", ["cpu", "eager"])
def test_dead_points_name_a_better_choice(target):
    free, model = four_bar(), four_bar(independent=("rocker",))
    # crank and coupler in one line, 0.3 + 0.8 from the crank's hinge: the rocker can go no further
    beta = np.arccos((1.1**2 + 0.7**2 - 0.6**2) / (2 * 1.1 * 0.7))
    gamma = np.arccos((0.7**2 + 0.6**2 - 1.1**2) / (2 * 0.7 * 0.6))
    q = np.array([beta, 0.0, np.pi - gamma])
    q = np.where(np.abs(openings(free, q)).max() < 1e-12, q, -q)
    assert np.abs(openings(free, q)).max() < 1e-12
    for states in (q, np.stack([free.neutral(), q])):
        with pytest.raises(SingularError, match=r"dead point of 'rocker'.*independent=\('c") as error:
            kt.mass_matrix(model, states, target=target)
        assert ("state 1 of the batch" in str(error.value)) == (states.ndim == 2)
    assert np.isfinite(kt.mass_matrix(free, q, target=target)).all()


def test_quaternions_in_loops():
    model = platform()
    q = model.neutral()
    with pytest.raises(StateError, match="plate"):
        model.integrate(np.concatenate([2 * q[:4], q[4:]]), np.zeros(3))
    np.testing.assert_allclose(model.normalize(np.concatenate([2 * q[:4], q[4:]])), q, atol=1e-15)
    np.testing.assert_allclose(model.assemble(np.concatenate([2 * q[:4], q[4:]])), q, atol=1e-14)


def test_many_small_steps_stay_closed():
    model = spatial_linkage()
    q, v = model.neutral(), np.array([0.02, 0.01])
    for _ in range(50):
        q = model.integrate(q, v)
    assert np.abs(openings(model, q)).max() < 1e-14
    assert np.linalg.norm(q[1:5]) == pytest.approx(1.0, abs=1e-14)


def test_relation_is_kept():
    model = related()
    q, v = model.random_state(0)
    state = model.spanning(q, v)
    x, y = state["thumb"], state["finger"]
    slope = 0.8 - 0.4 * y.position + 0.15 * y.position**2
    np.testing.assert_allclose(x.velocity, slope * y.velocity, atol=1e-14)
