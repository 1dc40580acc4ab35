"""Functions of a model as C99 source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.compiler.emit.c import c_source
from kinetree.errors import CompileError
from kinetree.kernels import chosen, trace
from kinetree.model import Model
from kinetree.sweep import Algorithm, Argument

SELF_TEST_STATES = 3


def export_c(
    functions: Sequence[Any],
    model: Model,
    directory: str | Path,
    *,
    prefix: str | None = None,
    dtype: str = "float64",
    mode: str | None = None,
    optional: Sequence[str] = (),
) -> list[Path]:
    """Write C99 code of functions for one model; the paths of the header, the source and a self-test.

    The code has no heap, no globals but constant tables, and names of the model only in escaped comments.
    Each function computes one state and returns 0, or 1 if the result cannot be trusted because inertia is
    singular.

    Args:
        functions: functions of a model, such as `[kinetree.inverse_dynamics]`, or pairs (function, options).
        model: the robot.
        directory: where the files go; made if it does not exist.
        prefix: of all names; the model's name by default.
        dtype: "float64" or "float32".
        mode: "unrolled", "looped", or None to choose by size.
        optional: inputs to take that may be left out, such as "f_ext", for the functions that have them.
    """
    rng = np.random.default_rng(0)
    programs, samples = [], {}
    for function in functions if isinstance(functions, (list, tuple)) else [functions]:
        function, options = function if isinstance(function, tuple) else (function, {})
        algorithm = getattr(function, "algorithm", function)
        if not isinstance(algorithm, Algorithm):
            raise CompileError(f"export_c: {function!r} is no function of a model like kinetree.mass_matrix")
        present = tuple(a.name for a in algorithm.inputs if not a.optional or a.name in optional)
        program = trace(algorithm, model, present, chosen(algorithm, options, "export_c"), mode)
        inputs = [a for a in algorithm.inputs if a.name in present]
        about = [[_about(a, model) for a in arguments] for arguments in (inputs, algorithm.outputs)]
        programs.append((algorithm.name, program, about[0], about[1]))
        samples[algorithm.name] = [_state(inputs, model, rng) for _ in range(SELF_TEST_STATES)]
    texts = c_source(programs, prefix or model.name, dtype, title=f"model {model.name}", samples=samples)
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, encoding="ascii")
        paths.append(path)
    return paths


def _about(argument: Argument, model: Model) -> str:
    sizes = " x ".join(map(str, argument.sizes(model))) or "1"
    return f"{argument.name}: {sizes}"


def _state(inputs: Sequence[Argument], model: Model, rng: np.random.Generator) -> list[np.ndarray]:
    """A valid state: positions on their manifold, everything else any number."""
    q, _ = model.random_state(rng)
    return [q if a.shape == ("nq",) else rng.normal(size=a.sizes(model)).ravel() for a in inputs]
