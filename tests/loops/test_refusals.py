"""What cannot be closed, cannot move or is not a loop is refused with the facts that help."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.errors import AssemblyError, ModelError, SingularError

HINGE = kt.Revolute((0, 1, 0))
BAR = kt.Inertia(1.0, (0.1, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]).tolist())


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> kt.Pose:
    return kt.Pose(p=(x, y, z))


def links(*lengths: float, name: str = "linkage") -> kt.ModelBuilder:
    """A crank, a coupler and a rocker, not closed."""
    builder = kt.ModelBuilder(name)
    crank, ground = lengths
    builder.add_body("crank", None, HINGE, None, BAR)
    builder.add_body("coupler", "crank", HINGE, at(crank), BAR)
    builder.add_body("rocker", None, HINGE, at(ground), BAR)
    return builder


def says(error: type[Exception], *facts: str):
    """A context that wants an error whose message has all these facts."""
    pattern = "".join(f"(?=[\\s\\S]*{fact})" for fact in facts)
    return pytest.raises(error, match=pattern)


def test_links_that_are_too_short_cannot_be_closed():
    builder = links(0.1, 2.0)
    builder.add_loop("coupler", "rocker", HINGE, at(0.2), at(0.3), name="too_short")
    with says(AssemblyError, "linkage", "too_short", "cannot be closed", "m", "frames and lengths"):
        builder.build()


def test_wrong_anchors_are_refused_with_how_far_they_stay_apart():
    """The anchor lies 5 cm out of the plane: no position brings it nearer than that."""
    builder = links(0.3, 0.7)
    builder.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6, y=0.05), name="bent")
    with says(AssemblyError, "bent", "cannot be closed", "0.05 m"):
        builder.build()


def test_axes_that_are_not_parallel_lock_or_contradict():
    builder = links(0.3, 0.7)
    builder.add_loop("coupler", "rocker", kt.Revolute((0, 0.8, 0.6)), at(0.8), at(0.6), name="skew")
    with pytest.raises((AssemblyError, ModelError), match="skew"):
        builder.build()


def test_a_loop_that_cannot_move():
    builder = links(0.3, 0.7)
    builder.add_loop("coupler", "rocker", kt.Fixed(), at(0.8), at(0.3), name="weld")
    with says(ModelError, "linkage", "weld", "cannot move", "all 3 velocities", "more freedom"):
        builder.build()


def test_both_ends_on_one_body():
    with says(ModelError, "linkage", "both ends are on body 'crank'", "two bodies"):
        links(0.3, 0.7).add_loop("crank", "crank", HINGE, at(0.1), at(0.2))


def test_both_ends_on_the_world():
    with says(ModelError, "both ends"):
        links(0.3, 0.7).add_loop(None, "world", HINGE)


def test_unknown_bodies_and_joints_are_named():
    with says(ModelError, "rokker", "rocker"):
        links(0.3, 0.7).add_loop("coupler", "rokker", HINGE)
    with says(ModelError, "cranck", "crank"):
        links(0.3, 0.7).add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), independent=("cranck",))
    with says(ModelError, "handle"):
        links(0.3, 0.7).add_relation("crank", "handle", (0.0, 1.0))


def test_a_joint_that_closes_nothing():
    with says(ModelError, "free", "closes no loop"):
        links(0.3, 0.7).add_loop("coupler", "rocker", kt.Free())
    with says(ModelError, "joint must be a joint"):
        links(0.3, 0.7).add_loop("coupler", "rocker", "revolute")


def test_rods_need_a_length():
    for length in (0.0, -0.3, np.nan):
        with says(ModelError, "length"):
            links(0.3, 0.7).add_distance("coupler", "rocker", length)


def test_rods_that_are_too_short_or_too_long():
    for length in (0.01, 9.0):
        builder = links(0.3, 0.7)
        builder.add_distance("crank", "rocker", length, (0.3, 0.0, 0.0), (0.2, 0.0, 0.0), name="rod")
        with says(AssemblyError, "rod", "cannot be closed"):
            builder.build()


def test_symbols_are_substituted_first():
    builder = kt.ModelBuilder("symbolic")
    L = sympy.Symbol("L")
    builder.add_body("crank", None, HINGE, None, BAR)
    builder.add_body("coupler", "crank", HINGE, kt.Pose(p=(L, 0, 0)), BAR)
    builder.add_loop("coupler", "world", kt.Spherical(), at(0.2), at(0.4), name="pin")
    with says(ModelError, "pin", "numbers", "symbols", "substitute"):
        builder.build()


def test_too_many_independent_joints():
    builder = links(0.3, 0.7)
    builder.add_loop(
        "coupler", "rocker", HINGE, at(0.8), at(0.6), independent=("crank", "rocker"), name="bars"
    )
    with says(ModelError, "bars", "1 degree of freedom", "crank", "rocker"):
        builder.build()


def test_a_joint_that_does_not_move_cannot_lead():
    """A slider across a parallelogram's plane: the loop forbids it to move at all."""
    builder = kt.ModelBuilder("stuck")
    builder.add_body("slide", None, kt.Prismatic((0, 1, 0)), None, BAR)
    builder.add_body("crank", "slide", HINGE, None, BAR)
    builder.add_body("coupler", "crank", HINGE, at(0.3), BAR)
    builder.add_body("rocker", None, HINGE, at(0.7), BAR)
    builder.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), independent=("slide",), name="bars")
    with says(ModelError, "bars", "slide", "degree"):
        builder.build()


def test_nearly_redundant_rows_are_left_out_and_said():
    """Axes that are parallel to five digits, as files have them: taken literally nothing could move."""
    builder = kt.ModelBuilder("rounded")
    builder.add_body("crank", None, HINGE, None, BAR)
    builder.add_body("coupler", "crank", kt.Revolute((1e-6, 1, 0)), at(0.3), BAR)
    builder.add_body("rocker", None, kt.Revolute((0, 1, 2e-6)), at(0.7), BAR)
    builder.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), name="bars")
    loop = builder.build().loops[0]
    assert loop.redundant == 3 and len(loop.independent) == 1
    assert 1e-8 < loop.slack < 1e-4


def test_rows_that_contradict_when_the_loop_moves():
    """Two hinges whose axes differ by half a degree: redundant where it starts, and not elsewhere."""
    builder = kt.ModelBuilder("warped")
    builder.add_body("crank", None, HINGE, None, BAR)
    builder.add_body("coupler", "crank", kt.Revolute((0.01, 1, 0)), at(0.3), BAR)
    builder.add_body("rocker", None, kt.Revolute((0, 1, 0.02)), at(0.7), BAR)
    builder.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), name="bars")
    with pytest.raises((AssemblyError, ModelError), match="bars"):
        builder.build()


@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_open_positions_say_how_far_and_what_to_call(target):
    model = kt.zoo.four_bar()
    q = model.neutral()
    q[1] += 0.01
    with says(AssemblyError, "four_bar", "open by", "m", "assemble"):
        kt.mass_matrix(model, q, target=target)
    closed = model.assemble(q)
    assert np.isfinite(kt.mass_matrix(model, closed, target=target)).all()


@pytest.mark.parametrize("target", ["eager", "cpu"])
def test_dead_points_say_so(target):
    """Led by the rocker, a crank-rocker stops where crank and coupler are in line."""
    model = kt.zoo.four_bar(("rocker",))
    crank = _in_line()
    q = kt.zoo.four_bar().assemble(np.array([crank, -crank, 0.0]), fixed=("crank",))
    with says(SingularError, "four_bar", "dead point", "independent"):
        kt.mass_matrix(model, q, target=target)


def _in_line() -> float:
    """The angle of the crank, from upright, at which the rocker's pin is farthest away: 0.10 + 0.25 m."""
    far, ground, rocker = 0.35, 0.25, 0.20
    angle = np.arccos((far**2 + ground**2 - rocker**2) / (2 * far * ground))
    return float(np.pi / 2 - angle)


OVER = {
    "tilted": (kt.Revolute((0.0, np.cos(0.01), np.sin(0.01))), at(0.6), "rad"),
    "shifted": (HINGE, at(0.6, y=0.002), "0.002 m"),
}


@pytest.mark.parametrize("name", OVER)
def test_rows_that_contradict_others(name):
    """What a planar linkage cannot close by moving, by how much, and in whose loop."""
    joint, other, apart = OVER[name]
    builder = links(0.3, 0.7)
    builder.add_loop("coupler", "rocker", joint, at(0.8), other, name=name)
    with says(AssemblyError, "linkage", name, "over-determined", apart, "more freedom"):
        builder.build()
    # said by the dictionary of a model too
    good = links(0.3, 0.7)
    good.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), name=name)
    data = good.build().to_dict()
    (entry,) = data["loops"]
    (closure,) = entry["closures"]
    closure["parameters"] = list(map(float, joint.parameters))
    closure["other_placement"]["p"] = list(other.p)
    data["loops"] = [{"closures": [closure]}]
    with says(AssemblyError, name, "over-determined", apart):
        kt.Model.from_dict(data)


def test_two_closures_that_leave_no_freedom():
    builder = links(0.3, 0.7)
    builder.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), name="pin")
    builder.add_relation("crank", "rocker", (0.0, 1.0), name="gears")
    with says(ModelError, "pin", "cannot move", "over-determined", "all 3 velocities"):
        builder.build()


def test_two_relations_that_contradict():
    builder = links(0.3, 0.7)
    builder.add_relation("crank", "rocker", (0.0, 1.0), name="gears")
    builder.add_relation("crank", "rocker", (0.1, 1.0), name="others")
    with says(AssemblyError, "gears", "over-determined", "0.05 rad"):
        builder.build()
