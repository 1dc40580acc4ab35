"""Wrong and odd arguments at the public boundary: the right numbers, or an error that says what is wrong.

A valid call of a random function is changed in one to three ways, each of which must be harmless (SAME), must
be refused (REFUSED), or may be either (EITHER). Results must equal those of plain Python for the same
numbers. Only a KinetreeError may be raised, or a TypeError that names the function or the argument, and
inputs must stay unchanged.
"""

from __future__ import annotations

import array
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from tests.targets.recipes import OPTIONS, POSITIVE

import kinetree as kt
from kinetree.errors import KinetreeError, SingularError, StateError
from kinetree.stages import Job
from kinetree.stages.function import Function

COUNT = 1_000_000
BLOCK = 2000  # trials per function and model with the same inputs, so that few programs are compiled
SAMPLES = 7  # sets of numbers and options in a block
SAME, EITHER, REFUSED = range(3)


@cache
def models() -> list[kt.Model]:
    """A few small models with quaternions, rotors, mimic joints, several roots, and no coordinates."""
    inertia = kt.Inertia(1.0, (0.1, 0.2, 0.3), ((0.4, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 0.6)))
    shift = kt.Pose(p=(0.1, 0.2, 0.3))

    def made(name: str, *joints: Any, **more: Any) -> kt.Model:
        builder = kt.ModelBuilder(name)
        for k, joint in enumerate(joints):
            parent = f"b{k - 1}" if k else "world"
            builder.add_body(f"b{k}", parent, joint, shift, inertia, **(more if k == 1 else {}))
        return builder.build()

    return [
        made("turns", kt.Revolute(), kt.Prismatic((1, 0, 0))),
        made("floats", kt.Free(), kt.Revolute((0, 1, 0)), damping=0.1),
        made("follows", kt.Spherical(), kt.Revolute(), kt.Revolute((1, 0, 0)), armature=0.2),
        made("rests", kt.Fixed()),
    ]


@cache
def functions() -> list[Function]:
    """The public functions of a model whose options are known."""
    found = [getattr(kt, name) for name in sorted(kt.__all__) if name != "nullify_momentum"]  # floating ones
    return [f for f in found if isinstance(f, Function) and f.options.keys() <= OPTIONS.keys()]


class Plain(np.ndarray):
    """A subclass that changes nothing."""


class Holder:
    """An object that converts to an array."""

    def __init__(self, value: np.ndarray):
        self.value = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.value, dtype)


@dataclass
class Call:
    """One call: its arguments, and the changes made so far."""

    model: Any
    function: Function
    given: dict[str, Any]
    options: dict[str, Any]
    extra: tuple = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    verdict: int = SAME
    changes: list[str] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)  # names of arrays changed already
    loose: bool = False  # single precision
    extreme: bool = False  # results may overflow or lose all digits: only success or failure is compared

    def run(self) -> Any:
        function, keywords = self.function, {**self.options, **self.keywords}
        return function(self.model, *self.extra, **self.given, **keywords)

    @property
    def names(self) -> set[str]:
        """The names that a useful message mentions."""
        words = {self.function.name, "model", "out", "target", *(a.name for a in self.function.inputs)}
        return words | set(self.function.options)


# -- changes to an array: name -> (new array, required outcome)


def _strided(x: np.ndarray) -> np.ndarray:
    if not x.ndim:
        return x
    wide = np.full(tuple(2 * n + 1 for n in x.shape), np.nan)
    view = wide[tuple(slice(0, 2 * n, 2) for n in x.shape)]
    view[...] = x
    return view


def _reversed(x: np.ndarray) -> np.ndarray:
    if not x.ndim:
        return x
    turn = tuple(slice(None, None, -1) for _ in x.shape)
    return x[turn].copy()[turn]


def _misaligned(x: np.ndarray) -> np.ndarray:
    buffer = np.zeros(x.nbytes + 1, np.uint8)
    view = np.ndarray(x.shape, x.dtype, buffer.data, 1)
    view[...] = x
    return view


def _with(number: float) -> Callable[[np.ndarray], np.ndarray]:
    def changed(x: np.ndarray) -> np.ndarray:
        y = x.copy()
        if y.size:
            y.flat[y.size // 2] = number
        return y

    return changed


def _read_only(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y.flags.writeable = False
    return y


def _objects(*odd: Any) -> Callable[[np.ndarray], np.ndarray]:
    def changed(x: np.ndarray) -> np.ndarray:
        y = x.astype(object)
        for place, value in zip(np.ndindex(y.shape), odd):
            y[place] = value
        return y

    return changed


def _masked(x: np.ndarray) -> Any:
    return np.ma.MaskedArray(x.copy(), mask=np.arange(x.size).reshape(x.shape) == x.size // 2)


ARRAYS: dict[str, tuple[Callable[[np.ndarray], Any], int]] = {
    "columns first": (np.asfortranarray, SAME),
    "strided": (_strided, SAME),
    "reversed": (_reversed, SAME),
    "misaligned": (_misaligned, SAME),
    "read-only": (_read_only, SAME),
    "lists": (lambda x: x.tolist() if x.size else x, SAME),
    "a tuple": (lambda x: tuple(x.tolist()) if x.ndim and x.size else x, SAME),
    "swapped bytes": (lambda x: x.astype(x.dtype.newbyteorder()), SAME),
    "a subclass": (lambda x: x.view(Plain), SAME),
    "an object that becomes an array": (Holder, SAME),
    "masked nowhere": (lambda x: np.ma.MaskedArray(x), SAME),
    "memoryview": (lambda x: memoryview(np.ascontiguousarray(x)) if x.size else x, SAME),
    "array.array": (lambda x: array.array("d", x.tolist()) if x.ndim == 1 else x, SAME),
    "a batch of one": (lambda x: x[None], EITHER),
    "broadcast": (lambda x: np.broadcast_to(x, (3, *x.shape)), EITHER),
    "an empty batch": (lambda x: np.zeros((0, *x.shape)), EITHER),
    "a matrix": (lambda x: np.matrix(x) if x.ndim <= 2 else x, EITHER),
    "long double": (lambda x: x.astype(np.longdouble), EITHER),
    "float32": (lambda x: x.astype(np.float32), EITHER),
    "float16": (lambda x: x.astype(np.float16), EITHER),
    "int8": (lambda x: x.astype(np.int8), EITHER),
    "uint64": (lambda x: np.abs(x).astype(np.uint64), EITHER),
    "bool": (lambda x: x > 0, EITHER),
    "complex": (lambda x: x.astype(complex), EITHER),
    "floats as objects": (_objects(), EITHER),
    "NaN": (_with(np.nan), EITHER),
    "infinity": (_with(-np.inf), EITHER),
    "huge": (_with(1e300), EITHER),
    "tiny": (_with(5e-324), EITHER),
    "minus zero": (_with(-0.0), EITHER),
    "one number less": (lambda x: x[..., :-1] if x.ndim and x.shape[-1] else np.zeros((9, 9)), EITHER),
    "one axis less": (lambda x: x.ravel()[0] if x.size else np.zeros(()), EITHER),
    "transposed": (lambda x: x.T, EITHER),
    "masked": (lambda x: _masked(x) if x.size else "masked", REFUSED),
    "text": (lambda x: "0.3", REFUSED),
    "texts": (lambda x: x.astype(str) if x.size else "no", REFUSED),
    "bytes": (lambda x: b"123", REFUSED),
    "dates": (lambda x: x.astype("datetime64[s]") if x.size else {}, REFUSED),
    "records": (lambda x: np.zeros(x.shape, [("a", float)]), REFUSED),
    "a dict": (lambda x: {"joint": 0.1}, REFUSED),
    "a set": (lambda x: {0.1, 0.2}, REFUSED),
    "an object": (lambda x: object(), REFUSED),
    "a generator": (lambda x: (float(k) for k in range(3)), REFUSED),
    "a function": (lambda x: len, REFUSED),
    "None in objects": (lambda x: _objects(None)(x) if x.size else None.__class__, REFUSED),
    "text in objects": (lambda x: _objects("1")(x) if x.size else "text", REFUSED),
    "a list in objects": (lambda x: _objects([1])(x) if x.size else [[1], [1, 2]], REFUSED),
    "ragged": (lambda x: [[1.0], [1.0, 2.0]], REFUSED),
}


def change_an_array(call: Call, chance: random.Random) -> None:
    plain = [n for n, value in call.given.items() if value is not None and n not in call.touched]
    if not plain:
        return
    name, how = chance.choice(plain), chance.choice(list(ARRAYS))
    become, verdict = ARRAYS[how]
    call.touched.add(name)
    call.given[name] = become(call.given[name])
    call.verdict = max(call.verdict, verdict)
    call.changes.append(f"{name}: {how}")
    call.loose |= how == "float32"
    call.extreme |= how in ("huge", "tiny")


# -- changes to the rest of a call

ODD: list[Any] = ["nonsense", "", 7, 1.5, (), ("nonsense",), {}, object(), b"body", np.nan, "x" * 10**5, True]


def change_an_option(call: Call, chance: random.Random) -> None:
    names = [name for name in call.options if name not in call.touched]
    if not names:
        return
    name = chance.choice(names)
    call.touched.add(name)
    value = chance.choice(ODD)
    several = name in ("frames", "accelerate")
    call.options[name] = value
    call.verdict = max(call.verdict, EITHER if several and value in ((), {}, "") else REFUSED)
    call.changes.append(f"{name}={str(value)[:20]!r}")


def change_the_model(call: Call, chance: random.Random) -> None:
    call.model = chance.choice([None, "arm", kt.Model, object(), 3, np.zeros(3), [call.model]])
    call.verdict = REFUSED
    call.changes.append(f"model={type(call.model).__name__}")


def change_the_names(call: Call, chance: random.Random) -> None:
    needed = [a.name for a in call.function.inputs if not a.optional and a.name in call.given]
    how = chance.choice(["unknown", "too many", "target", "missing"] if needed else ["unknown", "target"])
    if how == "unknown":
        call.keywords[chance.choice(["Q", "qdot", "dt", "mode", ""])] = 1.0
    elif how == "too many":
        call.extra = tuple(np.zeros(3) for _ in range(20))
    elif how == "missing":
        call.given[chance.choice(needed)] = None
    else:
        call.keywords["target"] = chance.choice(["nonsense", "", 3, b"cpu", ("cpu",), ["cpu"], {}])
    call.verdict = REFUSED
    call.changes.append(how)


def change_the_results(call: Call, chance: random.Random) -> None:
    """With `out=`, right or wrong. The shapes are those of the call before it was changed."""
    sizes = tuple((name, x.shape) for name, x in call.given.items())
    shapes = call.model.memo(
        ("shapes", call.function, sizes, str(call.options)),
        lambda: [np.shape(r) for r in _parts(expected(call))],
    )
    how = chance.choice(list(OUTS))
    make, verdict = OUTS[how]
    outs = [make(np.full(shape, 77.0)) for shape in shapes]
    call.keywords["out"] = outs[0] if len(outs) == 1 and how != "a tuple" else tuple(outs)
    call.verdict = max(call.verdict, verdict)
    call.changes.append(f"out: {how}")


OUTS: dict[str, tuple[Callable[[np.ndarray], Any], int]] = {
    "right": (lambda x: x, SAME),
    "a tuple": (lambda x: x, SAME),
    "columns first": (lambda x: np.asfortranarray(x) if x.ndim else x, SAME),
    "strided": (_strided, SAME),
    "reversed": (_reversed, SAME),
    "misaligned": (_misaligned, SAME),
    "float32": (lambda x: x.astype(np.float32), EITHER),
    "integers": (lambda x: x.astype(int), REFUSED),
    "texts": (lambda x: x.astype(str), REFUSED),
    "read-only": (_read_only, REFUSED),
    "a longer batch": (lambda x: np.zeros((7, *x.shape)), EITHER),
    "one axis less": (lambda x: np.zeros(x.shape[1:]) if x.ndim else "none", REFUSED),
    "a list": (lambda x: x.tolist(), REFUSED),
    "text": (lambda x: "out", REFUSED),
}

CHANGES = (*[change_an_array] * 6, change_an_option, change_an_option, change_the_model, change_the_names)
TARGETS = (None, None, None, None, "cpu", "eager")


def numbers(
    function: Function, model: kt.Model, present: tuple[str, ...], seed: list[int]
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Options of a function, and four states for it."""

    def made() -> Any:
        rng = np.random.default_rng(seed)
        options = {name: OPTIONS[name](model, rng) for name in function.options}
        return options, Job(function, model, present, options).samples(4)

    return model.memo(("numbers", function, present, *seed), made)


def start(seed: int, chance: random.Random) -> Call:
    """A valid call."""
    pairs = len(models()) * len(functions())
    model, number = divmod(seed // BLOCK % pairs, len(functions()))
    model, function = models()[model], functions()[number]
    shared = random.Random(seed // BLOCK)
    optional = [a.name for a in function.inputs if a.optional and shared.random() < 0.2]
    present = function.present(optional)
    batch = chance.choice([(), (), (1,), (4,), (2, 2)])
    options, samples = numbers(function, model, present, [seed % BLOCK % SAMPLES, number])
    given = {}
    for name, value in zip(present, samples, strict=True):
        one = () if chance.random() < 0.2 else batch
        value = np.abs(value) if name in POSITIVE else value
        given[name] = value[: int(np.prod(one))].reshape(*one, *value.shape[1:]).copy()
    call = Call(model, function, given, dict(options))
    target = chance.choice(TARGETS)
    if target:
        call.keywords["target"] = target
    return call


known: dict[Any, Any] = {}


def expected(call: Call) -> Any:
    """The result of plain Python for the same numbers, as plain arrays."""
    given = {}
    for name, value in call.given.items():
        x = np.asarray(value)
        given[name] = np.array(x, complex if x.dtype.kind == "c" else float)
    inputs = ((name, x.dtype, x.shape, x.tobytes()) for name, x in given.items())
    key = (call.function, call.model.name, str(call.options), *inputs)
    if key not in known:
        if len(known) >= BLOCK:
            known.clear()
        known[key] = call.function(call.model, **given, **call.options, target="eager")
    return known[key]


def _parts(value: Any) -> tuple:
    return tuple(value) if isinstance(value, tuple) else (value,)


def trial(seed: int) -> str:
    chance = random.Random(seed)
    call = start(seed, chance)
    if chance.random() < 0.25:
        change_the_results(call, chance)
    for _ in range(chance.choice((1, 1, 2, 3))):
        chance.choice(CHANGES)(call, chance)
    arrays = {k: v for k, v in call.given.items() if isinstance(v, np.ndarray) and v.dtype.kind in "fiubc"}
    kept = {k: v.copy() for k, v in arrays.items()}
    what = f"{call.function.name} of {getattr(call.model, 'name', '?')!r}, {'; '.join(call.changes)}"
    try:
        found = _parts(call.run())
    except (KinetreeError, TypeError) as error:
        text = str(error)
        assert any(name in text for name in call.names), f"{what}: {type(error).__name__}: {text!r}"
        physical = isinstance(error, (StateError, SingularError))
        assert call.verdict or physical, f"{what}: refused: {type(error).__name__}: {text}"
        return "refused"
    nothing = all(np.size(part) == 0 for part in found)  # an empty batch does not notice a wrong option
    assert call.verdict != REFUSED or nothing, f"{what}: accepted, with {found!r:.200}"
    for name, value in kept.items():
        assert np.array_equal(value, call.given[name], equal_nan=True), f"{what}: changes {name}"
    if call.verdict != REFUSED:
        compare(found, call, what)
    return "right"


def compare(found: tuple, call: Call, what: str) -> None:
    try:
        truth = _parts(expected(call))
    except (SingularError, StateError):  # hidden by NaN or infinity, or by an empty batch
        unseen = all(part.size == 0 or np.isnan(part).any() for part in map(np.asarray, found))
        assert unseen, f"{what}: plain Python refuses it"
        return
    assert len(found) == len(truth), what
    for ours, exact in zip(found, truth, strict=True):
        ours, exact = np.asarray(ours), np.asarray(exact)
        if "out: a longer batch" in call.changes:
            exact = np.broadcast_to(exact, ours.shape)
        assert ours.shape == exact.shape, f"{what}: shape {ours.shape}, not {exact.shape}"
        if call.extreme:
            continue
        ours = ours.astype(complex if ours.dtype.kind in "Oc" else float)
        assert np.array_equal(np.isnan(ours), np.isnan(exact)), f"{what}: NaN where there should be none"
        single = call.loose or "out: float32" in call.changes
        scale = 1.0 + float(np.abs(exact[np.isfinite(exact)]).max(initial=0.0))
        away = float(np.abs(ours - exact)[np.isfinite(exact)].max(initial=0.0))
        assert away <= (1e-3 if single else 1e-9) * scale, f"{what}: off by {away / scale:.1e}"
