"""Wrong arguments: each gives one line that names the thing and is an error of the right kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.model.samples import DISC, LINK, rich_model

from kinetree import zoo
from kinetree.errors import KinetreeError, ModelError, ShapeError
from kinetree.joints import Free, Planar, Prismatic, Revolute, Spherical, Spin, Universal
from kinetree.model import Limits, Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

INF, NAN = math.inf, math.nan
NO_NUMBERS: list[Any] = [None, "1", b"1", [1], (1, 2), {}, {1}, Pose.identity(), LINK, Revolute(), True]
NOT_FINITE = [NAN, INF, -INF, np.float64("nan"), np.float32("inf")]


def builder() -> ModelBuilder:
    """Bodies 'base', 'arm', 'wrist' (joints 'shoulder', 'elbow', 'ball'), a slider and a frame 'tool'."""
    b = ModelBuilder("robot")
    b.add_body("base", None, Revolute(), inertia=LINK, joint_name="shoulder")
    b.add_body("arm", "base", Revolute((0, 1, 0)), inertia=LINK, joint_name="elbow")
    b.add_body("wrist", "arm", Spherical(), inertia=LINK, joint_name="ball")
    b.add_body("gimbal", "arm", Universal(), inertia=LINK)
    b.add_body("plate", "arm", inertia=LINK)
    return b.add_frame("tool", "wrist")


def add(**arguments: Any) -> Callable[[], Any]:
    """Add a body 'new' with these arguments."""
    given = {"name": "new", "parent": "base", "joint": Revolute(), "inertia": LINK} | arguments
    return lambda: builder().add_body(**given).build()


def rotor(**arguments: Any) -> Callable[[], Any]:
    given = {"joint": "elbow", "inertia": DISC, "ratio": 10.0} | arguments
    return lambda: builder().add_rotor(**given).build()


def frame(*arguments: Any) -> Callable[[], Any]:
    return lambda: builder().add_frame(*arguments).build()


def mass(*parameters: float) -> Inertia:
    return Inertia.from_parameters(parameters)


Case = tuple[Callable[[], Any], tuple[str, ...]]
CASES: dict[str, Case] = {}


def case(name: str, call: Callable[[], Any], *expected: str) -> None:
    """A call that must fail with a ModelError that holds all the expected texts."""
    assert name not in CASES, name
    CASES[name] = call, expected


# --- names --------------------------------------------------------------------------------------------------
for bad in (None, "", "  ", 3, 1.5, b"x", ("a",), [], {}, Pose.identity()):
    case(f"model name {bad!r}", lambda bad=bad: ModelBuilder(bad), "name of a model")
    case(f"body name {bad!r}", add(name=bad), "model 'robot'", "name of a body")
    case(f"frame name {bad!r}", frame(bad, "arm"), "model 'robot'", "name of a frame")
    if bad is not None:
        case(f"joint name {bad!r}", add(joint_name=bad), "model 'robot'", "name of a joint")
for bad in ("a\nb", "a\x00b", "\t"):
    case(f"body name {bad!r}", add(name=bad), "model 'robot'")
case("body called world", add(name="world"), "'world'", "rename")
case("frame called world", frame("world", "arm"), "'world'", "rename")
case("body twice", add(name="arm"), "already contains a body named 'arm'")
case("joint twice", add(joint_name="elbow"), "already contains a joint named 'elbow'")
case(
    "joint named by default twice",
    lambda: builder().add_body("elbow", None, Revolute()),
    "joint named 'elbow'",
)
case("frame twice", frame("tool", "arm"), "already contains a frame named 'tool'")
case("frame named like a body", frame("arm", "base"), "already contains a body named 'arm'")
case("body named like a frame", add(name="tool"), "already contains a frame named 'tool'")

# --- references ---------------------------------------------------------------------------------------------
case("parent misspelt", add(parent="bsae"), "body 'new', parent", "'bsae'", "did you mean 'base'")
case("parent unknown", add(parent="xyzzy"), "body 'new', parent", "known: 'world'")
case("parent is itself", add(parent="new"), "body 'new', parent", "'new'")
case("parent in another case", add(parent="Base"), "did you mean 'base'")
case("parent is a joint", add(parent="shoulder"), "'shoulder'")
for bad in (1.5, ("base",), [], {}, 17, Pose.identity()):
    case(f"parent {bad!r}", add(parent=bad), "body 'new', parent")
    case(f"frame on {bad!r}", frame("f", bad), "frame 'f', body")
    case(f"rotor on {bad!r}", rotor(joint=bad), "rotor", "no joint")
case("frame on an unknown body", frame("f", "wirst"), "frame 'f'", "did you mean 'wrist'")
case("rotor on an unknown joint", rotor(joint="elbo"), "did you mean 'elbow'")
case("rotor on a body", rotor(joint="arm"), "no joint 'arm'")
case("rotor on no joint", rotor(joint=None), "no joint")

# --- joints -------------------------------------------------------------------------------------------------
for bad in ("revolute", 1, (0, 0, 1), LINK, Pose.identity(), np.eye(3)):
    case(f"joint {str(bad)[:20]!r}", add(joint=bad), "body 'new'", "must be a joint")
for bad in (Revolute, Free, Prismatic):
    case(f"joint class {bad.__name__}", add(joint=bad), "body 'new'", f"write {bad.__name__}()")
case("internal joint", add(joint=Spin()), "body 'new'", "Spin is internal")

# --- placements and inertias --------------------------------------------------------------------------------
for bad in (1.0, "pose", (0, 0, 1), [1, 2, 3], np.eye(4), np.eye(3), LINK, Revolute(), {}):
    label = str(bad).replace("\n", " ")[:20]
    case(f"placement {label}", add(placement=bad), "body 'new': placement", "must be a Pose")
    case(f"frame placement {label}", frame("f", "arm", bad), "frame 'f': placement", "must be a Pose")
    case(
        f"rotor placement {label}",
        rotor(placement=bad),
        "rotor of joint 'elbow': placement",
        "must be a Pose",
    )
for bad in (1.0, "inertia", (1, 2, 3), np.eye(6), np.eye(3), Pose.identity(), Revolute(), {}):
    label = str(bad).replace("\n", " ")[:20]
    case(f"inertia {label}", add(inertia=bad), "body 'new': inertia", "must be an Inertia")
    case(
        f"rotor inertia {label}", rotor(inertia=bad), "rotor of joint 'elbow': inertia", "must be an Inertia"
    )
case("rotor without inertia", rotor(inertia=None), "rotor of joint 'elbow'", "needs an Inertia")
for bad in (NAN, INF, -INF):
    for k in range(10):
        parameters = [1.0, 0, 0, 0, 1, 1, 1, 0, 0, 0]
        parameters[k] = bad
        case(
            f"inertia parameter {k} = {bad}", add(inertia=mass(*parameters)), "body 'new': inertia", "finite"
        )
    case(f"rotor mass {bad}", rotor(inertia=mass(bad, 0, 0, 0, 1, 1, 1, 0, 0, 0)), "rotor", "finite")
case("negative mass", add(inertia=mass(-1.0, 0, 0, 0, 1, 1, 1, 0, 0, 0)), "body 'new'", "mass is negative")
case("first moment without mass", add(inertia=mass(0, 1, 0, 0, 1, 1, 1, 0, 0, 0)), "body 'new'", "mass is 0")
case(
    "negative moment", add(inertia=mass(1, 0, 0, 0, -1, 1, 1, 0, 0, 0)), "body 'new'", "not positive definite"
)
case("indefinite", add(inertia=mass(1, 0, 0, 0, 1, 1, 1, 2, 0, 0)), "body 'new'", "not positive definite")
case("triangle inequality", add(inertia=mass(1, 0, 0, 0, 1, 1, 3, 0, 0, 0)), "body 'new'", "exceeds the sum")
case(
    "too far from its origin",
    add(inertia=mass(1, 5, 0, 0, 1, 1, 1, 0, 0, 0)),
    "body 'new'",
    "positive definite",
)
case(
    "rotor of negative mass", rotor(inertia=mass(-1, 0, 0, 0, 1, 1, 1, 0, 0, 0)), "rotor", "mass is negative"
)
case("rotor indefinite", rotor(inertia=mass(1, 0, 0, 0, -1, 1, 1, 0, 0, 0)), "rotor", "positive definite")
case("unknown check", lambda: builder().build(check="none"), "'physical' or 'finite'")

# --- numbers of joints --------------------------------------------------------------------------------------
for field in ("armature", "damping", "friction", "stiffness"):
    for bad in NO_NUMBERS:
        if bad not in ([1],):
            label = str(bad)[:12]
            case(f"{field} {type(bad).__name__} {label}", add(**{field: bad}), "joint 'new'", field)
    for bad in NOT_FINITE:
        case(f"{field} = {bad} {type(bad).__name__}", add(**{field: bad}), "joint 'new'", field, "finite")
    case(f"too many {field}", add(**{field: (1.0, 2.0)}), "joint 'new'", field, "needs 1")
    case(f"too few {field}", add(joint=Planar(), **{field: (1.0, 2.0)}), "joint 'new'", field, "needs 3")
    if field != "stiffness":
        case(f"negative {field}", add(**{field: -0.1}), "joint 'new'", field, "negative")
        case(
            f"negative {field} in a tuple",
            add(joint=Planar(), **{field: (1, 1, -1)}),
            "joint 'new'",
            "negative",
        )
case("free armature differs", add(joint=Free(), armature=(1, 1, 1, 1, 2, 3)), "'new'", "same along all axes")
for bad in ("0.1", (0.1, 0.2), [], {}, NAN):
    case(f"spring_reference {bad!r}", add(spring_reference=bad), "joint 'new': spring_reference")
case("spring_reference of a ball", add(joint=Spherical(), spring_reference=(0, 0, 0)), "needs 4")

# --- limits -------------------------------------------------------------------------------------------------
case("limits exchanged", add(limits=(1.0, -1.0)), "joint 'new': limits", "lower limit 1 is above", "exchange")
case("limits exchanged in a record", add(limits=Limits(1.0, -1.0)), "joint 'new': limits", "exchange")
for bad in (1.0, "low", (1.0,), (1.0, 2.0, 3.0), [1, 2, 3, 4, 5], True, LINK):
    case(f"limits {str(bad)[:14]!r}", add(limits=bad), "joint 'new': limits")
case("limits at infinity", add(limits=(math.inf, math.inf)), "joint 'new'", "no position lies between")
case("limits nan", add(limits=(NAN, 1.0)), "joint 'new': limits, lower", "finite")
case("limits text", add(limits=("low", "high")), "joint 'new': limits, lower")
case("limits none", add(limits=(None, 1.0)), "joint 'new': limits, lower")
case("limits of a wrong name", add(limits={"lowr": 1.0}), "joint 'new': limits", "did you mean 'lower'")
case("negative velocity limit", add(limits={"velocity": -1.0}), "limits, velocity", "negative")
case("negative effort limit", add(limits={"effort": -1.0}), "limits, effort", "negative")
case("limits for too many", add(limits=Limits((-1, -1), (1, 1))), "limits, lower", "needs 1")

# --- mimic joints -------------------------------------------------------------------------------------------
case("mimic of itself", add(mimic="new"), "mimic joint 'new'", "follows itself")
case("mimic of an unknown joint", add(mimic=("elbwo", 1.0, 0.0)), "mimic joint 'new'", "did you mean 'elbow'")
case("mimic of a body", add(mimic="arm"), "mimic joint 'new'", "no joint 'arm'")
case("mimic of a ball", add(mimic="ball"), "mimic joint 'new'", "spherical joint with 3 degrees of freedom")
case("mimic of a fixed joint", add(mimic="plate"), "mimic joint 'new'", "fixed joint with 0 degrees")
case("a ball cannot mimic", add(joint=Spherical(), mimic="elbow"), "joint 'new'", "cannot follow 'elbow'")
case("a fixed joint cannot mimic", add(joint=None, mimic="elbow"), "joint 'new'", "cannot follow 'elbow'")
for bad in (1, (), (1, 2), ("elbow", 1, 2, 3), [None], {}, (Revolute(),)):
    case(f"mimic {str(bad)[:16]!r}", add(mimic=bad), "joint 'new': mimic")
for bad in (NAN, INF, None, "2"):
    case(f"multiplier {bad!r}", add(mimic=("elbow", bad, 0.0)), "joint 'new': multiplier")
    case(f"offset {bad!r}", add(mimic=("elbow", 1.0, bad)), "joint 'new': offset")


def mimic_cycle() -> Model:
    b = builder().add_body("x", "arm", Revolute(), inertia=LINK, mimic="y")
    return b.add_body("y", "arm", Revolute(), inertia=LINK, mimic="x").build()


case("mimic cycle", mimic_cycle, "follows itself", "x -> y")

# --- rotors -------------------------------------------------------------------------------------------------
case("rotor on a ball", rotor(joint="ball"), "spherical joint 'ball'", "three revolute joints")
case("rotor on a fixed joint", rotor(joint="plate"), "'plate' is fixed")
for bad in ((0, 0, 0), (0, 0, 2), (0, 1), "z", None, (NAN, 0, 1), 3):
    case(f"rotor axis {bad!r}", rotor(axis=bad), "rotor of joint 'elbow'", "axis")
for bad in (None, "10", NAN, INF, (1, 2), {}, LINK):
    case(f"rotor ratio {str(bad)[:12]!r}", rotor(ratio=bad), "rotor of joint 'elbow': ratio")
case("one ratio too few", rotor(joint="gimbal", ratio=(1.0,)), "rotor of joint 'gimbal': ratio", "needs 2")

# --- gravity ------------------------------------------------------------------------------------------------
for bad in (9.81, (0, 0), (0, 0, -9.81, 0), "down", None, (0, 0, NAN), (0, "0", 1), np.eye(3), {}):
    label = str(bad).replace("\n", " ")[:14]
    case(f"gravity {label!r}", lambda bad=bad: ModelBuilder("robot", gravity=bad), "model 'robot': gravity")
    case(f"replace gravity {label!r}", lambda bad=bad: builder().build().replace(gravity=bad), "gravity")


# --- looking things up --------------------------------------------------------------------------------------
def on_model(name: str, call: Callable[[Model], Any], *expected: str) -> None:
    case(name, lambda: call(rich_model()), "rich", *expected)


on_model("body_index of a misspelt name", lambda m: m.body_index("kne"), "did you mean 'knee'")
on_model("body_index of a joint", lambda m: m.body_index("root"), "no body 'root'")
on_model("joint_index of a body", lambda m: m.joint_index("base"), "no joint 'base'")
on_model("joint_index of a number", lambda m: m.joint_index(1), "no joint 1")
for bad in (-1, 11, 10**9):
    on_model(f"body {bad}", lambda m, bad=bad: m.body_index(bad), "0 ... 10")
for bad in (1.0, True, ("base",), [], {}):
    on_model(f"body {bad!r}", lambda m, bad=bad: m.body_index(bad), "no body")
on_model("unknown frame", lambda m: m.frame("tol"), "did you mean 'tool'")
on_model("path of an unknown body", lambda m: m.path("kneee"), "did you mean 'knee'")
on_model("relation of an unknown body", lambda m: m.is_ancestor("base", "kneee"), "did you mean 'knee'")
on_model("location of an unknown body", lambda m: m.location("kneee"), "did you mean 'knee'")
on_model("coordinates of an unknown joint", lambda m: m.coordinate_index("hipp"), "did you mean 'hip'")
on_model("positions of an unknown joint", lambda m: m.position_index("hipp"), "did you mean 'hip'")

# --- editing ------------------------------------------------------------------------------------------------
on_model("replace something unknown", lambda m: m.replace(gravty=(0, 0, 0)), "did you mean 'gravity'")
on_model("replace the name by nothing", lambda m: m.replace(name=""), "name")
on_model("replace the name by a number", lambda m: m.replace(name=3), "name")
on_model("replace rotors", lambda m: m.replace(rotors="glued"), "exact, reflected, lumped, none")
on_model("replace without names", lambda m: m.replace(inertia=LINK), "dict from body names")
on_model("replace armature without names", lambda m: m.replace(armature=0.1), "dict from joint names")
on_model(
    "replace the inertia of the world", lambda m: m.replace(inertia={"world": LINK}), "world has no inertia"
)
on_model("replace an unknown inertia", lambda m: m.replace(inertia={"kneee": LINK}), "did you mean 'knee'")
on_model("replace by no inertia", lambda m: m.replace(inertia={"knee": 3}), "must be an Inertia")
on_model(
    "replace by an unphysical inertia", lambda m: m.replace(inertia={"knee": mass(-1, *[0] * 9)}), "negative"
)
on_model("replace with an unknown check", lambda m: m.replace(check="none"), "'physical' or 'finite'")
on_model("positions of no dict", lambda m: m.positions([1, 2]), "dict from joint names")
on_model("positions of a misspelt joint", lambda m: m.positions({"hipp": 1}), "did you mean 'hip'")
on_model("replace by a negative armature", lambda m: m.replace(armature={"hip": -1.0}), "negative")
on_model("replace by bad limits", lambda m: m.replace(limits={"hip": (1, -1)}), "exchange")
on_model("lock an unknown joint", lambda m: m.lock({"hipp": 0.0}), "did you mean 'hip'")
on_model("lock a mimic joint", lambda m: m.lock({"knee": 0.0}), "lock 'hip'")
on_model("lock at too many numbers", lambda m: m.lock({"hip": (0.0, 1.0)}), "needs 1")
on_model("lock at too few numbers", lambda m: m.lock({"root": (0.0, 1.0)}), "needs 7")
on_model("lock at nan", lambda m: m.lock({"hip": NAN}), "finite")
on_model("lock without positions", lambda m: m.lock(["hip"]), "dict from joint names")
on_model("attach no model", lambda m: m.attach("arm", "base"), "takes a model")
on_model("attach to an unknown body", lambda m: m.attach(zoo.pendulum(), "bse"), "did you mean 'base'")
on_model("attach at no pose", lambda m: m.attach(zoo.pendulum(), "base", (0, 0, 1)), "must be a Pose")
on_model("attach the same names", lambda m: m.attach(m, "base"), "prefix")
on_model("subtree of an unknown body", lambda m: m.subtree("bse"), "did you mean 'base'")
on_model("subtree that separates a mimic joint", lambda m: m.subtree("knee"), "'knee'", "lock 'hip' first")


# --- dictionaries -------------------------------------------------------------------------------------------
def changed(change: Callable[[dict], Any]) -> Callable[[], Any]:
    def call() -> Model:
        data = rich_model().to_dict()
        return Model.from_dict(change(data) or data)

    return call


def put(*path: Any) -> Callable[[dict], None]:
    """Set the entry at the end of a path to the last argument."""
    *keys, last, value = path

    def change(data: dict) -> None:
        for key in keys:
            data = data[key]
        data[last] = value

    return change


for bad in (None, 3, "model", [], ()):
    case(f"from_dict({bad!r})", lambda bad=bad: Model.from_dict(bad), "must be a dict")
case("from_dict without a name", lambda: Model.from_dict({"bodies": []}), "'name' is missing")
case("from_dict without bodies", lambda: Model.from_dict({"name": "m"}), "'bodies' is missing")
case("from_dict of another format", changed(put("format", "urdf")), "'urdf'", "kinetree model")
case("from_dict of another version", changed(put("version", 99)), "99")
case("from_dict with a misspelt key", changed(put("bodis", [])), "did you mean 'bodies'")
case("from_dict with an unknown check", changed(put("check", "none")), "'physical' or 'finite'")
case("bodies are not a list", changed(put("bodies", {"a": 1})), "must be a list")
case("a body is not a dict", changed(put("bodies", 0, "base")), "must be a dict")
case("a body without a name", changed(lambda d: d["bodies"][0].pop("name") and None), "'name' is missing")
case("a body twice in a dict", changed(put("bodies", 1, "name", "base")), "'base'", "unique")
case("a body with a misspelt key", changed(put("bodies", 0, "mas", 1)), "body 'base'", "no entry 'mas'")
case("an unknown parent in a dict", changed(put("bodies", 1, "parent", "bas")), "did you mean 'base'")
case("a circle of parents", changed(put("bodies", 0, "parent", "ankle")), "circle", "'base'")
case("a body on itself", changed(put("bodies", 0, "parent", "base")), "circle", "'base'")
case("an unknown joint type", changed(put("bodies", 1, "type", "revolut")), "did you mean 'revolute'")
case("the internal joint type", changed(put("bodies", 1, "type", "spin")), "no joint type 'spin'")
case("too few parameters", changed(put("bodies", 1, "parameters", [0, 1])), "body 'hip'", "3 parameters")
case("parameters are not a list", changed(put("bodies", 1, "parameters", 7)), "body 'hip': parameters")
case("an axis of length 2", changed(put("bodies", 1, "parameters", [0, 0, 2])), "length 2")
case("a short inertia", changed(put("bodies", 1, "inertia", [1, 2])), "body 'hip'", "expected 10")
case("an inertia of text", changed(put("bodies", 1, "inertia", ["1"] * 10)), "body 'hip': inertia")
case(
    "a negative mass in a dict",
    changed(put("bodies", 1, "inertia", [-1, *[0] * 9])),
    "body 'hip'",
    "negative",
)
case("a placement that is a list", changed(put("bodies", 1, "placement", [1])), "body 'hip': placement")
case(
    "a placement without p", changed(put("bodies", 1, "placement", {"R": [[1, 0, 0]] * 3})), "'p' is missing"
)
case("a placement of two rows", changed(put("bodies", 1, "placement", "R", [[1, 0, 0]] * 2)), "three rows")
case("a placement with long rows", changed(put("bodies", 1, "placement", "R", [[1, 0, 0, 0]] * 3)), "three")
case("a placement without rotation", changed(put("bodies", 1, "placement", "R", [[1, 0, 0]] * 3)), "'hip'")
case("a placement at nan", changed(put("bodies", 1, "placement", "p", [NAN, 0, 0])), "body 'hip': placement")
case("limits are a list", changed(put("bodies", 1, "limits", [1, 2])), "body 'hip': limits")
case("a misspelt limit", changed(put("bodies", 1, "limits", {"uper": [1]})), "did you mean 'upper'")
case(
    "limits exchanged in a dict",
    changed(put("bodies", 1, "limits", {"lower": [2], "upper": [1]})),
    "exchange",
)
case("a mimic of nothing", changed(put("bodies", 2, "mimic", ["hipp", 1, 0])), "did you mean 'hip'")
case("a rotor is not a dict", changed(put("rotors", 0, 3)), "must be a dict")
case("a rotor of no joint", changed(put("rotors", 0, "joint", "hipp")), "did you mean 'hip'")
case("a rotor without ratio", changed(lambda d: d["rotors"][0].pop("ratio") and None), "'ratio' is missing")
case("a rotor with a misspelt key", changed(put("rotors", 0, "ration", 1)), "did you mean 'ratio'")
case("a frame is not a dict", changed(put("frames", 0, "tool")), "must be a dict")
case("a frame on no body", changed(put("frames", 0, "body", "plat")), "did you mean 'plate'")
case("a frame without a body", changed(lambda d: d["frames"][0].pop("body") and None), "'body' is missing")
case("gravity of two numbers in a dict", changed(put("gravity", [0, 0])), "gravity")

# --- the zoo ------------------------------------------------------------------------------------------------
for make in (zoo.chain, zoo.tree, zoo.auto_tree, zoo.star):
    for bad in (0, -1, 1.5, "3", None, True):
        case(
            f"{make.__name__}({bad!r})",
            lambda make=make, bad=bad: make(bad),
            make.__name__,
            "number of bodies",
        )
for make in (zoo.tree, zoo.auto_tree):
    for bad in (0, 0.5, "2", None, NAN):
        case(f"{make.__name__} branching {bad!r}", lambda make=make, bad=bad: make(5, bad), "branching")


@pytest.mark.parametrize("call, expected", CASES.values(), ids=CASES.keys())
def test_model_error(call, expected):
    with pytest.raises(ModelError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message and 20 < len(message) < 400, message
    for text in expected:
        assert text in message
    assert isinstance(error.value, (KinetreeError, ValueError))


def test_there_are_a_few_hundred():
    assert len(CASES) >= 300


# --- shapes -------------------------------------------------------------------------------------------------
NQ, NV = 20, 18
SHAPES = {
    "q too short": (lambda m: m.integrate(np.zeros(NQ - 1), np.zeros(NV)), "q has shape (19,)"),
    "q as long as v": (lambda m: m.integrate(np.zeros(NV), np.zeros(NV)), "q has shape (18,)"),
    "q a number": (lambda m: m.integrate(0.0, np.zeros(NV)), "q has shape ()"),
    "q transposed": (lambda m: m.integrate(np.zeros((NQ, 4)), np.zeros(NV)), "q has shape (20, 4)"),
    "dv too long": (lambda m: m.integrate(np.zeros(NQ), np.zeros(NQ)), "dv has shape (20,)"),
    "q0 too short": (lambda m: m.difference(np.zeros(3), np.zeros(NQ)), "q0 has shape (3,)"),
    "q1 too short": (lambda m: m.difference(np.zeros(NQ), np.zeros(3)), "q1 has shape (3,)"),
    "v too short": (lambda m: m.rate(np.zeros(NQ), np.zeros(3)), "v has shape (3,)"),
    "ankle of one": (lambda m: m.velocities({"ankle": [1]}), "takes (..., 2)"),
    "ankle of three": (lambda m: m.velocities({"ankle": [1, 2, 3]}), "takes (..., 2)"),
    "a number for a free joint": (lambda m: m.positions({"root": 1.0}), "takes (..., 7)"),
    "a mimic joint": (lambda m: m.positions({"knee": 1.0}), "owns no coordinates"),
    "split q": (lambda m: m.split_positions(np.zeros(3)), "q has shape (3,)"),
    "split v": (lambda m: m.split_velocities(np.zeros(3)), "v has shape (3,)"),
    "q of text": (lambda m: m.integrate(["0"] * NQ, np.zeros(NV)), "q must hold numbers"),
}


@pytest.mark.parametrize("call, expected", SHAPES.values(), ids=SHAPES.keys())
def test_shape_error(call, expected):
    model = rich_model()
    assert (model.nq, model.nv) == (NQ, NV)
    with pytest.raises(ShapeError) as error:
        call(model)
    assert expected in str(error.value) and "\n" not in str(error.value)
