"""SDF: poses, joints, models and what is said about the rest."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io.peers import eager
from tests.io.sdf_robots import random_robot

import kinetree as kt


def assert_same_dynamics(a: kt.Model, b: kt.Model, seed: int = 0, tolerance: float = 1e-12) -> None:
    """Mass matrices, forces and places of frames agree, joint by joint, whatever their order."""
    assert a.nv == b.nv and a.nq == b.nq
    rng = np.random.default_rng(seed)
    q, v = a.random_state(rng)
    acceleration = rng.standard_normal(a.nv)

    def moved(x: np.ndarray) -> np.ndarray:
        return b.velocities({name: row for name, row in a.split_velocities(x).items() if len(row)})

    p = b.positions({name: row for name, row in a.split_positions(q).items() if len(row)})
    u, other = moved(v), moved(acceleration)
    M = np.array([moved(row) for row in eager(kt.mass_matrix, a, q)])
    M = np.array([moved(row) for row in M.T])
    size = np.abs(M).max()
    assert np.abs(eager(kt.mass_matrix, b, p) - M).max() <= tolerance * size
    for f, g in (
        (eager(kt.inverse_dynamics, a, q, v, acceleration), eager(kt.inverse_dynamics, b, p, u, other)),
        (eager(kt.passive_force, a, q, v), eager(kt.passive_force, b, p, u)),
    ):
        assert np.abs(moved(f) - g).max() <= tolerance * max(np.abs(f).max(), size, 1.0)
    for name in set(a.frame_names) & set(b.frame_names):
        gap = eager(kt.frame_placement, a, q, name) - eager(kt.frame_placement, b, p, name)
        assert np.abs(gap).max() <= tolerance * 100


@pytest.mark.parametrize("seed", range(25))
def test_random_robots_are_read_as_they_were_drawn(seed):
    robot = random_robot(seed, floating=seed % 3 == 0)
    loaded = kt.load(robot.text)
    assert [joint for joint in robot.model.joint_names if "@" not in joint]
    assert_same_dynamics(robot.model, loaded, seed)


INERTIAL = (
    "<inertial><pose>0.1 0.02 0.03 0 0 0</pose><mass>2</mass>"
    "<inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.15</izz><ixy>0.01</ixy></inertia></inertial>"
)


def link(name: str, pose: str = "0 0 0 0 0 0", inner: str = "", relative: str = "") -> str:
    attribute = f' relative_to="{relative}"' if relative else ""
    return f'<link name="{name}"><pose{attribute}>{pose}</pose>{INERTIAL}{inner}</link>'


def hinge(
    name: str, parent: str, child: str, axis: str = "0 0 1", inner: str = "", kind: str = "revolute"
) -> str:
    limit = "<limit><lower>-2</lower><upper>2</upper></limit>"
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f"<axis><xyz>{axis}</xyz>{limit}{inner}</axis></joint>"
    )


def sdf(*parts: str, version: str = "1.11", model: str = 'name="m"') -> str:
    return f'<sdf version="{version}"><model {model}>{"".join(parts)}</model></sdf>'


def world(*parts: str, version: str = "1.11") -> str:
    return f'<sdf version="{version}"><world name="w">{"".join(parts)}</world></sdf>'


def place(model: kt.Model, name: str, q=None) -> np.ndarray:
    q = model.neutral() if q is None else q
    return np.asarray(eager(kt.frame_placement, model, q, name))


def rules(model: kt.Model) -> list[str]:
    return [f.rule for f in model.report.findings]


def test_a_model_floats_unless_it_is_fixed():
    free = kt.load(sdf(link("a"), link("b"), hinge("j", "a", "b")))
    assert [b.joint.type_name for b in free.bodies] == ["free", "revolute"]
    assert kt.load(sdf(link("a")), base="fixed").nv == 0
    held = kt.load(sdf(link("a"), hinge("j", "world", "a")))
    assert held.nv == 1 and held.report.format == "sdf"
    alone = kt.load(sdf(link("a"), link("b"), link("c")))
    assert alone.nv == 18 and alone.joint_names == ("root_joint", "b_joint", "c_joint")


def test_static_models_stand_still():
    model = kt.load(world(
        f'<model name="table"><static>true</static><pose>1 2 3 0 0 0</pose>{link("top")}</model>',
        f'<model name="ball">{link("a")}</model>',
    ))  # fmt: skip
    assert model.body_names == ("ball::a",) and model.gravity == (0, 0, -9.8)
    assert np.allclose(place(model, "table::top")[:3, 3], (1, 2, 3))


def test_nested_models_have_scoped_names():
    parts = link("palm") + link("tip", "0 0 0.1 0 0 0") + hinge("k", "palm", "tip")
    inner = f'<model name="hand"><pose>0 0 1 0 0 0</pose>{parts}</model>'
    model = kt.load(sdf(link("arm"), inner, hinge("w", "world", "arm"), hinge("j", "arm", "hand::palm")))
    assert model.body_names == ("arm", "hand::palm", "hand::tip")
    assert model.joint_names == ("w", "j", "hand::k")
    assert np.allclose(np.asarray(model.bodies[1].placement)[:3, 3], (0, 0, 1))
    one = world(f'<model name="m">{link("a")}</model>')
    assert kt.load(one).body_names == ("a",)


def test_frames_joints_and_models_can_be_named_wherever_a_frame_is():
    text = sdf(
        link("a", "1 0 0 0 0 0"), hinge("w", "world", "a"),
        '<model name="n"><pose>0 0 5 0 0 0</pose>' + link("b") + "</model>",
        '<frame name="f" attached_to="n"><pose relative_to="w">0 0 1 0 0 0</pose></frame>',
        '<frame name="g"><pose relative_to="n::b">0 2 0 0 0 0</pose></frame>',
        '<joint name="j" type="fixed"><parent>a</parent><child>n::__model__</child></joint>',
    )  # fmt: skip
    model = kt.load(text)
    assert np.allclose(place(model, "f")[:3, 3], (1, 0, 1))
    assert np.allclose(place(model, "g")[:3, 3], (0, 2, 5))
    assert np.allclose(place(model, "n::b")[:3, 3], (0, 0, 5))


def test_placement_frame():
    inner = '<frame name="grip"><pose>0 0 0.5 0 0 1.5707963267948966</pose></frame>'
    model = kt.load(sdf(
        "<pose>1 2 3 0 0 0</pose>", link("a"), inner, hinge("w", "world", "a"),
        model='name="m" placement_frame="grip"',
    ))  # fmt: skip
    assert np.allclose(place(model, "grip")[:3, 3], (1, 2, 3))
    assert np.allclose(place(model, "grip")[:3, :3], np.eye(3))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models" / "finger").mkdir(parents=True)
    finger = tmp_path / "models" / "finger"
    (finger / "model.config").write_text('<model><sdf version="1.7">finger.sdf</sdf></model>')
    parts = (
        "<pose>0 0 0.25 0 0 0</pose>",
        link("f1"),
        link("f2", "0 0 0.1 0 0 0"),
        hinge("k", "f1", "f2", "1 0 0"),
    )
    (finger / "finger.sdf").write_text(sdf(*parts, version="1.7", model='name="finger"'))
    return tmp_path


def test_includes(folder):
    include = "<include><uri>{}</uri><name>left</name><pose>0 1 0 0 0 0</pose></include>"
    for uri in ("models/finger", "models/finger/finger.sdf", "file://models/finger"):
        path = folder / "hand.sdf"
        path.write_text(sdf(link("palm"), include.format(uri), hinge("j", "palm", "left::f1")))
        model = kt.load(path)
        assert model.body_names == ("palm", "left::f1", "left::f2")
        assert np.allclose(np.asarray(model.bodies[1].placement)[:3, 3], (0, 1, 0))
    path = folder / "models" / "hand.sdf"
    path.write_text(
        sdf(link("palm"), "<include><uri>model://finger</uri></include>", hinge("j", "palm", "finger::f1"))
    )
    model = kt.load(path)
    assert model.body_names[1:] == ("finger::f1", "finger::f2")
    assert np.allclose(np.asarray(model.bodies[1].placement)[:3, 3], (0, 0, 0.25))


def test_merged_includes_have_no_scope(folder):
    path = folder / "hand.sdf"
    merge = '<include merge="true"><uri>models/finger</uri><pose>0 1 0 0 0 0</pose></include>'
    path.write_text(sdf(link("palm"), merge, hinge("w", "world", "palm"), hinge("j", "palm", "f1")))
    model = kt.load(path)
    assert model.body_names == ("palm", "f1", "f2")
    assert np.allclose(np.asarray(model.bodies[1].placement)[:3, 3], (0, 1, 0))
    assert np.allclose(np.asarray(model.bodies[2].placement)[:3, 3], (0, 0, 0.1))


def test_includes_stay_inside(folder, tmp_path):
    inside = folder / "models"
    (folder / "secret.sdf").write_text(sdf(link("s")))
    (inside / "out.sdf").symlink_to(folder / "secret.sdf")
    (inside / "self.sdf").write_text(sdf("<include><uri>self.sdf</uri></include>"))
    for uri in ("../secret.sdf", "out.sdf", str(folder / "secret.sdf"), "https://host/m", "model://../secret.sdf",
                "file:///etc/passwd", "nothing", "", "self.sdf"):  # fmt: skip
        path = inside / "main.sdf"
        path.write_text(sdf(link("a"), f"<include><uri>{uri}</uri></include>"))
        with pytest.raises(kt.errors.FileError, match=r"\[include\]"):
            kt.load(path)
    with pytest.raises(kt.errors.FileError, match=r"\[include\]"):
        kt.load(sdf("<include><uri>a.sdf</uri></include>"))


def test_includes_that_multiply_are_refused(tmp_path):
    for k in range(12):
        inner = "".join(f"<include><uri>m{k + 1}.sdf</uri><name>x{i}</name></include>" for i in range(8))
        (tmp_path / f"m{k}.sdf").write_text(sdf(inner if k < 11 else link("a")))
    with pytest.raises(kt.errors.FileError, match=r"\[xml-limit\]"):
        kt.load(tmp_path / "m0.sdf")


def test_mimic_of_one_axis():
    mimic = (
        '<mimic joint="{}" axis="{}"><multiplier>{}</multiplier><offset>0.5</offset>'
        "<reference>0.25</reference></mimic>"
    )
    parts = link("a"), link("b", "0 0 1 0 0 0"), link("c", "0 0 2 0 0 0"), hinge("w", "world", "a")
    model = kt.load(
        sdf(*parts, hinge("j", "a", "b"), hinge("k", "b", "c", "1 0 0", mimic.format("j", "axis", 3)))
    )
    follower = model.bodies[2]
    assert follower.mimic == ("j", 3.0, 0.5 - 0.75) and model.nv == 2
    two = (
        '<joint name="u" type="universal"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis>'
        "<axis2><xyz>0 1 0</xyz></axis2></joint>"
    )
    split = kt.load(sdf(*parts, two, hinge("k", "b", "c", "1 0 0", mimic.format("u", "axis2", 3))))
    assert split.joint_names == ("w", "u/axis", "u/axis2", "k") and split.nv == 3
    assert split.bodies[3].mimic == ("u/axis2", 3.0, -0.25)
    whole = kt.load(sdf(*parts, two, hinge("k", "b", "c", "1 0 0")))
    q = np.array([0.3, 0.4, 0.5, 3 * 0.5 - 0.25])
    assert np.allclose(place(split, "c", q[:3]), place(whole, "c", q), atol=1e-14)
    with pytest.raises(kt.errors.FileError, match="mimic-unknown"):
        kt.load(
            sdf(*parts, hinge("j", "a", "b"), hinge("k", "b", "c", "1 0 0", mimic.format("x", "axis", 3)))
        )


@pytest.mark.parametrize("reversed_second", [False, True])
def test_gearbox_ties_two_hinges(reversed_second):
    """theta_child = -ratio theta_parent, each measured from the reference body about the gear's own axes."""
    second = hinge("k", "c", "base", "0 0 1") if reversed_second else hinge("k", "base", "c", "0 0 1")
    gear = (
        '<joint name="g" type="gearbox"><parent>b</parent><child>c</child><gearbox_ratio>5</gearbox_ratio>'
        "<gearbox_reference_body>base</gearbox_reference_body>"
        "<axis><xyz>0 0 -1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>"
    )
    parts = link("base"), link("b"), link("c"), hinge("w", "world", "base"), hinge("j", "base", "b")
    model = kt.load(sdf(*parts, second, gear))
    assert model.nv == 2 and "unsupported" not in rules(model)
    q = model.positions({"w": 0.0, "j": 0.1})
    # about -z the parent turns by -0.1, so the child turns by +0.5 about z, in the base
    turn = place(model, "c", q)[:3, :3]
    assert np.allclose(np.arctan2(turn[1, 0], turn[0, 0]), 0.5)
    with pytest.warns(kt.errors.FileWarning):
        loose = kt.load(sdf(*parts, second, gear.replace(">base</gear", ">nobody</gear")))
    assert loose.nv == 3 and "unsupported" in rules(loose)


def test_a_second_parent_closes_a_loop():
    parts = [link(x) for x in "abc"] + [hinge("w", "world", "a"), hinge("j", "a", "b"), hinge("k", "a", "c")]
    model = kt.load(sdf(*parts, hinge("loop", "b", "c")), loops="ignore")
    (cut,) = [f for f in model.report.findings if f.rule == "tree-two-parents"]
    assert "'loop'" in cut.where.element and "'k'" in cut.problem and model.nv == 3
    marked = "<physics><simbody><must_be_loop_joint>true</must_be_loop_joint></simbody></physics></joint>"
    other = kt.load(sdf(*parts[:-1], parts[-1].replace("</joint>", marked), hinge("loop", "b", "c")))
    assert "k" not in other.joint_names and "loop" in other.joint_names


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "screw", "universal", "ball", "fixed"])
def test_a_second_parent_that_nothing_else_carries_is_read_backwards(kind, rng):
    """c is the parent of b, which a carries: the tree is the same with the joint turned round."""
    poses = {name: " ".join(map(repr, rng.uniform(-1, 1, 6).tolist())) for name in "abck"}
    pitch = "<screw_thread_pitch>0.5</screw_thread_pitch>"
    first, second, sign = "1 2 3", "0 1 1", -1.0
    inner = f"<axis><xyz>{first}</xyz></axis><axis2><xyz>{second}</xyz></axis2>{pitch}"
    turned = inner
    if kind == "universal":  # R(a)^-1 R(b)^-1 is another order: its axes change places
        turned, sign = f"<axis><xyz>0 -1 -1</xyz></axis><axis2><xyz>-1 -2 -3</xyz></axis2>{pitch}", 1.0
    if kind == "ball":  # its quaternion leads away from the base in both
        sign = 1.0
    joint = f'<joint name="k" type="{kind}"><pose relative_to="b">{poses["k"]}</pose>'
    links = [link(x, poses[x]) for x in "abc"]
    base = [hinge("w", "world", "a", "1 0 0"), hinge("j", "a", "b")]
    backwards = kt.load(sdf(*links, *base, f"{joint}<parent>c</parent><child>b</child>{inner}</joint>"))
    forwards = kt.load(sdf(*links, *base, f"{joint}<parent>b</parent><child>c</child>{turned}</joint>"))
    assert backwards.nv == forwards.nv and "tree-two-parents" not in rules(backwards)
    q = forwards.random_state(rng)[0]
    rows = {name: row for name, row in forwards.split_positions(q).items() if len(row)}
    mirrored = backwards.positions({name: row * sign if name == "k" else row for name, row in rows.items()})
    for name in "bc":
        assert np.allclose(place_of(forwards, name, q), place_of(backwards, name, mirrored), atol=1e-12)


def place_of(model: kt.Model, name: str, q) -> np.ndarray:
    if name in model.frame_names:
        return place(model, name, q)
    return np.asarray(eager(kt.placements, model, q))[model.body_names.index(name)]


def test_mass_from_shapes(rng):
    shapes = (
        '<collision name="c1"><pose>0.1 0 0 0.3 0 0</pose><density>700</density><geometry><box>'
        "<size>1 2 3</size></box></geometry></collision>"
        '<collision name="c2"><geometry><sphere><radius>0.5</radius></sphere></geometry></collision>'
        '<collision name="c3"><geometry><cone><radius>0.5</radius><length>2</length></cone></geometry>'
        "</collision>"
    )
    auto = '<inertial auto="true"><density>200</density></inertial>'
    text = f'<sdf version="1.12"><model name="m"><link name="a">{auto}{shapes}</link></model></sdf>'
    inertia = kt.load(text).bodies[0].inertia
    ball, cone, box = 200 * 4 / 3 * np.pi / 8, 200 * np.pi / 4 * 2 / 3, 700 * 6
    assert float(inertia.mass) == pytest.approx(ball + cone + box)
    expected = (0.1 * box, 0, -0.5 * cone)
    assert np.allclose(np.array(inertia.com, float) * float(inertia.mass), expected)
    R = np.array([[1, 0, 0], [0, np.cos(0.3), -np.sin(0.3)], [0, np.sin(0.3), np.cos(0.3)]])
    about = lambda m, p: m * (np.dot(p, p) * np.eye(3) - np.outer(p, p))  # noqa: E731
    total = R @ np.diag([13, 10, 5]) @ R.T * box / 12 + about(box, np.array([0.1, 0, 0]))
    total += 0.4 * ball * 0.25 * np.eye(3)
    total += cone * np.diag([0.15 * 0.25 + 0.15, 0.15 * 0.25 + 0.15, 0.3 * 0.25]) + about(
        cone, np.array([0, 0, -0.5])
    )
    got = np.array(kt.load(text).bodies[0].inertia.second, float)
    assert np.allclose(got[:3], np.diag(total)) or np.allclose(
        np.array(inertia.about_com, float)[:3],
        np.diag(total - about(float(inertia.mass), np.array(inertia.com, float))),
    )
    weighed = kt.load(text.replace("<density>200", "<mass>3</mass><density>200")).bodies[0].inertia
    assert float(weighed.mass) == pytest.approx(3.0)


CUBE = """v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 4 3 2 1
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""


def test_mass_from_a_mesh(tmp_path):
    (tmp_path / "cube.obj").write_text(CUBE)
    mesh = "<geometry><mesh><uri>cube.obj</uri><scale>1 2 3</scale></mesh></geometry>"
    auto = f'<inertial auto="true"/><collision name="c"><pose>1 0 0 0 0 0</pose>{mesh}</collision>'
    path = tmp_path / "m.sdf"
    path.write_text(f'<sdf version="1.11"><model name="m"><link name="a">{auto}</link></model></sdf>')
    inertia = kt.load(path).bodies[0].inertia
    assert float(inertia.mass) == pytest.approx(6000)
    assert np.allclose(np.array(inertia.com, float), (1.5, 1.0, 1.5))
    assert np.allclose(np.array(inertia.about_com, float), (6500, 5000, 2500, 0, 0, 0), atol=1e-9)


def test_axes_of_old_versions():
    axis = "<axis><xyz>1 0 0</xyz>{}<limit><lower>-1</lower><upper>1</upper></limit></axis>"
    text = '<joint name="j" type="revolute"><parent>world</parent><child>a</child>{}</joint>'
    turned = link("a", "0 0 0 0 0 1.5707963267948966")

    def read(version: str, inner: str = "") -> tuple:
        model = kt.load(sdf(turned, text.format(axis.format(inner)), version=version))
        return tuple(np.round(model.bodies[0].joint.axis, 12))

    assert read("1.6") == (1, 0, 0)
    assert read("1.6", "<use_parent_model_frame>true</use_parent_model_frame>") == (0, -1, 0)
    assert read("1.4") == (0, -1, 0)


def test_gravity_of_links():
    off = "<gravity>false</gravity>"
    assert kt.load(sdf(link("a", inner=off), link("b", inner=off), hinge("j", "a", "b"))).gravity == (0, 0, 0)
    with pytest.warns(kt.errors.FileWarning, match="gravity is off for 1 links"):
        assert kt.load(sdf(link("a", inner=off), link("b"), hinge("j", "a", "b"))).gravity == (0, 0, -9.81)
    assert kt.load(world("<gravity>0 0 -1.6</gravity>", f'<model name="m">{link("a")}</model>')).gravity == (
        0,
        0,
        -1.6,
    )


FOUND = {
    "no inertial": (sdf('<link name="a"/>'), "inertia-default"),
    "half an inertial": (sdf('<link name="a"><inertial><mass>2</mass></inertial></link>'), "inertia-default"),
    "added mass": (
        sdf(link("a").replace("</inertial>", "<fluid_added_mass><xx>3</xx></fluid_added_mass></inertial>")),
        "unsupported",
    ),
    "decay": (sdf(link("a", inner="<velocity_decay><linear>0.1</linear></velocity_decay>")), "unsupported"),
    "kinematic": (sdf(link("a", inner="<kinematic>true</kinematic>")), "unsupported"),
    "wind": (
        world(
            "<wind><linear_velocity>1 0 0</linear_velocity></wind>",
            f'<model name="m">{link("a")}</model>',
        ),
        "unsupported",
    ),
    "a misspelt element": (sdf(link("a", inner="<inertail/>")), "element-unknown"),
    "a misspelt attribute": (
        sdf(link("a").replace("<pose>", '<pose relativeto="b">', 1)), "attribute-unknown",
    ),
    "an old frame": (sdf(link("a").replace("<pose>", '<pose frame="b">', 1)), "unsupported"),
    "another joint": (sdf(link("a"), '<drake:joint name="j" type="planar"/>'), "unsupported"),
    "a mesh": (
        sdf(
            '<link name="a"><inertial auto="true"/><collision name="c">'
            "<geometry><mesh><uri>x.dae</uri></mesh></geometry></collision></link>"
        ),
        "inertia-mesh",
    ),
    "a long quaternion": (
        sdf(link("a").replace("<pose>0 0 0 0 0 0", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 2', 1)),
        "axis-not-unit",
    ),
    "limits": (
        sdf(link("a"), hinge("j", "world", "a").replace("<lower>-2", "<lower>3")), "limits-swapped"
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::kinetree.errors.FileWarning")
@pytest.mark.parametrize("name", FOUND)
def test_what_is_odd_is_said(name):
    text, rule = FOUND[name]
    assert rule in rules(kt.load(text))


REFUSED = {
    "no version": ("<sdf><model name='m'><link name='a'/></model></sdf>", "attribute-missing"),
    "nothing": (sdf(), "tree-empty"),
    "an unknown frame": (sdf(link("a", relative="b")), "value"),
    "frames in a circle": (sdf(link("a", relative="b"), link("b", relative="a")), "value"),
    "attached in a circle": (
        sdf(link("a"), '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'), "value",
    ),
    "an unknown link": (sdf(link("a"), hinge("j", "a", "b")), "tree-unknown-link"),
    "itself": (sdf(link("a"), hinge("j", "a", "a")), "tree-cycle"),
    "a type": (sdf(link("a"), hinge("j", "world", "a", kind="spring")), "joint-type"),
    "no ends": (sdf(link("a"), '<joint name="j" type="fixed"/>'), "element-missing"),
    "twice": (sdf(link("a"), link("a")), "name-duplicate"),
    "no number": (sdf(link("a", "0 0 x 0 0 0")), "number"),
    "too few numbers": (sdf(link("a", "0 0 0")), "number"),
    "a zero quaternion": (
        sdf(link("a").replace("<pose>0 0 0 0 0 0", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0', 1)),
        "quaternion",
    ),
    "a zero axis": (sdf(link("a"), hinge("j", "world", "a", "0 0 0")), "axis-zero"),
    "a screw without pitch": (sdf(link("a"), hinge("j", "world", "a", kind="screw")), "element-missing"),
    "parallel axes": (
        sdf(
            link("a"),
            hinge("j", "world", "a", kind="universal").replace("</j", "<axis2><xyz>0 0 2</xyz></axis2></j"),
        ),
        "value",
    ),
    "damping": (
        sdf(link("a"), hinge("j", "world", "a", inner="<dynamics><damping>-1</damping></dynamics>")),
        "coefficient-negative",
    ),
}  # fmt: skip
REPAIRED = ("an unknown link", "twice", "a zero quaternion", "a zero axis", "damping")


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_or_repaired(name):
    text, rule = REFUSED[name]
    with pytest.raises(kt.errors.FileError, match=rf"\[{rule}\]"):
        kt.load(text)
    if name in REPAIRED:
        assert rule in [f.rule for f in kt.load(text, repair=True).report.repaired]


@pytest.mark.parametrize("name", [n for n in REPAIRED if n != "an unknown link"])
def test_the_text_is_repaired(name):
    from kinetree.io.fix import fix
    from kinetree.io.lint import lint

    text, rule = REFUSED[name]
    repaired, changes = fix(text)
    assert rule in [f.rule for f in changes]
    assert not [f for f in lint(repaired) if f.severity == "error"]


def test_the_page_shows_all_words():
    from pathlib import Path

    from kinetree.io.sdf_words import SDF
    from kinetree.io.usd_words import USD
    from kinetree.io.words import table

    page = Path("docs/robot-files.md").read_text()
    assert table(SDF) in page and table(USD) in page
