"""Controllers: control laws as functions of a model, with their gains.

hold = kt.control.PD(robot, q, kp=100.0, kd=20.0)
tau = hold(t, q, v)                                                  # called directly
run = kt.simulate(robot, q0, v0, control=hold, duration=5, dt=1e-3)  # compiled into the time loop
hold.export_c("build")                                               # exported as C99
"""

from kinetree.control.adaptive import Adaptive
from kinetree.control.controller import Controller
from kinetree.control.joints import PD, ComputedTorque, GravityCompensation
from kinetree.control.observer import MomentumObserver
from kinetree.control.operational import OperationalSpace
from kinetree.control.passivity import PassivityBased, slotine_li
from kinetree.control.regulator import LQR
from kinetree.control.riccati import continuous_riccati, discrete_riccati

__all__ = [
    "LQR", "PD", "Adaptive", "ComputedTorque", "Controller", "GravityCompensation", "MomentumObserver",
    "OperationalSpace", "PassivityBased", "continuous_riccati", "discrete_riccati", "slotine_li",
]  # fmt: skip
