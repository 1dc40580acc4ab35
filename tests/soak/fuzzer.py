"""The differential fuzzer: a random tree, a random function, a random array layout, on all targets.

    python -m tests.soak.campaign fuzzer --count 1000      # fresh seeds; a failure prints how to repeat it
    python -m tests.soak.campaign fuzzer --seed 123456

A failure is reduced before it is reported: bodies, rotors, mimic joints and armatures are removed as long as
it still fails.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
from tests.reference.mechanism import ALL_TYPES, Mechanism
from tests.reference.random_mechanism import random_mechanism
from tests.soak.campaign import TooLongError
from tests.targets.cases import STATES, Case, Setting
from tests.targets.cases import allowed as tolerances
from tests.targets.execution import PRINTED

import kinetree as kt
from kinetree import functions
from kinetree.compiler.runtime import cuda
from kinetree.sweep import REGISTRY

COUNT = 10_000
BLOCK = 20
DIGITS = 50
TRUTH = 4.0  # how much farther from the exact result than from each other two correct evaluations may be
LIGHT = ("eager batch", "unrolled, all passes", "looped, all passes")
SKIPPED = {"articulated_wrenches", "hybrid_dynamics"}  # with many digits they take minutes


@dataclass(frozen=True)
class Trial:
    """One function of one mechanism."""

    mechanism: Mechanism
    name: str
    seed: int

    @staticmethod
    def random(seed: int) -> Trial:
        rng = np.random.default_rng(seed)
        types = tuple(rng.choice(ALL_TYPES, size=int(rng.integers(1, 5)), replace=False))
        most = 2 if is_light(seed) else 5
        return Trial(
            random_mechanism(rng, int(rng.integers(1, most + 1)), types=types),
            str(rng.choice(sorted(functions.SWEEPS))),
            seed,
        )

    def setting(self) -> Setting:
        case = Case(f"fuzzed {self.seed}", self.seed % 2**32, self.mechanism.build(), self.mechanism)
        return Setting(case, REGISTRY[self.name])

    def smaller(self) -> Iterator[Trial]:
        """The same trial with something removed, the largest removals first."""
        m = self.mechanism
        for k in range(len(m.rotors)):
            yield replace(self, mechanism=replace(m, rotors=m.rotors[:k] + m.rotors[k + 1 :]))
        for k in reversed(range(len(m.bodies))):
            followed = any(b.mimic is not None and b.mimic[0] == k for b in m.bodies)
            carries = any(b.parent == k for b in m.bodies) or any(r.body == k for r in m.rotors)
            if not followed and not carries and len(m.bodies) > 1:
                yield replace(self, mechanism=_without(m, k))
            body = m.bodies[k]
            for plain in (replace(body, armature=0.0), replace(body, mimic=None)):
                if plain != body and repr(plain) != repr(body):
                    yield replace(
                        self, mechanism=replace(m, bodies=(*m.bodies[:k], plain, *m.bodies[k + 1 :]))
                    )

    def __str__(self) -> str:
        bodies = ", ".join(
            f"{b.type} on {b.parent}{' mimics ' + str(b.mimic[0]) if b.mimic else ''}"
            for b in self.mechanism.bodies
        )
        return f"{self.name} of [{bodies}] with {len(self.mechanism.rotors)} rotors"


def _without(m: Mechanism, k: int) -> Mechanism:
    """The mechanism without its body k, which carries no other and is not followed by any joint."""

    def moved(i: int) -> int:
        return i - (i > k)

    bodies = tuple(
        replace(b, parent=moved(b.parent), mimic=b.mimic and (moved(b.mimic[0]), *b.mimic[1:]))
        for i, b in enumerate(m.bodies)
        if i != k
    )
    return Mechanism(bodies, tuple(replace(r, body=moved(r.body)) for r in m.rotors), m.gravity)


def is_light(seed: int) -> bool:
    """Trials with odd seeds take small trees and one target: a program printed as Python, or a batch."""
    return seed % 2 == 1


def check(trial: Trial) -> None:
    """Raise AssertionError if targets, layouts or many digits disagree on a trial."""
    setting = trial.setting()
    allowed = tolerances("compiled", setting.algorithm) if setting.algorithm.pairs else 1.0
    if is_light(trial.seed):
        target = LIGHT[trial.seed // 2 % len(LIGHT)]
        _close(setting, PRINTED[target](setting), allowed, target)
        return
    function, model = getattr(kt, trial.name), setting.model
    if trial.seed % 8 == 0 and trial.name not in SKIPPED:  # slow
        _close(setting, _many_digits(setting), TRUTH * allowed, f"eager beside {DIGITS} digits")
    rng = np.random.default_rng([trial.seed, 1])
    for mode in ("unrolled", "looped"):
        kernel = kt.compile(function, model, inputs=setting.present, mode=mode, **setting.options)
        plain = _tuple(kernel(*setting.inputs.values()))
        _close(setting, plain, allowed, mode)
        for layout in LAYOUTS:
            inputs = [LAYOUTS[layout](x, rng) for x in setting.inputs.values()]
            _same_bits(_tuple(kernel(*inputs)), plain, f"{mode}, {layout}")
        for k in range(STATES):
            single = _tuple(kernel(*(x[k] for x in setting.inputs.values())))
            _same_bits(single, tuple(part[k] for part in plain), f"{mode}, state {k} alone")
        if cuda.is_available():
            there = kt.compile(
                function, model, inputs=setting.present, mode=mode, target="cuda", **setting.options
            )
            _same_bits(_tuple(there(*setting.inputs.values())), plain, f"{mode}, CUDA")
    with_c = trial.seed % 16 == 2 and shutil.which("cc")  # a C compiler is slow
    for target in ("eager", "c") if with_c else ("eager",):
        found = _tuple(function(model, **setting.inputs, **setting.options, target=target))
        _close(setting, found, allowed, target)


def _close(setting: Setting, found: tuple, allowed: float, what: str) -> None:
    if setting.worst(found) > allowed:
        setting.look_closer()
    worst = setting.worst(found) / allowed
    assert worst <= 1, f"{what}: {worst:.3g} times what is allowed"


def _many_digits(setting: Setting) -> tuple[np.ndarray, ...]:
    with mpmath.workdps(DIGITS):
        exact = np.frompyfunc(mpmath.mpf, 1, 1)
        rows = [
            _tuple(
                getattr(kt, setting.algorithm.name)(
                    setting.model, **{k: exact(x[s]) for k, x in setting.inputs.items()}, **setting.options
                )
            )
            for s in range(STATES)
        ]
    return tuple(np.array([np.array(part, float) for part in parts]) for parts in zip(*rows, strict=True))


def _tuple(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def _same_bits(found: tuple, expected: tuple, what: str) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        same = np.asarray(ours).tobytes() == np.ascontiguousarray(theirs).tobytes()
        assert same, f"{what}: other bits"


def _strided(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same array with gaps between its elements."""
    wide = np.full(tuple(2 * n + 1 for n in x.shape), np.nan)
    view = wide[tuple(slice(0, 2 * n, 2) for n in x.shape)]
    view[...] = x
    return view


def _reversed(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same array, reversed in memory."""
    turn = tuple(slice(None, None, -1) for _ in x.shape)
    return x[turn].copy()[turn]


LAYOUTS: dict[str, Callable[[np.ndarray, np.random.Generator], Any]] = {
    "columns first": lambda x, rng: np.asfortranarray(x),
    "strided": _strided,
    "reversed": _reversed,
    "lists": lambda x, rng: x.tolist() if x.size else x,
    "swapped bytes": lambda x, rng: x.astype(x.dtype.newbyteorder()),
}


def shrink(found: list[tuple[Trial, str]]) -> None:
    """Append ever smaller failing trials to those found, each with its message."""
    for smaller in found[-1][0].smaller():
        try:
            check(smaller)
        except AssertionError as error:
            found.append((smaller, str(error)))
            return shrink(found)
        except kt.errors.KinetreeError:
            continue  # removed too much: no longer a mechanism


def trial(seed: int) -> str:
    """One trial; a failure is reduced as far as time allows."""
    trial = Trial.random(seed)
    try:
        check(trial)
    except AssertionError as error:
        found = [(trial, str(error))]
        with suppress(TooLongError):
            shrink(found)
        small, failure = found[-1]
        raise AssertionError(f"{failure}\n  {small}") from error
    except kt.errors.KinetreeError as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n  {trial}") from error
    return "light" if is_light(seed) else "full"
