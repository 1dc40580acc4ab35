"""`python -m benchmarks.control`: control laws and inverse kinematics of the 7-joint arm, in processor time."""

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


def microseconds(call: Callable[[], object], count: int) -> float:
    """The median processor time of a call, divided by what it does so many times."""
    call()
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return float(np.median(times)) / count * 1e6


def main() -> None:
    arm = kt.zoo.arm7()
    threads.set_threads(1)
    print(f"{'law of the 7-joint arm':22} {'kernel':>9} {'by hand':>9} {'step in the loop':>17}   [us]")
    for name, law in laws(arm).items():
        given = law.start(POSTURE, SPEED) | ({"tau": SPEED} if name == "MomentumObserver" else {})
        known = {"q": POSTURE, "v": SPEED} | law.numbers | given
        names = [a.name for a in law.law.own_inputs if a.name in known]
        kernel, arrays = kt.compile(law.law, arm, inputs=names), [np.asarray(known[n]) for n in names]
        control = [np.zeros(7), law] if name == "MomentumObserver" else law
        columns = (
            microseconds(lambda: [kernel(*arrays) for _ in range(2000)], 2000),
            microseconds(lambda: [law(0.0, POSTURE, SPEED, **given) for _ in range(500)], 500),
            microseconds(
                lambda: kt.simulate(
                    arm, POSTURE, SPEED, duration=STEPS * 1e-3, dt=1e-3, control=control, record=64
                ),
                STEPS,
            ),
        )
        print(f"{name:22} {columns[0]:9.2f} {columns[1]:9.2f} {columns[2]:17.2f}")
    goals = kt.frame_placement(arm, arm.random_state(1, POSES)[0], "flange")
    found = kt.inverse_kinematics(arm, {"flange": goals})
    taken = microseconds(lambda: kt.inverse_kinematics(arm, {"flange": goals}), POSES)
    print(
        f"inverse kinematics: {taken:.2f} us a pose, {found.success.sum()} of {POSES} reachable poses solved"
    )


if __name__ == "__main__":
    main()
