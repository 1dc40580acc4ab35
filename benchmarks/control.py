"""`python -m benchmarks.control`: control laws and inverse kinematics of the 7-joint arm, processor times."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import kinetree as kt
from kinetree.compiler.runtime import threads

ROUNDS = 9
POSTURE = np.array([0.3, 0.6, 0.2, -0.9, 0.2, 0.7, -0.3])
SPEED = np.full(7, 0.1)
STEPS = 2048
POSES = 10_000


def laws(arm: kt.Model) -> dict[str, kt.control.Controller]:
    """One controller of each kind."""
    control, q = kt.control, POSTURE
    goal = kt.frame_placement(arm, q, "flange")
    return {
        "GravityCompensation": control.GravityCompensation(arm),
        "PD": control.PD(arm, q, kp=100.0, kd=0.1),
        "ComputedTorque": control.ComputedTorque(arm, q, kp=100.0, kd=20.0),
        "PassivityBased": control.PassivityBased(arm, q, bandwidth=8.0, kd=0.1),
        "Adaptive": control.Adaptive(arm, q, bandwidth=8.0, kd=0.1, rate=0.1, dt=1e-3),
        "OperationalSpace": control.OperationalSpace(
            arm, "flange", goal, kp=100.0, kd=20.0, posture=q, posture_kp=10.0, posture_kd=5.0
        ),
        "MomentumObserver": control.MomentumObserver(arm, 50.0, dt=1e-3),
        "LQR": control.LQR(arm, q),
    }


def microseconds(repeats: int, call: Callable[..., object], *args: object, **keywords: object) -> float:
    """The median processor time of a call."""
    call(*args, **keywords)
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        for _ in range(repeats):
            call(*args, **keywords)
        times.append(time.process_time() - begin)
    return float(np.median(times)) / repeats * 1e6


def row(arm: kt.Model, name: str, law: kt.control.Controller) -> tuple[float, float, float]:
    """The times of a law: its kernel, a direct call, and a simulated step with it."""
    given = law.start(POSTURE, SPEED) | ({"tau": SPEED} if name == "MomentumObserver" else {})
    known = {"q": POSTURE, "v": SPEED} | law.numbers | given
    names = [a.name for a in law.law.own_inputs if a.name in known]
    kernel = kt.compile(law.law, arm, inputs=names)
    control = [np.zeros(7), law] if name == "MomentumObserver" else law
    run = {"duration": STEPS * 1e-3, "dt": 1e-3, "control": control, "record": 64}
    return (
        microseconds(2000, kernel, *(np.asarray(known[n]) for n in names)),
        microseconds(500, law, 0.0, POSTURE, SPEED, **given),
        microseconds(1, kt.simulate, arm, POSTURE, SPEED, **run) / STEPS,
    )


def main() -> None:
    arm = kt.zoo.arm7()
    threads.set_threads(1)
    print(f"{'law of the 7-joint arm':22} {'kernel':>9} {'by hand':>9} {'step in the loop':>17}   [us]")
    for name, law in laws(arm).items():
        kernel, hand, step = row(arm, name, law)
        print(f"{name:22} {kernel:9.2f} {hand:9.2f} {step:17.2f}")
    targets = {"flange": kt.frame_placement(arm, arm.random_state(1, POSES)[0], "flange")}
    solved = kt.inverse_kinematics(arm, targets).success.sum()
    taken = microseconds(1, kt.inverse_kinematics, arm, targets) / POSES
    print(f"inverse kinematics: {taken:.2f} us a pose, {solved} of {POSES} reachable poses solved")


if __name__ == "__main__":
    main()
