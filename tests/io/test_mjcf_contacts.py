"""Which geoms of MJCF files touch what, and how: `<pair>`, `<exclude>`, mixtures, and names of copies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io.test_collisions import mjcf, rules

import kinetree as kt

FLOOR = '<geom name="floor" type="plane" size="0 0 1"/>'


def scene(geom: str, plane: str = "", contact: str = "", more: str = "") -> str:
    """A box of 3 kg on a plane."""
    return (
        f'<mujoco>{more}<worldbody><geom name="floor" type="plane" size="0 0 1" {plane}/><body name="b" '
        f'pos="0 0 .1"><freejoint/><geom name="g" type="box" size=".1 .1 .1" mass="3" {geom}/></body>'
        f"</worldbody><contact>{contact}</contact></mujoco>"
    )


def ball(name: str, more: str = "") -> str:
    return f'<body name="{name}"><freejoint/><geom name="{name}" size=".1" {more}/></body>'


def world(inside: str, more: str = "") -> str:
    return f"<mujoco>{more}<worldbody>{inside}</worldbody></mujoco>"


@pytest.mark.parametrize(
    ("geom", "plane"),
    [
        ('solref=".005 1"', ""),
        ("", 'solref=".005 1"'),
        ('solref=".005 1" solmix="3"', ""),
        ('solref=".005 1" solmix="0"', 'solimp=".8 .9"'),
        ('solref=".005 1" solmix="0"', 'solmix="0"'),
        ('solimp=".5 .6 .001"', 'solref=".01 1"'),
        ('solref="-2000 -50"', 'solref="-1000 -90"'),
        ('solref="-2000 -50"', ""),
        ('solref=".0005 1" priority="1"', ""),  # not below two time steps
    ],
)
def test_two_geoms_touch_with_the_mean_of_both_as_in_mujoco(geom, plane):
    mujoco = pytest.importorskip("mujoco")
    text = scene(geom, plane, more='<option timestep="0.001"/>')
    peer = mujoco.MjModel.from_xml_string(text)
    state = mujoco.MjData(peer)
    mujoco.mj_step(peer, state, 3000)
    point = kt.load(text).contact_points[0]
    assert 3 * 9.81 / (4 * point.stiffness) == pytest.approx(0.1 - state.qpos[2], rel=1e-4)


def test_time_constants_may_be_short_where_files_say_so():
    quick, usual = 'solref=".0005 1" priority="1"', 'solref=".004 1" priority="1"'
    off = '<option timestep="0.001"/><option><flag refsafe="disable"/></option>'
    given, lifted, same = (kt.load(scene(*x)) for x in ((quick, "", "", off), (quick,), (usual,)))
    assert lifted.geometries == same.geometries
    assert given.geometries[0].stiffness > 10 * same.geometries[0].stiffness


def test_a_pair_is_enough_for_contact_with_the_ground():
    off = 'contype="0" conaffinity="0"'
    pair = '<pair geom1="g" geom2="floor" friction=".3 .3"/>'
    model = kt.load(scene(off, off + ' pos="0 0 -1"', pair))
    assert model.ground == kt.Ground(height=-1.0) and model.geometries[0].friction == 0.3
    assert kt.load(scene(off, off)).ground is None
    missing = kt.load(scene(off, off, pair.replace('"g"', '"nothing"')))
    assert missing.geometries == () and rules(missing) == ["contact-parameter"]


def test_pairs_have_defaults_and_no_friction_of_their_geoms():
    """In MuJoCo, a pair without friction has 1, whatever its geoms have."""
    balls = ball("a", 'friction=".3"') + ball("c", 'friction=".3"')
    pairs = '<pair geom1="a" geom2="c"/><pair class="ice" geom1="g" geom2="floor"/>'
    default = '<default><default class="ice"><pair friction=".1 .1"/></default></default>'
    text = scene("", "", pairs, default).replace("</worldbody>", balls + "</worldbody>")
    model = kt.load(text)
    assert [pair.friction for pair in model.pairs if set(pair[:2]) == {"a", "c"}] == [1.0]
    assert model.geometries[0].friction == 0.1


def test_what_a_pair_says_in_vain_is_reported():
    pair = '<pair geom1="a" geom2="c" friction=".5 .1" margin=".1" gap=".1" solref=".01 1" condim="4"/>'
    model = kt.load(world(ball("a") + ball("c"), f"<contact>{pair}</contact>"))
    said = [f.problem for f in model.report if f.rule == "contact-parameter"]
    assert model.pairs[0].friction == 0.5 and len(said) == 5
    assert any("second coefficient" in problem for problem in said)


def test_an_exclude_of_a_body_that_does_not_exist_is_reported():
    model = kt.load(world(ball("a") + ball("c"), '<contact><exclude body1="a" body2="b"/></contact>'))
    assert len(model.pairs) == 1 and rules(model) == ["contact-parameter"]


@pytest.mark.parametrize("name", ["friction", "solref", "contype", "margin"])
def test_words_that_are_no_numbers_are_reported(name):
    model = kt.load(mjcf(f'<geom size="1" {name}="soft"/>'))
    assert len(model.geometries) == 1 and rules(model) == ["contact-parameter"]


def test_contact_parameters_that_options_replace_are_reported():
    option = '<option o_friction=".1"><flag override="enable"/></option>'
    assert rules(kt.load(scene("", more=option))) == ["contact-parameter"]


def test_bodies_that_a_file_excludes_do_not_touch_the_ground():
    model = kt.load(scene("", "", '<exclude body1="b" body2="world"/>'))
    assert model.geometries == () and rules(model) == ["contact-pairs"]
    assert not [f for f in model.report if f.rule == "ignored"]
    paired = '<exclude body1="b" body2="world"/><pair geom1="g" geom2="floor"/>'
    assert kt.load(scene("", "", paired)).geometry_names == ("g",)  # a pair counts for more


def test_geoms_that_miss_the_ground_but_not_each_other_are_reported():
    apart = 'contype="2" conaffinity="2"'
    table = f'<body name="table"><geom name="table" type="box" size="1 1 .1" {apart}/></body>'
    balls = ball("a", 'contype="3" conaffinity="3"') + ball("c", apart)
    model = kt.load(world(FLOOR + table + balls))
    assert model.geometry_names == ("table", "a") and model.pairs[0][:2] == ("table", "a")
    assert rules(model) == ["contact-pairs"]


def test_a_plane_of_a_body_that_stands_still_is_the_ground():
    plane = (
        '<body pos="0 0 1"><body euler="90 0 0" pos="0 2 0"><geom type="plane" size="0 0 1"/></body></body>'
    )
    model = kt.load(world(plane + ball("a")))
    assert np.allclose(model.ground.normal, (0, -1, 0)) and model.ground.height == pytest.approx(-2)
    assert not rules(model)
    moving = '<body><freejoint/><geom type="plane" size="0 0 1"/><geom size=".1"/></body>'
    assert kt.load(world(moving)).ground is None


def test_a_geom_without_a_type_is_a_ball_fitted_to_its_mesh():
    mujoco = pytest.importorskip("mujoco")
    corners = "0 0 0 3 0 0 0 2 0 0 0 1 1 1 1"
    asset = f'<asset><mesh name="m" vertex="{corners}" inertia="convex"/></asset>'
    text = world('<body><freejoint/><geom mesh="m" pos="1 2 3"/></body>', asset)
    (part,) = kt.load(text).geometries
    peer = mujoco.MjModel.from_xml_string(text)
    assert part.shape.kind == "sphere" and part.shape.radius == pytest.approx(peer.geom_size[0][0], rel=1e-5)
    assert part.placement.p == pytest.approx(peer.geom_pos[0], rel=1e-5)


def test_copies_of_geoms_have_the_names_of_mujoco():
    copies = f'<replicate count="3" offset="1 0 0" sep="-">{ball("b")}</replicate>'
    pair = '<contact><pair geom1="b-1" geom2="floor" friction=".3 .3"/></contact>'
    model = kt.load(world(FLOOR + copies, pair))
    assert model.geometry_names == ("b-0", "b-1", "b-2")
    assert [part.friction for part in model.geometries] == [1.0, 0.3, 1.0]


def test_attached_models_bring_their_contacts_and_fields(tmp_path):
    inner = ball("a") + ball("c") + ball("d") + '<geom type="hfield" hfield="hills"/>'
    contact = '<contact><exclude body1="a" body2="c"/><pair geom1="a" geom2="d" friction=".2 .2"/></contact>'
    field = '<asset><hfield name="hills" nrow="2" ncol="2" size="1 1 1 1"/></asset>'
    (tmp_path / "child.xml").write_text(world(inner, contact + field))
    asset = '<asset><model name="child" file="child.xml"/></asset>'
    (tmp_path / "r.xml").write_text(world('<attach model="child" prefix="my_"/>', asset))
    model = kt.load(tmp_path / "r.xml")
    assert model.geometry_names == ("my_a", "my_c", "my_d") and isinstance(model.ground, kt.Heightfield)
    assert {pair[:3] for pair in model.pairs} == {("my_a", "my_d", 0.2), ("my_c", "my_d", 1.0)}


@pytest.mark.parametrize("inner", ["true", "false"])
@pytest.mark.parametrize("outer", ["true", "false"])
def test_attached_models_fit_primitives_as_the_outermost_file_says(inner, outer, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    mesh = '<asset><mesh name="m" vertex="0 0 0 .3 0 0 0 .2 0 0 0 .1 .1 .1 .1"/></asset>'
    body = '<body name="b"><freejoint/><geom type="box" mesh="m"/></body>'
    attach = '<asset><model name="child" file="{}"/></asset>', '<attach model="child" prefix="p_"/>'
    parts = (inner, mesh, body), (inner, attach[0].format("0.xml"), attach[1])
    for k, (fit, asset, inside) in enumerate((*parts, (outer, attach[0].format("1.xml"), attach[1]))):
        (tmp_path / f"{k}.xml").write_text(world(inside, f'<compiler fitaabb="{fit}"/>{asset}'))
    model, peer = kt.load(tmp_path / "2.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "2.xml"))
    assert model.geometries[0].shape.size == pytest.approx(peer.geom_size[0], rel=1e-6)
    assert model.total_mass == pytest.approx(peer.body_mass[1], rel=1e-6)


@pytest.mark.parametrize("folder", ["meshdir", "assetdir"])
def test_height_files_lie_in_the_folder_of_meshes(folder, tmp_path):
    (tmp_path / "terrain").mkdir()
    heights = np.arange(6, dtype="<f4").tobytes()
    (tmp_path / "terrain" / "hills.bin").write_bytes(np.array([2, 3], "<i4").tobytes() + heights)
    more = f'<compiler {folder}="terrain"/><asset><hfield file="hills.bin" size="1 1 5 1"/></asset>'
    (tmp_path / "r.xml").write_text(world('<geom type="hfield" hfield="hills"/>' + ball("a"), more))
    assert np.allclose(kt.load(tmp_path / "r.xml").ground.array, np.arange(6).reshape(2, 3).T)


def test_large_fields_of_heights_are_read():
    heights = np.random.default_rng(0).uniform(0, 1, (120, 110))
    heights[0, :2] = 0, 1
    rows = " ".join(map(str, heights.ravel()))
    asset = f'<asset><hfield name="h" nrow="120" ncol="110" size="1 1 1 1" elevation="{rows}"/></asset>'
    model = kt.load(world('<geom type="hfield" hfield="h"/>' + ball("a"), asset))
    assert np.allclose(model.ground.array, heights[::-1].T)
    assert not [f for f in model.report if f.rule == "ignored"]


def test_a_body_with_several_joints_does_not_touch_the_one_that_carries_it():
    hinges = '<joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>'
    outer = '<body name="shin" pos="0 0 -1"><joint/><geom name="shin" size=".1"/></body>'
    thigh = f'<body name="thigh">{hinges}<geom name="thigh" size=".1"/>{outer}</body>'
    body = f'<body name="trunk"><freejoint/><geom name="trunk" size=".1"/>{thigh}</body>'
    model = kt.load(world(body), self_collision=True)
    assert [pair[:2] for pair in model.pairs] == [("trunk", "shin")]


def test_too_many_shapes_to_look_for_pairs_are_reported():
    model = kt.load(world("".join(ball(f"b{k}") for k in range(257))))
    assert model.pairs == () and rules(model) == ["contact-pairs"]


def test_self_collision_of_very_many_shapes_is_refused_at_once():
    scene = world("".join(ball(f"b{k}") for k in range(2000)))
    with pytest.raises(kt.errors.ModelError, match="self_collision=True makes more than"):
        kt.load(scene, self_collision=True)


def test_mujoco_feels_the_friction_and_the_stiffness_of_a_saved_model(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    box = kt.zoo.solid(kt.Box((0.1, 0.1, 0.1)), mass=2.0)
    soft = {box.geometry_names[0]: {"friction": 0.3, "stiffness": 2e4}}
    model = box.replace(geometries=soft, ground=kt.Ground())
    peer = mujoco.MjModel.from_xml_path(str(kt.save(model, tmp_path / "m.xml")))
    peer.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    state = mujoco.MjData(peer)
    state.qpos[2] = 0.1
    mujoco.mj_step(peer, state, 3000)
    assert state.contact.friction[:, 0] == pytest.approx(0.3)
    assert 0.1 - state.qpos[2] == pytest.approx(2 * 9.81 / (4 * 2e4), rel=1e-3)


def test_saved_models_that_touch_each_other_keep_their_own_stiffness(tmp_path):
    """A robot that stands alone sinks in by its own weight, whatever pairs it has."""
    heavy, light = kt.zoo.solid(kt.Sphere(0.1), mass=50.0), kt.zoo.solid(kt.Sphere(0.1), mass=0.1)
    both = heavy.attach(light, prefix="light_").replace(ground=kt.Ground())
    names = both.geometry_names
    stiff = both.replace(geometries={name: {"stiffness": 1e4} for name in names}).add_pair(*names)
    lines = kt.save(stiff, tmp_path / "m.xml").read_text().splitlines()
    again = kt.load("\n".join(line for line in lines if not line.strip().startswith("<text")))
    assert [part.stiffness for part in again.geometries] == pytest.approx([1e4, 1e4])
    assert len(again.pairs) == 1


def test_lists_that_are_cut_short_go_on_with_inherited_numbers():
    mujoco = pytest.importorskip("mujoco")
    default = (
        '<default><geom size=".1 .2 .3" solref=".03 .5" solimp=".8 .9 .004 .4 3"/><default class="thin">'
        '<geom size=".02"/></default></default>'
    )
    geoms = '<geom class="thin" type="box" solref=".01" solimp=".7"/><geom type="cylinder" size=".05"/>'
    text = world(FLOOR + f'<body pos="0 0 1"><freejoint/>{geoms}</body>', default)
    flat = '<geom type="box" size=".02 .2 .3" solref=".01 .5" solimp=".7 .9 .004 .4 3"/>'
    flat += '<geom type="cylinder" size=".05 .2" solref=".03 .5" solimp=".8 .9 .004 .4 3"/>'
    floor = FLOOR.replace("/>", ' solref=".03 .5" solimp=".8 .9 .004 .4 3"/>')
    plain = world(floor + f'<body pos="0 0 1"><freejoint/>{flat}</body>')
    model, same = kt.load(text), kt.load(plain)
    assert [part.shape.size for part in model.geometries] == [(0.02, 0.2, 0.3), (0.05, 0.2)]
    assert model.geometries == same.geometries and model.bodies[0].inertia == same.bodies[0].inertia
    ours, peer = (mujoco.MjModel.from_xml_string(x) for x in (text, plain))
    assert np.array_equal(ours.geom_size[1:, :2], peer.geom_size[1:, :2])  # they mean the same there, too
    assert np.array_equal(ours.geom_solref, peer.geom_solref)
    assert np.array_equal(ours.geom_solimp, peer.geom_solimp)


@pytest.mark.parametrize(
    ("geom", "contact", "more", "said"),
    [
        ('surfacevel="1 0 0"', "", "", "surfacevel"),
        ('adhesion="3"', "", "", "adhesion"),
        ("", '<pair geom1="g" geom2="floor" solreffriction=".1 1"/>', "", "solreffriction"),
        ("", '<pair geom1="g" geom2="floor" fricton=".1"/>', "", "fricton"),
        ("", '<pair geom1="g" geom2="floor"/><pair geom1="floor" geom2="g"/>', "", "same geoms"),
        ("", "", '<option><flag filterparent="disable"/></option>', "filterparent"),
        ("", "", '<option collision="predefined"/>', "collision"),
    ],
)
def test_what_acts_on_contacts_but_is_not_read_is_reported(geom, contact, more, said):
    assert not list(kt.load(scene("", "", '<exclude body1="b" body2="b"/>')).report)
    found = kt.load(scene(geom, "", contact, more)).report
    assert [finding for finding in found if said in finding.problem]


def test_the_printed_report_names_shapes_that_are_left_out():
    apart = kt.load(scene('contype="2" conaffinity="2"')).report
    assert "not with the ground is left out" in str(apart)
