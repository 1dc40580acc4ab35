"""A block on four small feet, in kinetree, MuJoCo and Drake: creep, sliding, stopping, standing and impact.

    python -m benchmarks.contact_scenes                       # prints the table of docs/contact.md
    python -m benchmarks.contact_scenes contact-scenes.png    # and draws its picture

Engines that are not installed are left out.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import kinetree as kt

G, MASS, HALF, FOOT = 9.81, 10.0, 0.1, 0.005  # m/s^2, kg, m, m
STIFFNESS, DISSIPATION, CREEP = 4e4, 1.0, 1e-4  # N/m, s/m, m/s: of kinetree and Drake
CORNERS = [(x * HALF, y * HALF, -HALF + FOOT) for x in (-1, 1) for y in (-1, 1)]
SPIN = MASS * (2 * HALF) ** 2 / 6
REST = MASS * G / (4 * STIFFNESS)


class Scene(NamedTuple):
    """A block over the plane z = 0: gravity, friction and initial state."""

    angle: float = 0.0  # of a slope, rad
    friction: float = 0.8
    speed: float = 0.0  # along the slope, m/s
    height: float = HALF - REST
    duration: float = 2.0
    h: float = 2e-3

    @property
    def gravity(self) -> np.ndarray:
        return G * np.array([np.sin(self.angle), 0.0, -np.cos(self.angle)])

    @property
    def steps(self) -> int:
        return round(self.duration / self.h)


class Motion(NamedTuple):
    """Positions and velocities (T+1, 3) of the centre, and normal forces (T,)."""

    x: np.ndarray
    v: np.ndarray
    normal: np.ndarray


def in_kinetree(scene: Scene) -> Motion:
    builder = kt.ModelBuilder("block")
    inertia = kt.Inertia(MASS, (0, 0, 0), SPIN * np.eye(3))
    builder.add_body("block", joint=kt.Free(), inertia=inertia)
    numbers = {"friction": scene.friction, "stiffness": STIFFNESS, "dissipation": DISSIPATION}
    for corner in CORNERS:
        builder.add_geometry("block", kt.Sphere(FOOT), kt.Pose(p=corner), **numbers)
    model = builder.build()
    q, v = model.neutral(), np.zeros(6)
    q[6], v[3] = scene.height, scene.speed
    run = kt.simulate(model, q, v, duration=scene.duration, dt=scene.h, gravity=scene.gravity, creep=CREEP)
    turned = kt.placements(model, run.q)[:, 0, :3, :3] @ run.v[:, 3:, None]
    return Motion(run.q[:, 4:7], turned[..., 0], run.contact_force[:-1, :, 2].sum(-1))


def in_mujoco(integrator: str, ratio: float = 1.0) -> Callable[[Scene], Motion]:
    def run(scene: Scene) -> Motion:
        import mujoco

        feet = "".join(
            f'<geom type="sphere" size="{FOOT}" pos="{x} {y} {z}" mass="0" friction="{scene.friction} 0 0"/>'
            for x, y, z in CORNERS
        )
        gravity = " ".join(map(str, scene.gravity))
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option gravity="{gravity}" timestep="{scene.h}" cone="elliptic" impratio="{ratio}" '
            f'integrator="{integrator}"/><default><geom solref="0.005 1" condim="3"/></default><worldbody>'
            f'<geom type="plane" size="0 0 1" friction="{scene.friction} 0 0"/><body><freejoint/>'
            f'<inertial pos="0 0 0" mass="{MASS}" diaginertia="{SPIN} {SPIN} {SPIN}"/>{feet}</body>'
            "</worldbody></mujoco>"
        )
        data = mujoco.MjData(model)
        data.qpos[2], data.qvel[0] = scene.height, scene.speed
        x, v, normal = [data.qpos[:3].copy()], [data.qvel[:3].copy()], []
        wrench = np.zeros(6)
        for _ in range(scene.steps):
            mujoco.mj_step(model, data)
            total = 0.0
            for k in range(data.ncon):
                mujoco.mj_contactForce(model, data, k, wrench)
                total += wrench[0]
            normal.append(total)
            x.append(data.qpos[:3].copy())
            v.append(data.qvel[:3].copy())
        return Motion(np.array(x), np.array(v), np.array(normal))

    return run


def in_drake(solver: str) -> Callable[[Scene], Motion]:
    def run(scene: Scene) -> Motion:
        from pydrake import all as drake

        builder = drake.DiagramBuilder()
        plant, _ = drake.AddMultibodyPlantSceneGraph(builder, scene.h)
        plant.set_discrete_contact_approximation(getattr(drake.DiscreteContactApproximation, solver))
        plant.mutable_gravity_field().set_gravity_vector(scene.gravity)
        inertia = drake.UnitInertia.SolidCube(2 * HALF)
        body = plant.AddRigidBody("block", drake.SpatialInertia(MASS, np.zeros(3), inertia))
        friction = drake.CoulombFriction(scene.friction, scene.friction)

        def properties(stiffness: float) -> Any:
            found = drake.ProximityProperties()
            drake.AddContactMaterial(DISSIPATION, stiffness, friction, found)
            return found

        for k, corner in enumerate(CORNERS):
            place, ball = drake.RigidTransform(np.array(corner)), drake.Sphere(FOOT)
            plant.RegisterCollisionGeometry(body, place, ball, f"foot{k}", properties(STIFFNESS))
        half = drake.HalfSpace()
        world = plant.world_body()
        plant.RegisterCollisionGeometry(world, drake.RigidTransform(), half, "floor", properties(1e14))
        plant.Finalize()
        plant.set_stiction_tolerance(CREEP)
        diagram = builder.Build()
        simulator = drake.Simulator(diagram)
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetFreeBodyPose(context, body, drake.RigidTransform([0.0, 0.0, scene.height]))
        start = drake.SpatialVelocity(np.zeros(3), np.array([scene.speed, 0.0, 0.0]))
        plant.SetFreeBodySpatialVelocity(context, body, start)
        x, v, normal = [np.array([0.0, 0.0, scene.height])], [np.array([scene.speed, 0.0, 0.0])], []
        port = plant.get_contact_results_output_port()
        for k in range(scene.steps):
            simulator.AdvanceTo((k + 1) * scene.h)
            results = port.Eval(context)
            count = results.num_point_pair_contacts()
            forces = [results.point_pair_contact_info(i).contact_force()[2] for i in range(count)]
            normal.append(abs(sum(forces)))
            x.append(plant.GetFreeBodyPose(context, body).translation())
            v.append(plant.EvalBodySpatialVelocityInWorld(context, body).translational())
        return Motion(np.array(x), np.array(v), np.array(normal))

    return run


ENGINES: dict[str, tuple[str, Callable[[Scene], Motion]]] = {
    "kinetree": ("kinetree", in_kinetree),
    "MuJoCo, discrete": ("mujoco", in_mujoco("discrete")),
    "MuJoCo, implicitfast": ("mujoco", in_mujoco("implicitfast")),
    "MuJoCo, implicitfast, impratio 10": ("mujoco", in_mujoco("implicitfast", 10.0)),
    "Drake, SAP": ("pydrake", in_drake("kSap")),
    "Drake, lagged": ("pydrake", in_drake("kLagged")),
    "Drake, TAMSI": ("pydrake", in_drake("kTamsi")),
}

STEEP = np.radians(10.0)
DROP = 0.1  # m
LINES = ("-", "--", ":", "-", "--", ":")

MEASURES = (
    "creep on a slope of 10°, µm/s",
    "slide on it, μ = 0.1: error of the acceleration",
    "stop from 2 m/s, μ = 0.5: error of the stopping distance",
    "the block lifts by, mm",
    "standing: sum of normal forces / weight - 1",
    "depth at rest, mm",
    "drop from 10 cm: rebound speed / impact speed",
    "peak force, kN",
)


def row(run: Callable[[Scene], Motion]) -> list[str]:
    """The results of one engine."""
    standing = run(Scene())
    rest = float(standing.x[-1, 2])  # where it stands still
    held = run(Scene(STEEP, height=rest))
    creep = np.linalg.norm(held.x[-1] - held.x[len(held.x) // 2]) / 1.0
    slid = run(Scene(STEEP, 0.1, height=rest))
    speed = slid.v[:, 0]
    wanted = G * (np.sin(STEEP) - 0.1 * np.cos(STEEP))
    half = len(speed) // 2
    slope = (speed[-1] - speed[half]) / ((len(speed) - 1 - half) * 2e-3)
    stopped = run(Scene(friction=0.5, speed=2.0, height=rest, duration=1.0))
    way = stopped.x[-1, 0] / (2.0**2 / (2 * 0.5 * G)) - 1
    lifted = max(0.0, float((stopped.x[:, 2] - rest).max()))
    balance = abs(standing.normal[-1] / (MASS * G) - 1)
    fallen = run(Scene(height=HALF + DROP, duration=0.5))
    first = int(np.argmin(fallen.v[:, 2]))
    back = max(0.0, float(fallen.v[first:, 2].max())) / np.sqrt(2 * G * DROP)
    return [
        f"{1e6 * creep:.3g}", f"{abs(slope / wanted - 1):.0e}", f"{100 * way:+.2f} %", f"{1e3 * lifted:.2f}",
        f"{balance:.0e}", f"{1e3 * (HALF - rest):.3f}", f"{back:.2f}", f"{fallen.normal.max() / 1e3:.2f}",
    ]  # fmt: skip


def known() -> dict[str, Callable[[Scene], Motion]]:
    """The engines that are installed."""
    return {name: run for name, (module, run) in ENGINES.items() if importlib.util.find_spec(module)}


def table() -> str:
    """The measurements, one engine per column."""
    engines = known()
    lines = [f"| | {' | '.join(engines)} |", "|---|" + "--:|" * len(engines)]
    columns = [row(run) for run in engines.values()]
    lines += [f"| {' | '.join(cells)} |" for cells in zip(MEASURES, *columns, strict=True)]
    return "\n".join(lines)


def picture(path: str) -> None:
    """Plots: creep of a block that should stick, lift of a sliding one, and an impact."""
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11.5, 3.6), layout="constrained")
    styles = [{"color": "black", "linewidth": 2.5}, *({"linewidth": 1.3, "linestyle": x} for x in LINES)]
    for (name, run), style in zip(known().items(), styles):
        rest = float(run(Scene()).x[-1, 2])
        held = run(Scene(STEEP, height=rest))
        slid = run(Scene(friction=0.5, speed=2.0, height=rest, duration=0.6))
        fallen = run(Scene(height=HALF + DROP, duration=0.4))
        times = [2e-3 * np.arange(len(motion.x)) for motion in (held, slid, fallen)]
        left.semilogy(times[0][1:], 1e6 * np.abs(held.v[1:, 0]), label=name, **style)
        middle.plot(times[1], 1e3 * (slid.x[:, 2] - rest), **style)
        right.plot(times[2], 1e3 * (fallen.x[:, 2] - HALF), **style)
    left.set(xlabel="time, s", ylabel="speed, μm/s", title="holds on a slope of 10°", ylim=(0.5, 1e5))
    middle.set(xlabel="time, s", ylabel="height over where it stands, mm", title="slides with 2 m/s, μ = 0.5")
    right.set(xlabel="time, s", ylabel="height, mm", title="dropped from 10 cm")
    right.set(ylim=(-12, 40), xlim=(0.1, 0.4))
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    print(table())
    if len(sys.argv) > 1:
        picture(sys.argv[1])
