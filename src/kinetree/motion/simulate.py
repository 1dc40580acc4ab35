"""`kt.simulate`: states over time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.compiler.runtime.on_device import is_on_device
from kinetree.constraints import Constraint
from kinetree.errors import ArgumentError, ShapeError, SimulationError
from kinetree.model import Model
from kinetree.model.ground import Ground, Heightfield
from kinetree.motion import adaptive, contact, inputs
from kinetree.motion.events import Events
from kinetree.motion.progress import Progress
from kinetree.motion.rollout import SATURATED
from kinetree.motion.run import owner
from kinetree.motion.simulation import Simulation
from kinetree.motion.steps import INTEGRATORS
from kinetree.motion.trajectory import Trajectory
from kinetree.stages.target import TARGETS

Progressing = bool | Callable[[float], Any] | None


def simulate(
    model: Model,
    q0: Any,
    v0: Any,
    *,
    duration: float,
    dt: float,
    integrator: str = "discrete",
    control: Any = None,
    f_ext: Any = None,
    record: int = 1,
    passive: bool = True,
    limits: bool = True,
    events: Sequence[Any] = (),
    progress: Progressing = None,
    target: str = "cpu",
    kp: Any = None,
    kd: Any = None,
    setpoint: Any = None,
    reset_momentum: Any = False,
    parameters: Any = None,
    gravity: Any = None,
    t0: float = 0.0,
    tolerance: float = 1e-9,
    constraints: Constraint | Sequence[Constraint] = (),
    ground: Any = True,
    contact_friction: Any = None,
    contact_stiffness: Any = None,
    contact_dissipation: Any = None,
    creep: Any = None,
    contact_accuracy: Any = None,
    newton_limit: int | None = None,
) -> Trajectory:
    """The motion from (`q0`, `v0`) over `duration` seconds in steps of `dt`.

    The time loop is machine code: one call makes many steps, batches run in SIMD lanes and threads, and other
    Python threads keep running. The result of a state does not depend on the batch it is in. A state that
    diverges stops alone: it is NaN from then on, and `failed` says when, which joint and why, with its last
    good state. Ctrl-C ends the run and keeps what is done.

    Args:
        model: the robot.
        q0, v0: initial states (..., nq), (..., nv); batch axes lead.
        duration, dt: s; `duration` is a whole number of steps.
        integrator: "discrete", "rk4" or "variational" (see `kt.step`); or with error control "dopri5", or a
            SciPy solver: "RK45", "DOP853", "Radau", "BDF", "LSODA".
        control: generalised forces (nv,), (T, nv) or (..., T, nv) with a row for each of T steps; a function
            of a model, "t, q, v -> tau", which runs inside the loop; or any f(t, q, v), called at each step
            with whole batches. All are held constant during a step (with error control they are evaluated
            continuously). A function of a model may also return f_ext, kp, kd and setpoint. Its inputs
            besides t, q, v are set by functools.partial; an output with the name of such an input is its
            memory for the next step. A controller of `kt.control` is all of that. The outputs of several, in
            a list, add up, and a function may take `tau`, the sum of those before it. A function that returns
            over, q_start(nq) and v_start(nv) can restart a state: where `over` is at least 1, the step starts
            from there.
        f_ext: wrenches on the bodies, (nb, 6), (T, nb, 6), (..., T, nb, 6), or a function as for `control`.
        record: keep every k-th step.
        passive: include damping, friction and springs of the joints.
        limits: include stops at the joint limits ("discrete"; other integrators warn if a limit is passed),
            and clip `control` plus servo to the effort limits of the joints: a warning says so, and
            `extra["saturated"]` says when.
        events: functions g(t, q, v) of one state, or functions of a model "t, q, v -> g", whose zeros are
            located and listed in `events`; attributes `terminal` (the state stops there) and `direction` (1:
            rising, -1: falling) as in SciPy.
        progress: None for a line on the terminal if the run takes long, True, False, or a function of the
            fraction done.
        target: "cpu", "cuda" for a GPU, or "eager" for plain Python. States that are GPU arrays always run on
            their GPU, and the result is a `DeviceTrajectory` with such arrays. "cuda_fast": approximate
            float32 division and square root, whose last bits are wrong.
        kp, kd, setpoint: a servo kp (setpoint - q) - kd v as part of every step, implicit in "discrete";
            gains (..., nv), setpoint (..., nq), (T, nq) or (..., T, nq); where the number of states is T,
            (..., 1, nq) for a goal for each state, or (1, T, nq) for a goal for each step.
        reset_momentum: True to reset the momentum to its initial value after each step, or a momentum (...,
            6) to reset it to; for models that float freely.
        parameters, gravity: replace the model's own, also by state: (..., nb, 10), (..., 3).
        t0: the time at the beginning, s.
        tolerance: of integrators with error control, relative and absolute.
        constraints: enforced to rounding in every step of "discrete" and "rk4", as in
            `kt.constrained_dynamics`, which also gives the forces: constrained_dynamics(model, run.q, run.v,
            run.tau, constraints). `q0` and `v0` should satisfy them already (`kt.project`).
        ground: what the points of the model touch (`model.contact_points`; "discrete" only): a `kt.Ground` or
            `kt.Heightfield`, False or None for nothing, or True for the model's own ground; a model with a
            floating base and no ground of its own gets the plane z = 0 (none, if there are constraints).
            Other integrators have no ground, and warn if it is True and the model would stand on one.
        contact_friction, contact_stiffness, contact_dissipation: replace the model's own, also by state: one
            number, or (..., points).
        creep: speed below which touching points stick, (...), m/s.
        contact_accuracy: share of all contact forces that may be missing when their Newton iteration ends,
            (...).
        newton_limit: the most Newton steps for contact in each time step, such as 4; None for as many as
            needed. The time step then lacks what they have not found of the forces.

    Returns:
        A `Trajectory`.

    Raises:
        SimulationError: a control or event function failed; `trajectory` of the error holds what was done
            before.
    """
    if not isinstance(model, Model):
        raise ArgumentError(
            f"simulate: the first argument must be a kinetree Model, got a {type(model).__name__}"
        )
    record, passive, limits, t0, ground, newton_limit, reset_momentum = map(
        _plain, (record, passive, limits, t0, ground, newton_limit, reset_momentum)
    )
    known = (*INTEGRATORS, *adaptive.METHODS)
    if integrator not in known:
        raise ArgumentError(f"simulate: unknown integrator {integrator!r}; choose from {', '.join(known)}")
    if target not in TARGETS or target == "c":
        raise ArgumentError(
            f"simulate: unknown target {target!r}; choose 'cpu', 'cuda', 'cuda_fast' or 'eager'"
        )
    if constraints and integrator not in ("discrete", "rk4"):
        raise ArgumentError(f"simulate: {integrator} takes no constraints: use 'discrete' or 'rk4'")
    steps, dt = inputs.whole_steps(duration, dt, record)
    below = contact.resolved(model, ground, integrator, "simulate", constraints)
    _warn_of_contact(model, ground, integrator, below)
    given = {"tau": control, "f_ext": f_ext, "kp": kp, "kd": kd, "setpoint": setpoint, "creep": creep}
    given["contact_accuracy"] = contact_accuracy
    felt = contact_stiffness, contact_dissipation, contact_friction
    given |= contact.given(model, below, *felt)
    settings = {
        "integrator": integrator, "dt": dt, "record": record, "passive": passive, "limits": limits, "t0": t0,
        "constraints": (constraints,) if isinstance(constraints, Constraint) else tuple(constraints),
        "ground": below or False, "newton_limit": contact.limit_of(newton_limit),
    }  # fmt: skip
    given |= {"parameters": parameters, "gravity": gravity}
    if is_on_device(q0) or is_on_device(v0):
        return _on_device(model, q0, v0, given, steps, settings, events, reset_momentum, target)
    q, v = inputs.read_state(model, q0, v0)
    acting = inputs.read(model, steps, given, (q, v), bool(limits))
    if acting.restarts and (events or integrator in adaptive.METHODS):
        raise ArgumentError(
            "simulate: a control gives over: states start again, which goes with neither events nor error "
            "control"
        )
    if reset_momentum is not False and reset_momentum is not None:
        numbers: dict[str, Any] = {
            n: acting.constant[n] for n in ("parameters", "gravity") if n in acting.constant
        }
        kept = of.momentum(model, q, v, **numbers) if reset_momentum is True else reset_momentum
        acting.constant |= inputs.read(model, steps, {"momentum": kept}).constant
    batch = acting.batch(model, (q, v))
    work = Simulation(model, q, v, batch, acting, steps, settings, target)
    bar = Progress(progress, duration, prod(batch), steps)
    try:
        if integrator in adaptive.METHODS:
            adaptive.run(work, Events(events, model), tolerance, bar)
        else:
            work.run(Events(events, model), bar)
    except KeyboardInterrupt:
        work.interrupted = True
        warnings.warn(f"simulate: stopped by Ctrl-C after {work.done * dt:g} of {duration:g} s", stacklevel=2)
    except SimulationError as error:
        error.trajectory = work.trajectory()
        raise
    finally:
        bar.end()
    run = work.trajectory()
    if limits and integrator != "discrete":
        _warn_of_limits(run)
    _warn_of_efforts(run)
    return run


def _plain(value: Any) -> Any:
    """A NumPy scalar as a Python number; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _on_device(
    model: Model,
    q0: Any,
    v0: Any,
    given: dict[str, Any],
    steps: int,
    settings: dict[str, Any],
    events: Sequence[Any],
    reset_momentum: Any,
    target: str,
) -> Any:
    """The run of states that are on a GPU."""
    from kinetree.motion.device import DeviceRun

    for name, array, width in (("q0", q0, model.nq), ("v0", v0, model.nv)):
        if not is_on_device(array):
            raise ShapeError("simulate: one of q0 and v0 is on the host, the other on a device: move one")
        if not array.shape or array.shape[-1] != width:
            raise ShapeError(
                f"simulate: {name} has shape {tuple(array.shape)} but model {model.name!r} needs "
                f"(..., {width})"
            )
    acting = inputs.read(model, steps, given, (q0, v0), bool(settings["limits"]))
    if reset_momentum is not False and reset_momentum is not None:
        numbers = {n: given[n] for n in ("parameters", "gravity") if given[n] is not None}
        kept = of.momentum(model, q0, v0, **numbers) if reset_momentum is True else reset_momentum
        acting.constant |= inputs.read(model, steps, {"momentum": kept}).constant
    if events or acting.callbacks or settings["integrator"] not in INTEGRATORS:
        raise ArgumentError(
            "simulate: on a device there are no events, Python functions and integrators with error control: "
            "write the control as a function of a model, or give arrays of the host"
        )
    there = target if target.startswith("cuda") else "cuda"
    return DeviceRun(model, q0, v0, acting, steps, settings, there).run()


def _warn_of_contact(model: Model, ground: Any, integrator: str, below: Any) -> None:
    """Warn if something that could touch does not."""
    said = []
    if ground is True and integrator != "discrete" and contact.own_ground(model) is not None:
        said.append(
            f"{integrator} knows no ground: {model.name!r} falls through it. Use integrator='discrete', or "
            "say ground=False"
        )
    if isinstance(ground, (Ground, Heightfield)) and not model.contact_points:
        said.append(
            f"nothing touches the ground: {model.name!r} has no contact points. Give it some "
            "(model.add_geometry), or say ground=False"
        )
    if model.pairs and below is None:
        said.append(
            f"the bodies of {model.name!r} pass through each other: pairs need integrator='discrete', "
            "without constraints. Leave them out: model.replace(pairs=())"
        )
    for text in said:
        warnings.warn(f"simulate: {text}", stacklevel=3)


def _warn_of_limits(run: Trajectory) -> None:
    """Warn if joints passed their limits, which this integrator ignores."""
    tree = run.model.spanning_tree
    limits, (places, _) = tree.limits, tree.coordinate_places
    q = run.q[..., places["q"]]
    lower, upper = limits.lower[places["v"]], limits.upper[places["v"]]
    with np.errstate(invalid="ignore"):
        beyond = ((q < lower) | (q > upper)).any(tuple(range(q.ndim - 1)))
    if beyond.any():
        warnings.warn(
            f"simulate: {_names(tree, places['v'][beyond])} went beyond the limits: "
            f"{run.settings['integrator']} has no stops. Use integrator='discrete', or limits=False",
            stacklevel=3,
        )


def _warn_of_efforts(run: Trajectory) -> None:
    """Warn if a control was clipped."""
    saturated = run.extra.get(SATURATED, np.zeros((1, run.model.nv)))
    reached = np.flatnonzero(saturated.any(tuple(range(saturated.ndim - 1))))
    if len(reached):
        warnings.warn(
            f"simulate: the control asked {_names(run.model, reached)} for more than its effort limit: "
            f"what is beyond was cut off, run.extra['{SATURATED}'] says when. limits=False lifts the limits",
            stacklevel=3,
        )


def _names(model: Model, places: Any) -> str:
    """The joints that velocities belong to, the first few by name."""
    names = list(dict.fromkeys(owner(model, int(k)) for k in places))
    return f"{', '.join(map(repr, names[:5]))}{' and others' if len(names) > 5 else ''}"


__all__ = ["simulate"]
