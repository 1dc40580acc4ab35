"""Random robots, written as SDF by hand and built with `ModelBuilder`: two ways that share nothing.

Every frame has a pose in the world, as a 4x4 matrix; the file states it relative to some other frame that was
drawn at random, so a reader must resolve what matrices know already.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import kinetree as kt

TYPES = ("revolute", "continuous", "prismatic", "screw", "universal", "revolute2", "ball", "fixed")


@dataclass
class Robot:
    """The text of a file and the model that it should load as."""

    text: str
    model: kt.Model
    joints: list[str] = field(default_factory=list)  # that have coordinates, in the order of the model


def matrix(rng: np.random.Generator) -> np.ndarray:
    return np.asarray(kt.Pose.random(rng))


def numbers(values) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def pose_text(T: np.ndarray, rng: np.random.Generator) -> tuple[str, str]:
    """Attributes and text of a <pose>, in one of the ways to write a rotation."""
    R, p = T[:3, :3], T[:3, 3]
    kind = rng.integers(3)
    if kind == 0:
        x, y, z, w = kt.Rotation(R).as_quaternion()
        return ' rotation_format="quat_xyzw"', numbers((*p, x, y, z, w))
    rpy = np.array(
        [np.arctan2(R[2, 1], R[2, 2]), np.arcsin(-np.clip(R[2, 0], -1, 1)), np.arctan2(R[1, 0], R[0, 0])]
    )
    if kind == 1:
        return ' degrees="true"', numbers((*p, *np.degrees(rpy)))
    return "", numbers((*p, *rpy))


def random_robot(seed: int, floating: bool = False, count: int = 6) -> Robot:
    rng = np.random.default_rng(seed)
    world = {"__model__": matrix(rng)}
    links, joints, truth = [], [], kt.ModelBuilder("robot")
    robot = Robot("", None)  # type: ignore[arg-type]
    lines: list[str] = []
    pending = []
    for k in range(count):
        world[f"l{k}"] = matrix(rng)
        if k or not floating:
            world[f"j{k}"] = matrix(rng)
        world[f"f{k}"] = matrix(rng)
        links.append(f"l{k}")
        joints.append(f"j{k}")

    order = {name: i for i, name in enumerate(rng.permutation([n for n in world if n != "__model__"]))}

    def place(name: str, default: str) -> str:
        """A <pose> relative to a frame that comes before in a random order, so that there is no circle."""
        before = ["__model__", *(n for n in order if order[n] < order[name])]
        if default in before and rng.random() < 0.4:
            attribute, base = "", default
        else:
            base = str(rng.choice(before))
            attribute = f' relative_to="{base}"'
        extra, text = pose_text(np.linalg.inv(world[base]) @ world[name], rng)
        return f"<pose{attribute}{extra}>{text}</pose>"

    def direction(name: str, axis: np.ndarray) -> str:
        """An axis that is given in the joint's frame, in the coordinates of some frame."""
        frame = str(rng.choice(["", *world]))
        base = world[frame or name][:3, :3]
        attribute = f' expressed_in="{frame}"' if frame else ""
        return f"<xyz{attribute}>{numbers(base.T @ world[name][:3, :3] @ axis)}</xyz>"

    for k, link in enumerate(links):
        mass, com, G = rng.uniform(0.5, 2), rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.3, 0.3, (3, 3))
        second = G @ G.T + 0.01 * np.eye(3)
        moments = mass * (np.trace(second) * np.eye(3) - second)
        C = matrix(rng)
        C[:3, 3] = com
        own = C[:3, :3].T @ moments @ C[:3, :3]
        extra, text = pose_text(C, rng)
        entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), own[np.triu_indices(3)], strict=True)
        inertia = "".join(f"<{tag}>{x!r}</{tag}>" for tag, x in ((t, float(x)) for t, x in entries))
        lines.append(
            f'<link name="{link}">{place(link, "__model__")}<inertial><pose{extra}>{text}</pose>'
            f"<mass>{mass!r}</mass><inertia>{inertia}</inertia></inertial></link>"
        )
        parent = "world" if k == 0 else links[rng.integers(k)]
        inertia_value = kt.Inertia(mass, com, moments)
        if k == 0 and floating:
            truth.add_body(link, "world", kt.Free(), inertia=inertia_value, joint_name="root_joint")
            robot.joints.append("root_joint")
            continue
        kind = str(rng.choice(TYPES))
        a, b = (np.asarray(v / np.linalg.norm(v)) for v in rng.standard_normal((2, 3)))
        pitch = rng.uniform(-0.3, 0.3)
        motion = {
            "revolute": kt.Revolute(a), "continuous": kt.Revolute(a), "prismatic": kt.Prismatic(a),
            "screw": kt.Helical(a, pitch / (2 * np.pi)), "universal": kt.Universal(a, b),
            "revolute2": kt.Universal(a, b), "ball": kt.Spherical(), "fixed": kt.Fixed(),
        }[kind]  # fmt: skip
        damping = rng.uniform(0, 1, motion.nv) if kind != "ball" else np.full(3, rng.uniform())
        axes = [(a, "axis"), (b, "axis2")][
            : {"fixed": 0, "ball": 0, "universal": 2, "revolute2": 2}.get(kind, 1)
        ]
        inner = ""
        for i, (axis, tag) in enumerate(axes):
            bounds = {"lower": "-1.5", "upper": "1e16", "effort": "-1", "velocity": "3"}
            limit = "<limit>" + "".join(f"<{name}>{x}</{name}>" for name, x in bounds.items()) + "</limit>"
            dynamics = (
                f"<dynamics><damping>{float(damping[i])!r}</damping><friction>0.125</friction>"
                "<spring_stiffness>2</spring_stiffness><spring_reference>0.25</spring_reference></dynamics>"
            )
            inner += f"<{tag}>{direction(joints[k], axis)}{limit}{dynamics}</{tag}>"
        if kind == "ball":
            inner = f"<axis><dynamics><damping>{float(damping[0])!r}</damping></dynamics></axis>"
        if kind == "screw":
            old = rng.random() < 0.5
            inner += (
                f"<thread_pitch>{float(-2 * np.pi / pitch)!r}</thread_pitch>"
                if old
                else f"<screw_thread_pitch>{pitch!r}</screw_thread_pitch>"
            )
        # ends may be named by a frame on the link
        named = parent if parent == "world" or rng.random() < 0.7 else f"f{parent[1:]}"
        child = link if rng.random() < 0.7 else f"f{k}"
        default = child
        lines.append(
            f'<joint name="{joints[k]}" type="{kind}">{place(joints[k], default)}<parent>{named}</parent>'
            f"<child>{child}</child>{inner}</joint>"
        )
        A = world[joints[k]] if parent == "world" else np.linalg.inv(world[parent]) @ world[joints[k]]
        B = np.linalg.inv(world[joints[k]]) @ world[link]
        pending.append((link, parent, motion, A, B, inertia_value, joints[k], damping, kind))
    for k in range(count):
        lines.append(f'<frame name="f{k}" attached_to="l{k}">{place(f"f{k}", f"l{k}")}</frame>')
    for link, parent, motion, A, B, inertia_value, name, damping, kind in pending:
        springs = (
            {"stiffness": 2.0, "spring_reference": [0.25] * motion.nq, "friction": 0.125}
            if kind not in ("ball", "fixed")
            else {}
        )
        truth.add_body(f"{link}@", parent, motion, kt.Pose(A), joint_name=name, damping=damping, **springs)
        truth.add_body(link, f"{link}@", kt.Fixed(), kt.Pose(B), inertia_value, joint_name=f"{name}@")
        if motion.nv:
            robot.joints.append(name)
    for k in range(count):
        truth.add_frame(f"f{k}", f"l{k}", kt.Pose(np.linalg.inv(world[f"l{k}"]) @ world[f"f{k}"]))
    rng.shuffle(lines)
    M = world["__model__"]
    extra, text = pose_text(M, rng)
    robot.text = (
        f'<sdf version="1.11"><model name="robot"><pose{extra}>{text}</pose>{"".join(lines)}</model></sdf>'
    )
    robot.model = truth.build()
    return robot
