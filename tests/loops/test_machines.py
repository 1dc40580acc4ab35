"""The machines of the zoo with loops: closed forms, machines written otherwise, their own facts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kinetree as kt
from kinetree import zoo
from kinetree.model.loop import LoopNode

FREEDOMS = {
    "four_bar": (3, 1), "slider_crank": (3, 1), "gripper": (7, 3), "differential": (6, 2),
    "parallel_ankle": (8, 2), "delta": (12, 3), "stewart": (25, 6), "cassie_leg": (12, 7),
}  # fmt: skip
REDUNDANT = {"four_bar": 3, "slider_crank": 3, "gripper": 6, "differential": 10, "cassie_leg": 3}


def eager(name: str, model: kt.Model, *args, **options):
    return getattr(kt, name)(model, *args, target="eager", **options)


@pytest.mark.parametrize("name", FREEDOMS)
def test_machines_are_closed_as_they_are_drawn(name):
    model = getattr(zoo, name)()
    assert (model.nq, model.nv) == FREEDOMS[name]
    assert sum(loop.redundant for loop in model.loops) == REDUNDANT.get(name, 0)
    drawn = model.remade(loops=()).neutral()
    assert np.abs(model.neutral() - drawn).max() < 1e-15  # all joints at zero
    assert all(loop.slack < 1e-14 for loop in model.loops)
    motors = {rotor.joint for rotor in model.rotors}
    assert motors and motors <= {joint for loop in model.loops for joint, _ in loop.independent} | {
        joint for joint in model.joint_names if model.coordinate_index(joint).stop
    }


def crank_and_slider(q, w, dw, r, l, e):
    """Rod and piston with two derivatives, for a crank that turns about +y, x towards -z."""
    # pin of the crank at (r cos q, -r sin q); the piston pin at (x, e)
    z, dz, ddz = -r * math.sin(q), -r * w * math.cos(q), r * (w * w * math.sin(q) - dw * math.cos(q))
    s, ds, dds = (e - z) / l, -dz / l, -ddz / l  # sine of the rod's slope
    c = math.sqrt(1 - s * s)
    slope, dslope = math.asin(s), ds / c
    ddslope = dds / c + s * ds * ds / c**3
    x = r * math.cos(q) + l * c
    dx = -r * w * math.sin(q) - l * s * dslope
    ddx = -r * (w * w * math.cos(q) + dw * math.sin(q)) - l * (c * dslope**2 + s * ddslope)
    return (slope, dslope, ddslope), (x, dx, ddx)


@pytest.mark.parametrize("offset", [0.0, 0.02])
def test_slider_crank_is_its_closed_form(offset):
    """Positions, velocities and accelerations of all joints, and the torque by d'Alembert's principle."""
    r, l = 0.04, 0.14
    model = zoo.slider_crank(r, l, offset)
    rng = np.random.default_rng(4)
    start, _ = crank_and_slider(0.0, 0.0, 0.0, r, l, offset)
    _, (x0, _, _) = crank_and_slider(0.0, 0.0, 0.0, r, l, offset)
    for crank, w, dw in rng.uniform(-1, 1, (12, 3)) * (math.pi, 20.0, 200.0):
        (slope, _, _), (x, dx, ddx) = crank_and_slider(crank, w, dw, r, l, offset)
        # slope is measured from x towards z, the joint turns about +y the other way, relative to the crank
        q = np.array([crank, start[0] - slope - crank, x - x0])
        assert np.abs(model.assemble(q) - q).max() < 1e-13
        poses = eager("placements", model, q)
        assert abs(poses[2][0, 3] - x) < 1e-14 and abs(poses[2][2, 3] - offset) < 1e-14
        speed = eager("body_velocities", model, q, [w])
        assert abs(speed[2][3] - dx) < 1e-12 * (1 + abs(dx))
        A = eager("body_accelerations", model, q, [w], [dw])
        assert abs(A[2][3] - ddx) < 1e-11 * (1 + abs(ddx))
        tau = eager("inverse_dynamics", model, q, [w], [dw])
        assert abs(tau[0] - _by_virtual_work(model, q, w, dw, r, l, offset)) < 1e-10 * (1 + abs(tau[0]))


def _by_virtual_work(model, q, w, dw, r, l, e) -> float:
    """The torque at the crank: sum of m (a - g) . dr/dq + I alpha dtheta/dq over all bodies."""
    crank, sizes = q[0], {body.name: body.inertia for body in model.bodies}
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])  # of a vector that turns about +y

    def motions(rate, speedup):
        """Velocity and acceleration of the centre of mass, then of the angle, of each body."""
        (_, ds, dds), (_, dx, ddx) = crank_and_slider(crank, rate, speedup, r, l, e)

        def turning(arm):
            return turn @ arm * rate, turn @ arm * speedup - arm * rate**2

        direction = np.array([math.cos(crank), -math.sin(crank)])
        (dpin, ddpin), piston = turning(r * direction), (np.array([dx, 0.0]), np.array([ddx, 0.0]))
        rod = (dpin + piston[0]) / 2, (ddpin + piston[1]) / 2
        own = turning(float(sizes["crank"].com[0]) * direction)
        return {"crank": (*own, rate, speedup), "rod": (*rod, -ds, -dds), "piston": (*piston, 0.0, 0.0)}

    virtual, real = motions(1.0, 0.0), motions(w, dw)
    rotor = model.rotors[0]
    total = float(rotor.inertia.about_com[1]) * float(rotor.ratio[0]) ** 2 * dw
    for name, inertia in sizes.items():
        (dr, _, dtheta, _), (_, a, _, alpha) = virtual[name], real[name]
        total += float(inertia.mass) * (a - (0.0, -9.81)) @ dr + float(inertia.about_com[1]) * alpha * dtheta
    return total


def differential_by_mimic(ratio: float = 1.5) -> kt.Model:
    """The same machine without loops: side gears and rotors are sums of two turns about one axis."""
    loops = zoo.differential(("pitch", "roll"), ratio)
    body = {b.name: b for b in loops.bodies}
    builder = kt.ModelBuilder("differential")
    for name in ("pitch", "roll"):
        b = body[name]
        parent = "world" if b.parent == 0 else "pitch"
        builder.add_body(name, parent, b.joint, b.placement, b.inertia)
    hinge = kt.Revolute((0, 1, 0))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        rotor = next(r for r in loops.rotors if r.joint == side)
        n = float(rotor.ratio[0])
        for name, inertia, gear in ((side, body[side].inertia, 1.0), (f"{side}_rotor", rotor.inertia, n)):
            place = body[side].placement
            builder.add_body(f"{name}_sum", "world", hinge, place, mimic=("pitch", gear, 0.0))
            rolling = ("roll", gear * sign * ratio, 0.0)
            builder.add_body(name, f"{name}_sum", hinge, None, inertia, mimic=rolling)
    return builder.build()


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_a_linear_loop_is_a_mimic_joint(ratio):
    loops, mimic = zoo.differential(("pitch", "roll"), ratio), differential_by_mimic(ratio)
    rng = np.random.default_rng(1)
    for _ in range(5):
        pitch, roll = rng.uniform(-1.5, 1.5, 2)
        q = np.zeros(loops.nq)
        known = {
            "pitch": pitch, "roll": roll, "left": pitch + ratio * roll, "right": pitch - ratio * roll,
            "left_mesh": ratio * roll, "right_mesh": -ratio * roll,
        }  # fmt: skip
        for joint, x in known.items():
            q[loops.position_index(joint)] = x
        v, a, tau = rng.normal(size=(3, 2))
        other = np.array([pitch, roll])
        M, weight = eager("mass_matrix", mimic, other), 9.81 * mimic.total_mass * 0.12
        rates = np.abs(M).max() * (1 + np.abs(v).max())
        sizes = {  # of the terms that add up
            "gravity_force": weight, "inverse_dynamics": weight, "coriolis_matrix": rates,
            "christoffel_symbols": rates, "momentum": rates,
            "forward_dynamics": np.abs(np.linalg.inv(M)).max() * (weight + np.abs(tau).max()),
        }  # fmt: skip
        for name, more in {
            "mass_matrix": (), "gravity_force": (), "coriolis_matrix": (v,), "inverse_dynamics": (v, a),
            "forward_dynamics": (v, tau), "inverse_mass_matrix": (), "kinetic_energy": (v,),
            "christoffel_symbols": (), "momentum": (v,),
        }.items():  # fmt: skip
            found, truth = eager(name, loops, q, *more), eager(name, mimic, other, *more)
            size = max(np.abs(truth).max(), sizes.get(name, 0.0))
            assert np.abs(np.asarray(found) - truth).max() < 1e-15 * size, name


def test_motors_and_output_of_the_ankle_are_the_same_motion():
    """Another choice of independent joints is another name for the same velocities."""
    cranks, foot = zoo.parallel_ankle(), zoo.parallel_ankle(("pitch", "roll"))
    rng = np.random.default_rng(2)
    q = foot.assemble(0.2 * rng.normal(size=8), fixed=("pitch", "roll"))
    tree = foot.remade(loops=())
    rates = np.array([foot.rate(q, e) for e in np.eye(2)]).T
    change = rates[[tree.coordinate_index(f"{side}_crank").start for side in ("left", "right")]]
    v, tau = rng.normal(size=(2, 2))
    M = eager("mass_matrix", cranks, q)
    expected = eager("mass_matrix", foot, q)
    np.testing.assert_allclose(change.T @ M @ change, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    energy = eager("kinetic_energy", cranks, q, change @ v)
    np.testing.assert_allclose(energy, eager("kinetic_energy", foot, q, v), rtol=1e-13)
    free = eager("forward_dynamics", cranks, q, 0 * tau, tau)
    found = eager("forward_dynamics", foot, q, 0 * tau, change.T @ tau)
    np.testing.assert_allclose(found, np.linalg.solve(change, free), rtol=1e-11)


@pytest.mark.parametrize("independent", ["crank", "coupler", "rocker"])
def test_any_joint_of_a_four_bar_can_lead(independent):
    model = zoo.four_bar((independent,))
    assert model.loops[0].independent == ((independent, 0),)
    other = zoo.four_bar()
    q = other.assemble(np.array([0.3, 0.0, 0.0]), fixed=("crank",))
    gain = float(other.rate(q, [1.0])[model.position_index(independent)][0])
    M, M_crank = eager("mass_matrix", model, q), eager("mass_matrix", other, q)
    np.testing.assert_allclose(gain * M * gain, M_crank, rtol=1e-12)


def test_a_payload_makes_the_delta_heavier():
    light, heavy = zoo.delta(), zoo.delta(2.0)
    assert heavy.total_mass - light.total_mass == pytest.approx(2.0)
    q = light.neutral()
    assert np.all(np.linalg.eigvalsh(eager("mass_matrix", heavy, q) - eager("mass_matrix", light, q)) > 0)
    grown = eager("gravity_force", heavy, q) - eager("gravity_force", light, q)
    assert np.allclose(grown, grown[0]) and grown[0] < 0  # the arms carry it by turning upwards


def test_the_stewart_platform_can_be_led_by_its_platform():
    model = zoo.stewart("platform")
    assert [joint for joint, _ in model.loops[0].independent] == ["platform"] * 6
    legs = zoo.stewart()
    assert {joint for joint, _ in legs.loops[0].independent} == {f"leg{k}" for k in range(1, 7)}
    q = model.neutral()
    np.testing.assert_allclose(eager("potential_energy", model, q), eager("potential_energy", legs, q))


@pytest.mark.parametrize("name", ["parallel_ankle", "delta", "stewart"])
def test_velocities_and_forces_with_and_without_a_matrix(name):
    """G v and G^T f by G, and by solving for them; programs take what costs less."""
    model = getattr(kt.zoo, name)()
    q, v = model.random_state(3)
    (node,) = (node for node in model.nodes if isinstance(node, LoopNode))
    f = np.random.default_rng(3).normal(size=model.nu)
    one, other = (n.closed([*map(float, q)]) for n in (node, node.without_matrix))
    np.testing.assert_allclose(other.velocities(v), one.velocities(v), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.forces(f), one.forces(f), rtol=1e-12, atol=1e-12)
    a = kt.forward_dynamics(model, q, v, 0 * v)
    np.testing.assert_allclose(kt.inverse_dynamics(model, q, v, a), 0 * v, atol=1e-9)
