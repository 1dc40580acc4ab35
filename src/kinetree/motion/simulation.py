"""A fixed-step simulation in progress: its records and how far it is."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from kinetree.errors import SimulationError
from kinetree.model import Model
from kinetree.motion.events import Events
from kinetree.motion.inputs import CORES, Acting
from kinetree.motion.progress import Progress
from kinetree.motion.rollout import ACTIONS, CONTACT, NEXT, OPTIONS, SATURATED, given_name, rollout
from kinetree.motion.run import LONG_PIECE, Run
from kinetree.motion.trajectory import Failure, Trajectory

Array = np.ndarray


class Simulation:
    """A run in progress: its records and how far it is."""

    def __init__(
        self,
        model: Model,
        q: Array,
        v: Array,
        batch: tuple[int, ...],
        acting: Acting,
        steps: int,
        settings: dict[str, Any],
        target: str,
    ):
        self.model, self.acting, self.steps, self.settings, self.batch = model, acting, steps, settings, batch
        self.record, self.dt, self.t0 = settings["record"], settings["dt"], settings["t0"]
        dtype = q.dtype
        options = {name: settings[name] for name in OPTIONS}
        self.engine = Run(model, acting, options, self.dt, self.t0, target, str(dtype))
        records = steps // self.record
        piece = 1 if batch else self.engine.piece(records, self.record, 1)
        rows = -(-records // piece) * piece + 1  # a single state has room for all records of its last piece
        self.room = np.empty((*batch, rows, model.nq), dtype), np.empty((*batch, rows, model.nv), dtype)
        self.q, self.v = (array[..., : records + 1, :] for array in self.room)
        self.q[..., 0, :], self.v[..., 0, :] = q, v
        self.shown: dict[str, Array] = {}
        self.saturated = np.zeros((records + 1, *batch, model.nv)) if self.engine.watched else None
        self.memory = {
            n: x for n, x in acting.constant.items() if n in rollout(tuple(acting.functions), 1, 1).memory
        }
        self.alive = np.ones(batch, bool)
        self.last = 0  # the last step of all states that have stopped
        self.failed: list[Failure] = []
        self.found: list[Any] = []
        self.done = 0
        self.interrupted = False

    # -- the loop

    def run(self, events: Events, bar: Progress) -> None:
        stepwise = bool(self.acting.callbacks) or bool(events)
        record = 1 if stepwise else divisor(self.record, LONG_PIECE)
        states = prod(self.batch)
        piece = 1 if self.acting.callbacks else self.engine.piece(self.steps // record, record, states)
        q, v = self.q[..., 0, :], self.v[..., 0, :]
        while self.done < self.steps and not self.over:
            if self.acting.callbacks and states:
                self._ask(q, v)
            found = self._piece(q, v, piece, record)
            count = min(piece, (self.steps - self.done) // record)
            self._check(q, v, found, count, record)
            if events:
                self._look(events, q, v, found, count)
            q, v = found["q"][..., count - 1, :], found["v"][..., count - 1, :]
            self.memory = {name: found[name + NEXT] for name in self.memory}
            self._keep(found, count, record)
            self.done += count * record
            bar.tell(self.done)

    @property
    def over(self) -> bool:
        """Whether all states have stopped."""
        return self.alive.size > 0 and not self.alive.any()

    def _piece(self, q: Array, v: Array, piece: int, record: int) -> dict[str, Array]:
        """The next records, written in place where possible."""
        first = self.done // self.record + 1
        direct = record == self.record and first + piece <= self.room[0].shape[-2]
        rows = slice(first, first + piece)
        places = [array[..., rows, :] for array in self.room] if direct else None
        return self.engine.advance(q, v, self.memory, self.done, piece, record, places=places)

    def _keep(self, found: dict[str, Array], count: int, record: int) -> None:
        """Store the records among the states of a piece."""
        stride = self.record // record
        first = self.done // self.record + 1
        offset = stride - 1 - (self.done % self.record) // record
        for name, place in (("q", self.q), ("v", self.v)):
            rows = found[name][..., offset:count:stride, :]
            if rows.shape[-2] and not np.may_share_memory(rows, place):
                place[..., first : first + rows.shape[-2], :] = rows
        if self.saturated is not None:
            rows = (self.done + record * np.arange(count)) // self.record
            np.add.at(self.saturated, rows, np.moveaxis(found[SATURATED], len(self.batch), 0)[:count])
        begin = -((self.done % self.record) // record) % stride
        at = (self.done + begin * record) // self.record
        for name, rows in found.items():
            if not name.startswith("control") or name.endswith(NEXT):
                continue
            rows = np.moveaxis(rows, len(self.batch), 0)[begin:count:stride]
            if name not in self.shown:
                self.shown[name] = np.full((self.q.shape[-2], *rows.shape[1:]), np.nan)
            self.shown[name][at : at + len(rows)] = rows

    def _ask(self, q: Array, v: Array) -> None:
        """Call the Python functions for the inputs of the next step."""
        t = self.t0 + self.dt * self.done
        q, v = read_only(q), read_only(v)
        for name, callback in self.acting.callbacks.items():
            said = "control" if name == "tau" else name
            core = (self.model.nv,) if name == "tau" else (self.model.nbodies, 6)
            try:
                value = np.asarray(callback(t, q, v), float)
            except (Exception, SystemExit) as error:
                raise SimulationError(
                    f"simulate: {said} raised {type(error).__name__} at t = {t:g} s: {error}"
                ) from error
            try:
                full = np.broadcast_to(value, (*self.batch, *core))
            except ValueError:
                raise SimulationError(
                    f"simulate: {said} gave an array of shape {value.shape} at t = {t:g} s, but "
                    f"{(*self.batch, *core)} is needed"
                ) from None
            bad = ~np.isfinite(full).reshape(*self.batch, -1).all(-1) & self.alive
            if bad.any():
                where = f" for state {tuple(map(int, np.argwhere(bad)[0]))}" if self.batch else ""
                raise SimulationError(f"simulate: {said} gave NaN or infinity at t = {t:g} s{where}")
            self.acting.constant[name] = np.where(
                self.alive.reshape(*self.batch, *(1,) * len(core)), full, 0.0
            )
            if self.done % self.record == 0:
                key = given_name(len(self.acting.functions), name)
                rows = self.shown.setdefault(key, np.full((self.q.shape[-2], *full.shape), np.nan))
                rows[self.done // self.record] = full

    def note(self, index: tuple[int, ...], rows: list[dict[str, Any]]) -> None:
        """Store what acted on one state at its records."""
        for k, row in enumerate(rows):
            for name, value in row.items():
                if name in self.acting.constant or name in self.acting.series:
                    continue
                core = np.shape(value)
                place = self.shown.setdefault(
                    given_name(0, name), np.full((self.q.shape[-2], *self.batch, *core), np.nan)
                )
                place[(k, *index)] = value

    def _check(self, q: Array, v: Array, found: dict[str, Array], count: int, record: int) -> None:
        """Find the states that did not reach the end of a piece, and stop them."""
        last = found["q"][..., count - 1, :], found["v"][..., count - 1, :]  # a lost state stays lost
        trusted = found["trust"] >= 1
        if trusted.all() and np.isfinite(last[0]).all() and np.isfinite(last[1]).all():
            return
        fine = np.isfinite(last[0]).all(-1) & np.isfinite(last[1]).all(-1)
        bad = self.alive & ~(fine & trusted)
        for place in map(tuple, np.argwhere(bad)):
            index = tuple(int(k) for k in place)
            failure = self.engine.explained(index, q[index], v[index], self.memory, self.done, count * record)
            if failure is None:
                continue
            self.failed.append(failure)
            self._stop(index, round((failure.time - self.t0) / self.dt), found, record)

    def _stop(self, index: tuple[int, ...], last: int, found: dict[str, Array], record: int) -> None:
        """Stop one state at step `last`."""
        self.ended(index, last)
        row = (last - self.done) // record
        for name in ("q", "v"):
            found[name][index][row:] = np.nan
        if self.saturated is not None:
            found[SATURATED][index][row:] = 0

    def ended(self, index: tuple[int, ...], last: int) -> None:
        """Remember that one state stopped at step `last`."""
        self.alive[index] = False
        self.last = max(self.last, last)

    def _look(self, events: Events, q: Array, v: Array, found: dict[str, Array], count: int) -> None:
        """Find the zeros of event functions in a piece; terminal ones stop their states."""
        times = self.t0 + self.dt * np.arange(self.done, self.done + count + 1)
        states = found["q"][..., :count, :], found["v"][..., :count, :]
        hits = events.between(times, q, v, *states, self.alive)
        for row, event in events.happened(hits, self.engine, self.memory, self.done):
            self.found.append(event)
            if event.terminal:
                self._stop(event.state, self.done + row, found, 1)

    # -- the result

    def trajectory(self) -> Trajectory:
        count = (self.last if self.over else self.done) // self.record + 1
        t = self.t0 + self.dt * (self.record * np.arange(count))
        rows = {name: x[:count] for name, x in self.shown.items()}
        for acted in rows.values():
            if count > 1 and not np.isfinite(acted[-1]).any():
                acted[-1] = acted[-2]  # nothing acts after the last record: repeat what acted before it
        extra = recorded(
            {name: np.moveaxis(x, 0, len(self.batch)) for name, x in rows.items()},
            self.acting, self.batch, count, self.record, self.steps,
        )  # fmt: skip
        if self.saturated is not None:
            extra[SATURATED] = np.moveaxis(self.saturated[:count], 0, len(self.batch))
        tau, f_ext = extra.pop("tau", None), extra.pop("f_ext", None)
        given = {n: self.acting.constant.get(n) for n in ("parameters", "gravity")}
        return Trajectory(
            self.model,
            t,
            self.q[..., :count, :],
            self.v[..., :count, :],
            tau,
            f_ext=f_ext,
            extra=extra,
            failed=tuple(sorted(self.failed, key=lambda f: (f.time, f.state))),
            events=tuple(sorted(self.found, key=lambda e: (e.time, e.state))),
            settings=self.settings,
            interrupted=self.interrupted,
            **given,
        )


def recorded(
    shown: dict[str, Array], acting: Acting, batch: tuple[int, ...], count: int, record: int, steps: int
) -> dict[str, Array]:
    """What acted from each record on, (..., records, ...): outputs of the controls, and given inputs."""
    totals: dict[str, Any] = {}

    def add(name: str, array: Array) -> None:
        totals[name] = totals[name] + array if name in totals else array

    for name, rows in shown.items():
        add(name.partition("_")[2], rows)
    for name, array in acting.series.items():
        core = 2 if name == "f_ext" else 1
        rows = np.minimum(np.arange(count) * record, steps - 1)
        add(name, _wide(np.take(array, rows, array.ndim - core - 1), batch, core + 1))
    for name in (*ACTIONS, *CONTACT):
        held = acting.constant.get(name)
        if held is not None and name not in acting.callbacks:
            core = CORES[name]
            row = np.expand_dims(held, held.ndim - core)
            add(name, _wide(np.repeat(row, count, held.ndim - core), batch, core + 1))
    return totals


def divisor(count: int, most: int) -> int:
    """The largest divisor of a number that does not exceed `most`."""
    return next(k for k in range(min(count, most), 0, -1) if count % k == 0)


def read_only(array: Array) -> Array:
    """A view that its user cannot write to."""
    view = array.view()
    view.flags.writeable = False
    return view


def _wide(array: Array, batch: tuple[int, ...], core: int) -> Array:
    return np.broadcast_to(array, batch + array.shape[array.ndim - core :])
