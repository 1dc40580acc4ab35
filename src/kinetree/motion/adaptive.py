"""Variable-step integrators: Dormand-Prince on the group, and SciPy's solvers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree.errors import ArgumentError, AssemblyError, SimulationError
from kinetree.model.configuration import snapped
from kinetree.motion import group
from kinetree.motion.events import Events, crossing, zero
from kinetree.motion.joint_forces import Servo, driven, explicit, within_efforts
from kinetree.motion.progress import Progress
from kinetree.motion.run import Run, alone, fastest
from kinetree.motion.trajectory import Event, Failure

if TYPE_CHECKING:
    from kinetree.motion.simulation import Simulation

Array = np.ndarray

SCIPY = ("RK45", "DOP853", "Radau", "BDF", "LSODA")
METHODS = ("dopri5", *SCIPY)
MOST_STEPS = 10_000_000

# Dormand and Prince (1980): nodes, coefficients, error weights. Dense output: Hairer, Norsett and Wanner.
NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
COEFFICIENTS = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = np.array([-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])
DENSE = np.array([
    [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
    [0, 0, 0, 0],
    [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
    [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
    [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
    [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
    [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
])  # fmt: skip


class Step(NamedTuple):
    """An accepted step from t to t + h; `state(s)` is the state at the fraction s of it."""

    t: float
    h: float
    state: Callable[[float], tuple[Array, Array]]


def run(work: Simulation, events: Events, tolerance: float, bar: Progress) -> None:
    """Run all states one after another, and store the state at each record time."""
    method = work.settings["integrator"]
    if work.memory or "momentum" in work.acting.constant:
        raise ArgumentError(
            f"simulate: {method} has no fixed steps: no memory of controls, no reset of the momentum"
        )
    if not isinstance(tolerance, (int, float, np.floating, np.integer)) or not 0 < tolerance < np.inf:
        raise ArgumentError(
            f"simulate: the tolerance of {method} must be a positive number, got {tolerance!r}"
        )
    if method in SCIPY:
        _needed()
    total = max(1, int(np.prod(work.batch)))
    for number, index in enumerate(np.ndindex(work.batch)):
        system = System(work.engine, index, work.acting.callbacks, work.batch)
        reached = _one(work, system, index, events, tolerance, method)
        system.row = None
        for name in ("q", "v"):
            getattr(work, name)[(*index, slice(reached + 1, None))] = np.nan
        states = list(_states(work, index, reached))
        work.note(index, [system.forces(t, q, v) for t, q, v in states])
        if work.saturated is not None:
            for k, (t, q, v) in enumerate(states):
                acting = system.forces(t, q, v)
                asked = driven(work.model, q, v, acting.get("tau", 0.0 * v), Servo.among(acting))
                work.saturated[(k, *index)] = within_efforts(work.model, asked)[1]
        if not work.batch:
            work.done = reached * work.record
        bar.tell(work.steps * (number + 1) // total)
    if work.batch:
        work.done = work.steps


def _states(work: Simulation, index: tuple[int, ...], reached: int) -> Iterator[tuple[float, Array, Array]]:
    """Times and states of the records, if a control or the saturation count needs them."""
    if work.acting.functions or work.acting.callbacks or work.saturated is not None:
        for k in range(reached + 1):
            yield work.t0 + work.dt * (k * work.record), work.q[(*index, k)], work.v[(*index, k)]


def _one(
    work: Simulation, system: System, index: tuple[int, ...], events: Events, tolerance: float, method: str
) -> int:
    """Run one state; returns the last record that it reached."""
    times = work.t0 + work.dt * (work.record * np.arange(work.steps // work.record + 1))
    q, v = work.q[(*index, 0)], work.v[(*index, 0)]
    row, end = 1, times[-1]
    breaks = [end]
    if work.acting.series:  # forces jump between steps: no integrator step may span a jump
        breaks = list(work.t0 + work.dt * np.arange(1, work.steps + 1))
    solver = _dopri5 if method == "dopri5" else _scipy(method)
    t, h = work.t0, 0.0
    before = [events.value(k, t, q, v) for k in range(len(events.functions))]
    for k, stop in enumerate(breaks):
        system.row = k if work.acting.series else None
        for taken in solver(system, t, stop, q, v, tolerance, h):
            last = taken.state(1.0)
            if not (np.isfinite(last[0]).all() and np.isfinite(last[1]).all()) or taken.h <= 1e-15 * abs(end):
                joint = fastest(system.model, v)
                reason = f"it diverges or misses the tolerance {tolerance:g}: joint {joint!r} moves fastest"
                work.failed.append(Failure(index, t, joint, reason, np.array(q), np.array(v)))
                work.ended(index, (row - 1) * work.record)
                return row - 1
            ended = _events(work, events, taken, before, index)
            limit = ended if ended is not None else taken.t + taken.h
            while row < len(times) and times[row] <= limit + 1e-12 * abs(end):
                s = min(1.0, (times[row] - taken.t) / taken.h)
                work.q[(*index, row)], work.v[(*index, row)] = taken.state(s)
                row += 1
            if ended is not None:
                work.ended(index, (row - 1) * work.record)
                return row - 1
            (q, v), t, h = last, taken.t + taken.h, taken.h
        t = stop
    return row - 1


def _events(
    work: Simulation, events: Events, taken: Step, before: list, index: tuple[int, ...]
) -> float | None:
    """Record the events of a step; returns the time of the first terminal one."""
    found = []
    for k, function in enumerate(events.functions):

        def value(s: float, k: int = k) -> float:
            return float(events.value(k, taken.t + s * taken.h, *taken.state(s)))

        after = value(1.0)
        if crossing(np.float64(before[k]), np.float64(after), float(getattr(function, "direction", 0))):
            s = zero(value, float(before[k]))
            found.append(Event(k, index, taken.t + s * taken.h, *taken.state(s), events.is_terminal(k)))
        before[k] = after
    found.sort(key=lambda event: event.time)
    for event in found:
        work.found.append(event)
        if event.terminal:
            return event.time
    return None


class System:
    """The equations of motion of one state, with everything that acts on it."""

    def __init__(self, whole: Run, index: tuple[int, ...], callbacks: dict[str, Any], batch: tuple[int, ...]):
        single, _ = alone(whole, index, {})
        self.model, self.acting = single.model, single.acting
        self.options, self.t0, self.dt = single.options, single.t0, single.dt
        self.callbacks, self.index, self.batch = callbacks, index, batch
        constant = self.acting.constant
        self.row: int | None = None  # row of the series while inside its interval, end point included
        self.numbers: dict[str, Any] = {n: constant[n] for n in ("parameters", "gravity") if n in constant}

    def forces(self, t: float, q: Array, v: Array) -> dict[str, Any]:
        """The inputs at a time and state, by name: given numbers plus what the controls return."""
        names = ("tau", "f_ext", "kp", "kd", "setpoint")
        acting = {n: x for n, x in self.acting.constant.items() if n in names}
        for name, rows in self.acting.series.items():
            now = min(max(int((t - self.t0) / self.dt + 1e-9), 0), len(rows) - 1)
            acting[name] = rows[now if self.row is None else self.row]
        for number, function in enumerate(self.acting.functions):
            seen: dict[str, Any] = {"t": t, "q": q, "v": v}
            seen["tau"] = acting.get("tau", np.zeros(self.model.nv))
            for a in function.own_inputs:
                known = f"control{number}_{a.name}"
                if known in self.acting.constant:
                    seen[a.name] = self.acting.constant[known]
            results = function(
                self.model, **{a.name: seen[a.name] for a in function.own_inputs if a.name in seen}
            )
            results = tuple(results) if len(function.outputs) > 1 else (results,)
            for a, value in zip(function.outputs, results, strict=True):
                if a.name in names:
                    acting[a.name] = acting[a.name] + value if a.name in acting else value
        for name, callback in self.callbacks.items():
            try:
                value = np.asarray(callback(t, q, v), float)
            except Exception as error:
                said = "control" if name == "tau" else name
                raise SimulationError(
                    f"simulate: {said} raised {type(error).__name__} at t = {t:g} s: {error}"
                ) from error
            acting[name] = acting[name] + value if name in acting else value
        return acting

    def acceleration(self, t: float, q: Array, v: Array) -> Array:
        """The acceleration at a time and state."""
        acting = self.forces(t, q, v)
        servo = Servo.among(acting)
        tau = acting.get("tau", np.zeros(self.model.nv))
        tau = explicit(self.model, q, v, tau, servo, self.options["passive"], self.options["limits"])
        if not np.isfinite(tau).all():
            raise SimulationError(f"simulate: control gave NaN or infinity at t = {t:g} s")
        return of.forward_dynamics(self.model, q, v, tau, f_ext=acting.get("f_ext"), **self.numbers)


def _dopri5(
    system: System, t: float, end: float, q: Array, v: Array, tolerance: float, h: float
) -> Iterator[Step]:
    """Steps of the fifth-order Dormand-Prince method on the group, each accepted by its error estimate."""
    model = system.model
    first = system.acceleration(t, q, v)
    h = h or min(
        end - t,
        (tolerance ** (1 / 5))
        / (1.0 + float(np.abs(v).max(initial=0) + np.sqrt(np.abs(first).max(initial=0)))),
    )
    for _ in range(MOST_STEPS):
        if t >= end:
            return
        h = h if 1.000001 * h < end - t else end - t  # avoid a tiny last step left by rounding
        chart = group.chart(model, q, 3)
        U, A = [chart.rates(None, q, v)], [first]
        try:
            for c, row in zip(NODES[1:], COEFFICIENTS[1:]):
                u: Any = h * sum(w * x for w, x in zip(row, U))
                x = v + h * sum(w * a for w, a in zip(row, A))
                at = chart.position(u)
                A.append(system.acceleration(t + c * h, at, x))
                U.append(chart.rates(u, at, x))
            both = np.array([np.concatenate(pair) for pair in zip(U, A)])
            size = np.concatenate([np.ones(chart.width), 1.0 + np.maximum(np.abs(v), np.abs(x))])
            error = float(np.max(np.abs(h * ERROR @ both) / size, initial=0.0)) / tolerance
        except AssemblyError:  # the loops cannot close this far away: the step was too long
            error = np.inf
        if not error <= 1.0:
            if not h > 1e-14 * max(abs(t), end - t, 1e-300):
                yield _lost(t, q, v)
                return
            h *= 0.2 if not np.isfinite(error) else max(0.2, 0.9 * error**-0.2)
            continue
        yield Step(t, h, _dense(chart, v, h, both, (at, x)))
        t = end if h == end - t else t + h
        q, v, first = at, x, A[-1]
        h *= min(5.0, 0.9 * max(error, 1e-10) ** -0.2)
    raise SimulationError(f"simulate: dopri5 needs more than {MOST_STEPS} steps; use a larger tolerance")


def _lost(t: float, q: Array, v: Array) -> Step:
    """A failed step: all NaN."""
    return Step(t, 0.0, lambda s: (q * np.nan, v * np.nan))


def _dense(chart: Any, v: Array, h: float, rates: Array, end: tuple[Array, Array]) -> Any:
    def state(s: float) -> tuple[Array, Array]:
        if s == 1.0:
            return end
        change = h * (DENSE @ np.array([s, s**2, s**3, s**4])) @ rates
        return chart.position(change[: chart.width]), v + change[chart.width :]

    return state


def _scipy(method: str) -> Callable[..., Iterator[Step]]:
    """Steps of a SciPy solver, in the coordinates q; quaternions are renormalised."""
    solver = getattr(_needed(), method)

    def steps(
        system: System, t: float, end: float, q: Array, v: Array, tolerance: float, h: float
    ) -> Iterator[Step]:
        model = system.model

        def parts(y: Array) -> tuple[Array, Array]:
            return snapped(model, y[: model.nq]), y[model.nq :]

        def rate(t: float, y: Array) -> Array:
            at, x = parts(y)
            return np.concatenate([model.rate(at, x), system.acceleration(t, at, x)])

        work = solver(rate, t, np.concatenate([q, v]), end, rtol=max(tolerance, 3e-14), atol=tolerance)
        while work.status == "running":
            work.step()
            if work.status == "failed":
                yield _lost(t, q, v)
                return
            dense, begin, length = work.dense_output(), work.t_old, work.t - work.t_old
            yield Step(begin, length, lambda s, d=dense, b=begin, n=length: parts(d(b + s * n)))  # type: ignore[misc]

    return steps


def _needed() -> Any:
    try:
        return importlib.import_module("scipy.integrate")
    except ImportError:
        raise SimulationError(
            "SciPy's solvers need SciPy: pip install scipy; or use integrator='dopri5'"
        ) from None
