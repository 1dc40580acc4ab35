"""A model is an immutable value with names, a layout, states and vectors."""

from __future__ import annotations

import copy
import math
import pickle
import threading

import mpmath
import numpy as np
import pytest
import sympy
from tests.model.samples import LINK, figure_tree, rich_model

from kinetree import zoo
from kinetree.joints import Free, Prismatic, Revolute, Spherical, Universal
from kinetree.model import Limits, Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

ZOO = [
    zoo.pendulum,
    zoo.cart_pole,
    zoo.arm7,
    zoo.puma560,
    zoo.quadruped,
    zoo.spacecraft,
    rich_model,
    figure_tree,
]


def test_names_and_layout():
    model = rich_model()
    assert model.body_names[:3] == ("base", "hip", "knee")
    assert model.joint_names[:3] == ("root", "hip", "knee")
    assert model.frame_names == ("tool", "marker")
    assert (model.nbodies, model.nq, model.nv) == (10, 7 + 1 + 2 + 1 + 4 + 2 + 3, 6 + 1 + 2 + 1 + 3 + 2 + 3)
    assert model.position_index("root") == slice(0, 7) and model.coordinate_index("root") == slice(0, 6)
    assert model.position_index("ankle") == slice(8, 10) and model.coordinate_index("ankle") == slice(7, 9)
    assert model.coordinate_index("knee") == slice(7, 7)
    assert model.position_index("plate") == slice(17, 17)
    assert model.body_index("world") == 0 and model.body_index(None) == 0 and model.body_index(3) == 3


def test_frames():
    model = rich_model()
    body, X = model.frame("tool")
    assert body == model.body_index("plate")
    assert np.allclose(X.matrix(), model.frames[0].placement.transform().matrix())
    assert model.frame("marker")[0] == 0
    body, X = model.frame("hip")
    assert body == 2 and np.array_equal(np.array(X.matrix(), dtype=float), np.eye(6))


@pytest.mark.parametrize("make", ZOO)
def test_a_model_is_a_value(make):
    model = make()
    assert make() == model and hash(make()) == hash(model)
    twin = pickle.loads(pickle.dumps(model))
    assert twin == model and twin is not model and hash(twin) == hash(model)
    assert model != model.replace(gravity=(0, 0, 1))
    assert model != "model"
    with pytest.raises(AttributeError, match="replace"):
        model.gravity = (0, 0, 0)


def test_report_is_no_part_of_the_value():
    model = zoo.pendulum()
    told = model.replace(report="read from a file")
    assert told.report == "read from a file" and model.report is None
    assert told == model and hash(told) == hash(model)
    assert pickle.loads(pickle.dumps(told)).report == told.report
    assert ModelBuilder("m").build(report=3).report == 3


@pytest.mark.parametrize("make", ZOO)
def test_table(make):
    model = make()
    text = repr(model)
    lines = text.splitlines()
    assert f"Model '{model.name}'" in lines[0] and f"nv {model.nv}" in lines[0]
    for name in model.body_names:
        assert name in text
    passive = any(np.any(x) for x in (model.damping, model.friction, model.stiffness))
    assert len(lines) == 3 + model.nbodies + bool(model.frames) + bool(model.geometries) + passive
    assert ("tau + passive_force(robot, q, v)" in lines[-1]) is passive


def test_table_of_a_long_model_leaves_out_the_middle():
    text = repr(zoo.chain(500))
    assert len(text.splitlines()) < 60
    assert "..." in text and "link500" in text


def test_table_of_symbols():
    m, L, g = sympy.symbols("m L g")
    assert " m " in repr(zoo.pendulum(m, L, 0, g))


def test_empty_model():
    model = ModelBuilder("nothing").build()
    assert (model.nbodies, model.nq, model.nv, model.depth, model.total_mass) == (0, 0, 0, 0, 0)
    assert model.nodes == () and model.neutral().shape == (0,)
    assert model.integrate(np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)
    assert Model.from_dict(model.to_dict()) == model
    assert "0 bodies" in repr(model)


# --- states -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", ZOO)
def test_neutral_and_random_states(make, rng):
    model = make()
    assert model.neutral().shape == (model.nq,)
    q, v = model.random_state(rng)
    assert q.shape == (model.nq,) and v.shape == (model.nv,)
    q, v = model.random_state(7, batch=(2, 3))
    assert q.shape == (2, 3, model.nq) and v.shape == (2, 3, model.nv)
    again, _ = model.random_state(7, batch=(2, 3))
    assert np.array_equal(q, again)
    limits = model.limits
    for name, body in zip(model.joint_names, model.bodies):
        if body.mimic is None and body.joint.nq == body.joint.nv:
            place = q[..., model.position_index(name)]
            window = model.coordinate_index(name)
            assert (limits.lower[window] <= place).all() and (place <= limits.upper[window]).all()


@pytest.mark.parametrize("make", ZOO)
@pytest.mark.parametrize("shapes", [((), ()), ((5,), (5,)), ((), (4,)), ((2, 1), (1, 3)), ((0,), ())])
def test_integrate_and_difference_broadcast_and_undo_each_other(make, shapes, rng):
    model = make()
    q, _ = model.random_state(rng, shapes[0])
    dv = rng.uniform(-1.0, 1.0, (*shapes[1], model.nv))  # less than half a turn
    batch = np.broadcast_shapes(*shapes)
    moved = model.integrate(q, dv)
    assert moved.shape == (*batch, model.nq)
    back = model.difference(q, moved)
    assert back.shape == (*batch, model.nv)
    assert np.allclose(back, dv, atol=1e-12)
    assert np.allclose(model.integrate(q, np.zeros(model.nv)), q, atol=1e-15)


def test_each_state_of_a_batch_is_the_state_alone(rng):
    model = rich_model()
    q, v = model.random_state(rng, 4)
    together = model.integrate(q, v)
    assert np.allclose(together, [model.integrate(a, b) for a, b in zip(q, v)], atol=1e-15)


def test_rate_is_the_derivative_of_integrate(rng):
    model = rich_model()
    q, v = model.random_state(rng)
    h = 1e-30
    assert np.allclose(model.integrate(q, 1j * h * v).imag / h, model.rate(q, v), atol=1e-14)


def test_states_in_other_numbers(rng):
    model = zoo.quadruped()
    q, v = model.random_state(rng)
    with mpmath.workdps(40):
        precise = model.integrate([mpmath.mpf(x) for x in q], [mpmath.mpf(x) for x in v])
        assert isinstance(precise[0], mpmath.mpf)
        assert np.allclose(precise.astype(float), model.integrate(q, v), atol=1e-14)
    x, y = sympy.symbols("x y")
    assert list(zoo.pendulum().integrate([x], [y])) == [x + y]
    single = model.integrate(q.astype(np.float32), v.astype(np.float32))
    assert single.dtype == np.float32


def test_random_positions_keep_limits_of_every_form():
    b = ModelBuilder("limited").add_body("a", None, Prismatic(), inertia=LINK, limits={"lower": 0.5})
    b.add_body("b", "a", Revolute(), inertia=LINK, limits=(-2.0, 2.0))
    b.add_body("c", "b", Revolute(), inertia=LINK, mimic=("b", 4.0), limits=(-1.0, 2.0))
    q, _ = b.build().random_state(0, 200)
    assert q[:, 0].min() == 0.5
    assert -0.25 <= q[:, 1].min() < -0.2 and 0.45 < q[:, 1].max() <= 0.5


# --- vectors by name ----------------------------------------------------------------------------------------
def test_stacked_vectors_of_mixed_sizes():
    """The example of Concurrent Dynamics: y = col[v_x, (s_x, s_y), (w_x, w_y, w_z)]."""
    b = ModelBuilder("mixed").add_body("slider", None, Prismatic((1, 0, 0)), inertia=LINK)
    b.add_body("cross", "slider", Universal(), inertia=LINK).add_body(
        "ball", "cross", Spherical(), inertia=LINK
    )
    model = b.build()
    v = model.velocities({"slider": 1.0, "cross": (2.0, 3.0), "ball": (4.0, 5.0, 6.0)})
    assert v.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert {name: part.tolist() for name, part in model.split_velocities(v).items()} == {
        "slider": [1.0],
        "cross": [2.0, 3.0],
        "ball": [4.0, 5.0, 6.0],
    }


def test_positions_by_name_default_to_neutral(rng):
    model = rich_model()
    assert np.array_equal(model.positions({}), model.neutral())
    q, v = model.random_state(rng, (2, 3))
    assert np.array_equal(model.positions(model.split_positions(q)), q)
    assert np.array_equal(model.velocities(model.split_velocities(v)), v)
    batch = model.positions({"hip": [0.1, 0.2, 0.3]})
    assert batch.shape == (3, model.nq) and batch[1, model.position_index("hip")] == 0.2
    assert "knee" not in model.split_positions(q) and "plate" not in model.split_positions(q)


# --- vectors over the velocities ----------------------------------------------------------------------------
def test_vectors_fold_mimic_joints_into_their_leader():
    b = ModelBuilder("geared")
    b.add_body(
        "a",
        None,
        Revolute(),
        inertia=LINK,
        damping=1.0,
        friction=2.0,
        stiffness=3.0,
        spring_reference=0.5,
        limits=Limits(-1.0, 1.0, 5.0, 7.0),
    )
    b.add_body(
        "b",
        "a",
        Revolute(),
        inertia=LINK,
        mimic=("a", -2.0, 0.5),
        damping=10.0,
        friction=20.0,
        stiffness=30.0,
        armature=0.1,
        limits=Limits(-1.0, 1.5, 6.0),
    )
    model = b.build()
    assert model.damping.tolist() == [41.0]
    assert model.friction.tolist() == [42.0]
    assert model.stiffness.tolist() == [123.0]
    assert model.armature.tolist() == [0.4]
    # 3 (q - 0.5) + 30 (-2) (-2 q + 0.5) = 0
    assert math.isclose(model.spring_reference[0], (1.5 + 30.0) / 123.0)
    assert model.limits == Limits(-0.5, 0.75, 3.0, 7.0)


def test_vectors_of_multi_degree_joints():
    model = rich_model()
    assert model.friction[model.coordinate_index("ankle")].tolist() == [0.1, 0.2]
    assert model.stiffness[model.coordinate_index("sleeve")].tolist() == [3.0, 4.0]
    assert model.spring_reference[model.position_index("puck")].tolist() == [0.1, 0.2, 0.3]
    assert model.spring_reference[model.position_index("root")].tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert model.limits.upper[model.coordinate_index("slide")][0] == 0.3 / 1
    assert model.limits.effort[model.coordinate_index("slide")][0] == 50.0
    assert np.isinf(model.limits.upper[model.coordinate_index("root")]).all()


def test_total_mass_counts_rotors():
    assert math.isclose(rich_model().total_mass, 10 * 1.5 + 3 * 0.3 + 0.2)


# --- size ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_long_chain_builds(n):
    """Without recursion."""
    b = ModelBuilder("long")
    joint, tip = Revolute(), Pose(p=(0.0, 0.0, 0.1))
    for i in range(n):
        b.add_body(
            f"b{i}", f"b{i - 1}" if i else None, joint, tip, Inertia(0.1, (0, 0, 0.05), (0.1, 0.1, 0.1))
        )
    model = b.build()
    assert (model.nv, model.depth, len(model.nodes)) == (n, n, n)


def test_floating_base_layout():
    model = ModelBuilder("f").add_body("a", None, Free(), inertia=LINK).build()
    assert model.describe_coordinates() == "free joint 'a' takes 7"
    assert zoo.quadruped().describe_coordinates() == "free joint 'trunk' takes 7, 12 revolute joints 1 each"
    assert (
        zoo.quadruped().describe_coordinates(True) == "free joint 'trunk' takes 6, 12 revolute joints 1 each"
    )


def test_memo_keeps_what_is_made_and_belongs_to_one_model():
    model = zoo.chain(3)
    made = []

    def make():
        made.append(1)
        return object()

    found = model.memo("a key", make)
    assert model.memo("a key", make) is found
    assert len(made) == 1
    for other in (pickle.loads(pickle.dumps(model)), model.replace(name="other"), copy.copy(model)):
        assert other.memo("a key", lambda: 7) == 7
    assert model == pickle.loads(pickle.dumps(model))


def test_memo_gives_threads_the_same_object():
    model = zoo.chain(3)
    gate = threading.Barrier(8)
    found = []

    def ask():
        gate.wait()
        found.append(model.memo("key", object))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
