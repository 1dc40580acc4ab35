"""A job: one function of one model, with everything that determines its program."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize, without_garbage_collection
from kinetree.compiler.passes.split import PART_SIZE
from kinetree.compiler.runtime.source import source_digest
from kinetree.errors import ArgumentError, KinetreeError, ShapeError, SingularError
from kinetree.interpreters.kinds import structure_of
from kinetree.model import Model
from kinetree.stages.arguments import wrong_shape
from kinetree.stages.target import preferring

if TYPE_CHECKING:
    from kinetree.stages.function import Function


class Job:
    """A function, a model, the inputs that a caller gives, static options, precision and mode.

    Equal jobs have equal programs, so executables are cached by job.
    """

    __slots__ = ("_hash", "_shapes", "dtype", "function", "mode", "model", "options", "present")

    def __init__(
        self,
        function: Function,
        model: Model,
        present: tuple[str, ...],
        options: dict[str, Any],
        dtype: str = "float64",
        mode: str | None = None,
    ):
        self.function, self.model, self.present, self.dtype, self.mode = function, model, present, dtype, mode
        self.options = {name: _frozen(value) for name, value in options.items()}
        self._hash = hash((function, present, tuple(self.options.items()), dtype, mode))
        self._shapes: tuple[list[tuple[int, ...]], list[tuple[int, ...]]] | None = None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self._facts == other._facts

    @property
    def _facts(self) -> tuple:
        return self.function, self.present, self.options, self.dtype, self.mode, self.model

    def __reduce__(self) -> Any:
        return Job, (self.function, self.model, self.present, self.options, self.dtype, self.mode)

    @property
    def shapes(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The core shapes of the inputs and outputs."""
        if self._shapes is None:
            self._shapes = self.function.shapes(self.model, self.present, self.options)
        return self._shapes

    def lowered(self) -> Program:
        """The program as the function lowers it, before all passes."""
        return self.function.lower(self.model, self.present, self.options, self.mode)

    def program(self, part_size: int = PART_SIZE) -> Program:
        """The program after all passes, ready for a printer; `part_size` is that of the target."""
        with without_garbage_collection():
            return optimize(self.lowered(), part_size)

    @property
    def key(self) -> str | None:
        """A text that determines the program; None if that depends on foreign or unknown source."""
        model_digest(self.model)  # CompileError for a symbolic model
        kinds = structure_of(self.model, self.model.nodes, frozenset()).kinds
        parts = {type(member.joint) for kind in kinds for member in kind.sample.members}
        parts |= {value for value in self.options.values() if callable(value)}
        foreign = any((p.__module__ or "").partition(".")[0] != "kinetree" for p in (self.function, *parts))
        if foreign or _source() is None:
            return None
        facts = (self.function.identity, self.present, sorted(self.options.items()), self.mode)
        digest = hashlib.sha256(f"{_source()}{facts!r}".encode())
        digest.update(model_digest(self.model))
        return digest.hexdigest()

    def samples(self, count: int, seed: int = 0) -> list[np.ndarray]:
        """Valid states for trying a program: positions on their manifold, inertias near the model's."""
        rng = np.random.default_rng(seed)
        model = self.model
        found = []
        for argument in self.function.inputs:
            if argument.name not in self.present:
                continue
            shape = (count, *argument.sizes(model, self.options))
            if argument.shape == ("nq",):
                numbers = model.random_state(rng, count)[0]
            elif argument.name == "parameters":
                numbers = model.parameters * rng.uniform(0.8, 1.2, (count, 1, 1))
            elif argument.name in ("dt", "kp", "kd", "added"):  # steps are short, gains and masses positive
                numbers = rng.uniform(0.5, 1.5, shape) * (1e-3 if argument.name == "dt" else 1.0)
            else:
                numbers = rng.normal(size=shape)
            found.append(np.ascontiguousarray(numbers, self.dtype).reshape(shape))
        return found

    def checked(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """The arrays of a call on the host, checked: real numbers of the right shape; else ShapeError."""
        if len(arrays) != len(self.present):
            names = ", ".join(self.present)
            raise ArgumentError(f"{self.function.name} takes {names}, got {len(arrays)} arrays")
        found = [np.asarray(a) for a in arrays]
        for name, array, shape in zip(self.present, found, self.shapes[0], strict=True):
            if array.dtype.kind not in "fiub":
                raise ShapeError(
                    f"{self.function.name}: {name} holds {array.dtype} values, but real numbers are needed: "
                    "use target='eager' for other kinds"
                )
            if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
                raise ShapeError(self.wrong_shape(name, array.shape))
        return found

    def wrong_shape(self, name: str, shape: tuple[int, ...]) -> str:
        """The message about an argument of the wrong shape."""
        argument = next(a for a in self.function.inputs if a.name == name)
        return wrong_shape(self.function.name, self.model, argument, shape, self.options)

    def explain(self, index: Sequence[int], state: Sequence[np.ndarray]) -> NoReturn:
        """Raise the error for a state that machine code refused, by running it again eagerly."""
        name = self.function.name
        where = f" in state {index[0] if len(index) == 1 else tuple(index)}" if len(index) else ""
        arrays = {n: np.asarray(x, float) for n, x in zip(self.present, state, strict=True)}
        try:
            with preferring("eager"):
                self.function.evaluate(self.model, arrays, self.options)
        except KinetreeError as error:
            found = f" (Found{where} of the batch.)" if where else ""
            raise type(error)(f"{name}: {error}{found}") from None
        how = f" in {self.dtype}, though not in float64" if self.dtype == "float32" else ""
        raise SingularError(
            f"{name}: the mass matrix of model {self.model.name!r} is numerically singular{how}{where}"
        )


@cache
def _source() -> str | None:
    return source_digest(Path(__file__).parents[1])


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def model_digest(model: Model) -> bytes:
    """A hash of the structure and all numbers of a model, cached."""

    def make() -> bytes:
        digest = hashlib.sha256(structure_of(model, model.nodes, frozenset()).digest())
        for frame in model.frames:
            digest.update(repr((frame.name, frame.body, frame.placement.R, frame.placement.p)).encode())
        names = (model.body_names, model.joint_names)
        drives = [(b.damping, b.friction, b.stiffness, b.spring_reference, b.limits) for b in model.bodies]
        rotors = [(r.joint, r.axis, r.ratio) for r in model.rotors]
        loops = [(loop.name, *loop[1:]) for loop in model.loops]
        touching = [(*g, g.shape.size) for g in model.geometries], model.ground, model.pairs
        digest.update(repr((names, drives, rotors, model.gravity, loops, touching)).encode())
        return digest.digest()

    return model.memo("digest", make)
