"""From an algorithm and a model to a kernel: the one place that sees robots and the compiler.

fast = kt.compile(kt.forward_dynamics, robot)      # the bare kernel: least overhead
a = fast(q, v, tau)
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from kinetree.arguments import wrong_shape
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.passes.simplify import simplify
from kinetree.compiler.runtime.artifact import Artifact
from kinetree.compiler.runtime.description import Core, Description
from kinetree.compiler.runtime.kernel import Kernel
from kinetree.compiler.runtime.source import source_digest
from kinetree.errors import CompileError, SingularError
from kinetree.interpreters import eager, looped, unrolled
from kinetree.interpreters.kinds import structure_of
from kinetree.model import Model, Node
from kinetree.model.canonical import canonical, depths
from kinetree.sweep import Algorithm
from kinetree.sweep.algorithm import REQUIRED

TARGETS = ("cpu",)
MODES = (None, "unrolled", "looped")

# Above this many operations a program keeps its loops, unless asked otherwise: unrolling no longer pays, and
# compiling it would take long.
UNROLLED_OPERATIONS = 25_000
# Above this many nodes, finding canonical frames would take longer than they save.
CANONICAL_NODES = 5_000


def compile(
    function: Any,
    model: Model,
    *,
    dtype: str = "float64",
    target: str = "cpu",
    inputs: Sequence[str] | None = None,
    mode: str | None = None,
    **options: Any,
) -> Kernel:
    """The kernel of a function for one model, called as `kernel(*arrays, out=None)`.

    Args:
        function: a function of a model, such as `kinetree.inverse_dynamics`.
        model: the robot.
        dtype: "float64" or "float32".
        target: "cpu".
        inputs: names of the inputs that calls will give; by default all that are not optional.
        mode: "unrolled", "looped", or None to choose by size.
        options: static options of the function (`frame="tool"`, ...).

    Returns:
        A kernel with `.ops`, `.source`, `.report()` and `.compile_seconds`.
    """
    algorithm: Algorithm = getattr(function, "algorithm", function)
    if not isinstance(algorithm, Algorithm):
        raise CompileError(
            f"compile: {function!r} is no function of a model; give one such as kinetree.inverse_dynamics"
        )
    if target not in TARGETS:
        raise CompileError(f"compile: unknown target {target!r}; choose from {', '.join(TARGETS)}")
    if not isinstance(model, Model):
        raise CompileError(f"compile: the model must be a kinetree Model, not a {type(model).__name__}")
    try:
        precision = str(np.dtype(dtype))
    except TypeError:
        precision = ""
    if precision not in ("float64", "float32"):
        raise CompileError(f"compile: dtype must be 'float64' or 'float32', not {dtype!r}")
    if mode not in MODES:
        raise CompileError(f"compile: mode must be 'unrolled', 'looped' or None, not {mode!r}")
    known = {a.name: a.optional for a in algorithm.inputs}
    names = (
        tuple(name for name, optional in known.items() if not optional) if inputs is None else tuple(inputs)
    )
    for name in names:
        if name not in known:
            raise CompileError(
                f"compile: {algorithm.name} has no input {name!r}; it takes {', '.join(known)}"
            )
    present = tuple(name for name, optional in known.items() if name in names or not optional)
    return kernel(algorithm, model, present, chosen(algorithm, options, "compile"), precision, mode)


def chosen(algorithm: Algorithm, options: dict[str, Any], caller: str) -> dict[str, Any]:
    """A value for every option of an algorithm: the given ones and the defaults."""
    for name in options:
        if name not in algorithm.options:
            known = f"it has {', '.join(algorithm.options)}" if algorithm.options else "it has none"
            raise CompileError(f"{caller}: {algorithm.name} has no option {name!r}; {known}")
    found = algorithm.options | options
    for name, value in found.items():
        if value is REQUIRED:
            raise CompileError(f"{caller}: {algorithm.name} needs the option {name!r}: give {name}=...")
    return found


def kernel_for(
    algorithm: Algorithm, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any]
) -> Kernel:
    """The kernel for arrays of floats; it computes in their common type."""
    kinds = [array.dtype for array in arrays.values()]
    dtype = "float32" if kinds and all(kind == np.float32 for kind in kinds) else "float64"
    return kernel(algorithm, model, tuple(arrays), options, dtype)


def kernel(
    algorithm: Algorithm,
    model: Model,
    present: tuple[str, ...],
    options: dict[str, Any],
    dtype: str,
    mode: str | None = None,
) -> Kernel:
    """The kernel for these inputs and options, made once for each model object."""
    kernels: dict = model.__dict__.setdefault("_kernels", {})
    key = (algorithm.text, present, tuple(sorted((k, _frozen(v)) for k, v in options.items())), dtype, mode)
    found = kernels.get(key)
    if found is None:
        found = kernels[key] = ModelKernel(algorithm, model, present, options, dtype, mode)
    return found


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class ModelKernel(Kernel):
    """The kernel of an algorithm for one model."""

    def __init__(
        self,
        algorithm: Algorithm,
        model: Model,
        present: tuple[str, ...],
        options: dict[str, Any],
        dtype: str,
        mode: str | None,
    ):
        key = _key(algorithm, model, present, options, mode)
        artifact = Artifact.find(key, dtype) if key is not None else None
        if artifact is None:
            started = time.perf_counter()
            program = optimize(trace(algorithm, model, present, options, mode))
            traced = time.perf_counter() - started
            inputs = {a.name: a for a in algorithm.inputs}
            description = Description.of(
                program,
                [inputs[name].sizes(model) for name in present],
                [a.sizes(model) for a in algorithm.outputs],
                dtype,
            )
            artifact = Artifact.of(program, description, key)
            artifact.seconds += traced
        super().__init__(artifact)
        self._made_of = (algorithm, model, present, options, dtype, mode)

    def __reduce__(self) -> tuple[Any, ...]:
        return kernel, self._made_of

    def wrong_shape(self, core: Core, shape: tuple[int, ...]) -> str:
        algorithm, model, *_ = self._made_of
        argument = next(a for a in algorithm.inputs if a.name == core.name)
        return wrong_shape(algorithm.name, model, argument, shape)

    def singular(self, index: tuple[int, ...], state: list[np.ndarray]) -> NoReturn:
        """Run the state again, eagerly, to find which joint it is."""
        algorithm, model, present, options, *_ = self._made_of
        values = {name: array.astype(float).tolist() for name, array in zip(present, state, strict=True)}
        where = f" in state {index[0] if len(index) == 1 else index}" if index else ""
        try:
            eager.run(algorithm, model, values, options)
        except SingularError as error:
            raise SingularError(
                f"{algorithm.name}: {error}{where and f' (Found{where} of the batch.)'}"
            ) from None
        raise SingularError(
            f"{algorithm.name}: the mass matrix of model {model.name!r} is numerically singular{where}"
        )


def trace(
    algorithm: Algorithm,
    model: Model,
    present: tuple[str, ...],
    options: dict[str, Any],
    mode: str | None = None,
) -> Program:
    """The simplified program of an algorithm for one model.

    Results that are functions of the coordinates alone are computed with canonical nodes. Quantities of pairs
    of bodies are traced in body frames and in a common frame; the program with fewer operations is kept.
    """
    if mode not in MODES:
        raise CompileError(f"compile: mode must be 'unrolled', 'looped' or None, not {mode!r}")
    model_digest(model)  # a model of symbols has none: CompileError
    nodes = model.nodes
    if algorithm.is_generalised and "f_ext" not in present and len(nodes) <= CANONICAL_NODES:
        nodes = canonical_nodes(model)
    if mode is None:
        mode = "unrolled" if _estimate(algorithm, model, nodes) < UNROLLED_OPERATIONS else "looped"
    if mode == "looped":
        frames = "common" if algorithm.pairs else "body"
        return simplify(looped.trace(algorithm, model, present, options, frames, nodes))
    programs = [
        simplify(unrolled.trace(algorithm, model, present, options, frames, nodes))
        for frames in (("body", "common") if algorithm.pairs else ("body",))
    ]
    return min(programs, key=lambda program: program.ops["flops"])


def canonical_nodes(model: Model) -> tuple[Node, ...]:
    """The canonical nodes of a model, made once."""
    found = model.__dict__.get("_canonical")
    if found is None:
        found = model.__dict__["_canonical"] = canonical(model.nodes)
    return found


def _estimate(algorithm: Algorithm, model: Model, nodes: Sequence[Node]) -> float:
    """Roughly how many operations the unrolled program would have (measured on the robots of the zoo)."""
    bodies = sum(len(node.members) for node in nodes)
    if not algorithm.pairs:
        return 400.0 * bodies
    order = max(len(a.shape) for a in algorithm.outputs)
    per_path = 60.0 if order == 2 else 15.0
    return 200.0 * bodies + per_path * sum(float(d) ** (order - 1) for d in depths(nodes))


@cache
def _source_state() -> str:
    """What the package's own files are: programs kept on disk are those of exactly this source."""
    return source_digest(Path(__file__).parent)


def _key(
    algorithm: Algorithm, model: Model, present: tuple[str, ...], options: dict, mode: str | None
) -> str | None:
    """A text that determines the program; None if that depends on the source of the user's own joints or
    algorithms.
    """
    kinds = structure_of(model, model.nodes, frozenset()).kinds
    parts = {type(member.joint) for kind in kinds for member in kind.sample.members}
    if any(part.__module__.partition(".")[0] != "kinetree" for part in (algorithm.text, *parts)):
        model_digest(model)  # a model of symbols has none: CompileError
        return None
    digest = hashlib.sha256()
    for part in (
        _source_state(),
        algorithm.name,
        present,
        sorted(options.items()),
        mode,
        model.gravity,
        model.nbodies,
    ):
        digest.update(repr(part).encode())
    digest.update(model_digest(model))
    return digest.hexdigest()


def model_digest(model: Model) -> bytes:
    """A hash of all numbers and of the structure of a model, made once."""
    found = model.__dict__.get("_digest")
    if found is None:
        digest = hashlib.sha256(structure_of(model, model.nodes, frozenset()).digest())
        for frame in model.frames:
            digest.update(repr((frame.name, frame.body, frame.placement.R, frame.placement.p)).encode())
        digest.update(repr((model.body_names, model.joint_names)).encode())
        found = model.__dict__["_digest"] = digest.digest()
    return found
