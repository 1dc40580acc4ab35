"""Which geometries touch each other, and what a model keeps of it."""

from __future__ import annotations

import pickle

import pytest
from tests.contact.pair_scenes import things

import kinetree as kt

BALL, BOX = kt.Sphere(0.1), kt.Box((0.1, 0.1, 0.1))
SCENE = """<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <geom name="table" type="box" size=".5 .5 .05" pos="0 0 .5" {mask}/>
  <body name="a" pos="0 0 .65"><freejoint/><geom name="ga" type="box" size=".1 .1 .1" friction=".5"/></body>
  <body name="b" pos="0 0 .86"><freejoint/><geom name="gb" size=".1" friction=".9"/>
    <body name="c"><joint axis="0 1 0"/><geom name="gc" type="capsule" size=".02 .1" pos=".3 0 0"/>
      <body name="d" pos=".3 0 .2"><joint axis="0 1 0"/><geom name="gd" size=".02"/></body></body></body>
  </worldbody><contact><exclude body1="a" body2="c"/>{pair}</contact></mujoco>"""
SDF = """<sdf version="1.9"><world name="w">{}</world></sdf>"""
THING = """<model name="{0}"><self_collide>{1}</self_collide><pose>0 0 {2} 0 0 0</pose>
  <link name="l"><inertial><mass>1</mass></inertial><collision name="c"><geometry><sphere>
  <radius>1</radius></sphere></geometry><surface><contact><collide_bitmask>{3}</collide_bitmask></contact></surface></collision></link>
  </model>"""


def names(model: kt.Model) -> set[frozenset[str]]:
    return {frozenset(pair[:2]) for pair in model.pairs}


def test_numbers_of_a_pair_follow_from_both():
    model = things((BALL, 1.0), (BOX, 3.0), pairs=())
    model = model.replace(geometries={
        "thing_0": {"stiffness": 1e4, "friction": 0.4, "dissipation": 1.0},
        "thing_1": {"stiffness": 3e4, "friction": 0.9, "dissipation": 2.0},
    })  # fmt: skip
    (point,) = model.add_pair("thing_0", "thing_1").pair_points
    assert abs(point.stiffness - 7.5e3) < 1e-9 and abs(point.friction - 0.6) < 1e-15
    assert abs(point.dissipation - (3e4 * 1.0 + 1e4 * 2.0) / 4e4) < 1e-15
    (point,) = model.replace(pairs=[kt.Pair("thing_0", "thing_1", 0.1, 5.0, 0.0)]).pair_points
    assert (point.friction, point.stiffness, point.dissipation) == (0.1, 5.0, 0.0)
    assert (point.body, point.other_body) == (1, 2)


def test_trees_that_touch_carry_each_other():
    apart = things((BOX, 1.0), (BOX, 9.0), pairs=())
    tied = apart.add_pair("thing_0", "thing_1")
    assert abs(apart.contact_points[0].stiffness / (9.81 / 4e-3) - 1) < 1e-12
    assert {p.stiffness for p in tied.contact_points} == {tied.contact_points[0].stiffness}
    assert abs(tied.contact_points[0].stiffness / (10 * 9.81 / 4e-3) - 1) < 1e-12


def test_models_keep_their_pairs():
    model = things((BALL, 1.0), (BOX, 3.0), (BALL, 1.0))
    assert len(model.pairs) == 3 and model != model.replace(pairs=())
    assert pickle.loads(pickle.dumps(model)) == model == kt.Model.from_dict(model.to_dict())
    assert "3 pairs" in str(model)
    twice = model.attach(model, None, prefix="other_")
    assert len(twice.pairs) == 6 and twice.pairs[-1].geometry.startswith("other_")
    assert len(model.replace(geometries={"thing_0": None}).pairs) == 1
    assert len(model.subtree("thing_0").pairs) == 0


def test_bad_pairs_are_refused():
    model = things((BALL, 1.0), (BALL, 1.0))
    for given, message in (
        ([("thing_0", "nobody")], "nobody"),
        ([("thing_0", "thing_0")], "cannot move against each other"),
        ([("thing_0", "thing_1"), ("thing_1", "thing_0")], "a pair already"),
        ([kt.Pair("thing_0", "thing_1", friction=-1.0)], "friction is -1"),
        (["thing_0"], "a pair is two names"),
        (3, "pairs of names"),
    ):
        with pytest.raises(kt.errors.ModelError, match=message):
            model.replace(pairs=given)
    with pytest.raises(kt.errors.ModelError, match="are a pair already"):
        model.add_pair("thing_0", "thing_1")
    with pytest.raises(kt.errors.ModelError, match="435 pairs with 435 points"):
        things(*[(BALL, 1.0)] * 30)


def test_pairs_of_mjcf():
    model = kt.load(SCENE.format(mask="", pair=""))
    table = {frozenset(("table", name)) for name in ("ga", "gb", "gc", "gd")}
    assert names(model) == table | {frozenset(("ga", "gb")), frozenset(("ga", "gd"))}
    friction = {frozenset(pair[:2]): pair.friction for pair in model.pairs}
    assert friction[frozenset(("ga", "gb"))] == 0.9  # the larger one, as in MuJoCo
    named = kt.load(SCENE.format(mask="", pair='<pair geom1="gb" geom2="gd" friction="0.3"/>'))
    assert named.pairs[0] == kt.Pair("gb", "gd", 0.3) and len(named.pairs) == 7
    within = kt.load(SCENE.format(mask="", pair=""), self_collision=True)
    assert names(within) - names(model) == {frozenset(("gb", "gd"))}
    masked = kt.load(SCENE.format(mask='contype="2" conaffinity="2"', pair=""))
    assert not any("table" in pair for pair in names(masked))
    assert not kt.load(SCENE.format(mask="", pair=""), geometry=False).pairs


def test_pairs_of_sdf():
    things = [THING.format("one", "false", 0, 1), THING.format("two", "false", 3, 3)]
    assert len(kt.load(SDF.format("".join(things))).pairs) == 1
    apart = [THING.format("one", "false", 0, 1), THING.format("two", "false", 3, 2)]
    assert not kt.load(SDF.format("".join(apart))).pairs


@pytest.mark.parametrize("suffix", ["json", "xml", "urdf", "sdf"])
def test_files_keep_pairs(suffix, tmp_path):
    model = kt.load(SCENE.format(mask="", pair='<pair geom1="gb" geom2="gd" friction="0.3"/>'))
    again = kt.load(kt.save(model, tmp_path / f"scene.{suffix}"))
    assert again.pairs == model.pairs and again.geometries == model.geometries


def test_many_pairs_of_a_file_are_a_note():
    bodies = "".join(
        f'<body pos="{k} 0 1"><freejoint/><geom name="g{k}" size=".1"/></body>' for k in range(10)
    )
    model = kt.load(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    assert not model.pairs
    (note,) = (f for f in model.report.findings if f.rule == "contact-pairs")
    assert "45 pairs" in note.problem
