"""Edited models with loops: loops are kept, solved anew, stiffened or refused, and the motion stays right."""

from __future__ import annotations

import numpy as np
import pytest
from tests.loops.mechanisms import at, four_bar, link

import kinetree as kt
from kinetree.errors import AssemblyError, ModelError

HINGE = kt.Revolute((0, 1, 0))
TURNED = kt.Pose(kt.Rotation.from_rotation_vector((0, 0, 0.3)), (0, 0, 0.1))


def M(model: kt.Model, q: np.ndarray) -> np.ndarray:
    return kt.mass_matrix(model, q, target="eager")


def projected(model: kt.Model, q: np.ndarray) -> np.ndarray:
    """The mass matrix of the open tree, seen along the velocities that leave the loops closed."""
    G = kt.loop_matrix(model, q, target="eager")
    return G.T @ M(model.spanning_tree, q) @ G


def test_inertias_leave_the_solution_as_it_is():
    model = four_bar()
    heavy = model.replace(inertia={"rocker": link(0.6, 5.0)}, gravity=(0, 0, -3))
    assert heavy.loops == model.loops
    q, _ = model.random_state(0)
    assert np.allclose(M(heavy, q), projected(heavy, q), rtol=1e-13)
    assert not np.allclose(M(heavy, q), M(model, q))
    assert model.with_parameters(model.parameters * 2).loops == model.loops
    assert model.add_frame("tip", "rocker", at(0.6)).loops == model.loops


def test_a_new_placement_is_closed_again():
    model = four_bar()
    moved = model.replace(placement={"rocker": at(0.75)})
    assert moved.loops[0].independent == model.loops[0].independent
    q, _ = moved.random_state(1)
    assert np.allclose(M(moved, q), projected(moved, q), rtol=1e-13)
    ends = [kt.frame_placement(moved.add_frame("end", body, place), q, "end", target="eager")[:3, 3]
            for body, place in (("coupler", at(0.8)), ("rocker", at(0.6)))]  # fmt: skip
    assert np.allclose(ends[0], ends[1], atol=1e-12)
    with pytest.raises(AssemblyError, match="'four_bar' cannot be closed"):
        model.replace(placement={"rocker": at(5.0)})


def test_a_placement_elsewhere_leaves_the_solution():
    two = four_bar().attach(four_bar(), "rocker", at(0.1), prefix="second_")
    moved = two.replace(placement={"second_rocker": at(0.72)})
    assert moved.loops[0] == two.loops[0] and moved.loops[1] != two.loops[1]


def test_locking_an_independent_joint_makes_a_loop_rigid():
    model = four_bar()
    q = model.assemble(model.positions({"crank": 0.4}), fixed="crank")
    locked = model.lock({"crank": 0.4})
    assert locked.nv == locked.nq == 0 and not locked.loops
    before = kt.placements(model, q, target="eager")
    assert np.allclose(kt.placements(locked, np.zeros(0), target="eager"), before, atol=1e-12)


def test_locking_a_dependent_joint_makes_a_loop_rigid():
    model = four_bar()
    q = model.assemble(model.positions({"crank": 0.4}), fixed="crank")
    rocker = float(q[model.position_index("rocker")][0])
    locked = model.lock({"rocker": rocker})
    assert locked.nv == 0 and not locked.loops


def test_locking_takes_one_freedom_of_several():
    model = kt.zoo.parallel_ankle()
    first, second = (joint for joint, _ in model.loops[0].independent)
    locked = model.lock({first: float(model.neutral()[model.position_index(first)][0])})
    assert locked.nv == model.nv - 1 and len(locked.loops) == 1
    assert locked.loops[0].independent == ((second, 0),)
    q, _ = locked.random_state(2)
    assert np.allclose(M(locked, q), projected(locked, q), rtol=1e-12)


def test_locking_where_no_position_closes_is_refused():
    with pytest.raises(AssemblyError, match="'four_bar'"):
        four_bar().lock({"rocker": 3.0})
    model = four_bar()
    every = {joint: float(x[0]) + 0.3 for joint, x in model.split_positions(model.neutral()).items()}
    with pytest.raises(AssemblyError, match="'four_bar'"):
        model.lock(every)
    closed = {joint: float(x[0]) for joint, x in model.split_positions(model.neutral()).items()}
    assert model.lock(closed).nv == 0


def test_attached_loops_move_as_before():
    arm = kt.zoo.puma560()
    both = arm.attach(four_bar(), arm.body_names[-1], TURNED,
        prefix="tool_")  # fmt: skip
    assert [loop.name for loop in both.loops] == ["tool_four_bar"]
    assert both.loops[0].independent == (("tool_crank", 0),)
    q, _ = both.random_state(3)
    assert np.allclose(M(both, q), projected(both, q), rtol=1e-12, atol=1e-14)
    assert kt.Model.from_dict(both.to_dict()) == both
    with pytest.raises(ModelError, match="loop named 'four_bar'"):
        four_bar().attach(renamed(four_bar()), "rocker")


def renamed(model: kt.Model) -> kt.Model:
    """The same with other names for everything but the loop."""
    other = kt.ModelBuilder("base").build().attach(model, prefix="x_")
    loops = [loop._replace(closures=tuple(c.placed(lambda b: (b, None), "")
             for c in loop.closures)) for loop in other.loops]  # fmt: skip
    closures = [c for loop in loops for c in loop.closures]
    from dataclasses import replace

    return other.remade(loops=(loops[0]._replace(closures=(replace(closures[0], name="four_bar"),)),))


def test_world_ends_of_an_attached_loop_move_to_the_carrier():
    b = kt.ModelBuilder("rod")
    b.add_body("arm", None, HINGE, at(), link(0.3))
    b.add_body("fore", "arm", HINGE, at(0.3), link(0.3))
    b.add_distance("fore", None, 0.25, (0.3, 0, 0), (0.4, 0, 0.1), name="wire")
    rod = b.build()
    assert rod.nv == 1
    floating = kt.ModelBuilder("ship")
    floating.add_body("hull", None, kt.Free(), None, link(0.5, 10.0))
    both = floating.build().attach(rod, "hull", at(0.1, 0.2, 0.3))
    assert both.loops[0].closures[0].other == 1 and both.nv == 7
    q, _ = both.random_state(4)
    T = kt.placements(both, q, target="eager")
    hull, fore = (T[both.body_index(name) - 1] for name in ("hull", "fore"))
    gap = fore[:3, :3] @ (0.3, 0, 0) + fore[:3, 3] - hull[:3, :3] @ (0.5, 0.2, 0.4) - hull[:3, 3]
    assert np.linalg.norm(gap) == pytest.approx(0.25, abs=1e-12)


def test_a_subtree_keeps_whole_loops_and_refuses_cut_ones():
    arm = kt.zoo.puma560()
    tip = arm.body_names[-1]
    both = arm.attach(four_bar(), tip, prefix="tool_")
    part = both.subtree(tip)
    assert [loop.name for loop in part.loops] == ["tool_four_bar"] and part.nv == 2
    q, _ = part.random_state(5)
    assert np.allclose(M(part, q), projected(part, q), rtol=1e-12, atol=1e-14)
    with pytest.raises(ModelError, match="would cut the loop 'tool_four_bar'"):
        both.subtree("tool_rocker")
    assert not both.subtree(arm.body_names[0]).loops or both.subtree(arm.body_names[0]).loops == both.loops


def test_configurations_stay_closed():
    model = four_bar()
    q = model.assemble(model.positions({"crank": 0.5}), fixed="crank")
    model = model.replace(configurations={"half": q})
    assert np.allclose(model.configurations["half"], q)
    moved = model.replace(placement={"rocker": at(0.72)})
    assert moved.configurations["half"][0] == 0.5
    kt.mass_matrix(moved, moved.configurations["half"], target="eager")
    assert again(moved).configurations["half"].tolist() == moved.configurations["half"].tolist()
    with pytest.raises(AssemblyError, match="configuration 'open'"):
        model.replace(configurations={"open": np.zeros(3)})


def again(model: kt.Model) -> kt.Model:
    return kt.Model.from_dict(model.to_dict())


@pytest.mark.parametrize("mode", ["reflected", "lumped", "none"])
def test_rotors_on_dependent_joints_can_be_approximated(mode):
    model = four_bar().replace(rotors=mode)
    assert model.loops and not model.rotors
    q, _ = model.random_state(6)
    assert np.allclose(M(model, q), projected(model, q), rtol=1e-13)


@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_an_exact_dead_point_has_a_name(target):
    """Crank and coupler in line: the rocker, on which the others depend, stands still."""
    model = four_bar(("rocker",))
    reach, base, rocker = 1.1, 0.7, 0.6
    angle = -np.arccos((reach**2 + base**2 - rocker**2) / (2 * reach * base))
    q = model.assemble(model.positions({"crank": angle, "coupler": 0.0}), fixed=("crank", "coupler"))
    with pytest.raises(kt.errors.SingularError, match="dead point of 'rocker'"):
        kt.mass_matrix(model, q, target=target)
