"""Functions of a model as C99: files to ship (`export_c`), or compiled and called here, to check them."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.compiler.emit.c import c_source, comment_text, identifier
from kinetree.compiler.emit.c_cmake import cmake as cmake_text
from kinetree.compiler.emit.c_function import STACK
from kinetree.errors import CompileError
from kinetree.model import Model
from kinetree.stages.arguments import chosen
from kinetree.stages.batches import batch_of, delivered
from kinetree.stages.function import Function
from kinetree.stages.job import Job
from kinetree.stages.target import Target
from kinetree.sweep.signature import Argument
from kinetree.sweep.vocabulary import meaning

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
    stack: int = STACK,
    cmake: bool = False,
) -> list[Path]:
    """Write C99 code of functions for one model; returns the paths of the header, the source and a self-test.

    The code has no heap, no globals except constant tables, and names of the model only in escaped comments.
    Each function computes one state and returns 0, or 1 if the result cannot be trusted because inertia is
    singular. Arguments keep their names, matrices are stored by rows, and the header says where each joint is
    in q and v and defines the sizes `<PREFIX>_NQ`, `_NV` and `_NB`.

    Args:
        functions: functions of a model, such as `[kinetree.inverse_dynamics]`, or pairs (function, options).
        model: the robot.
        directory: where the files go; created if it does not exist.
        prefix: of all names; the model's name by default.
        dtype: "float64" or "float32".
        mode: "unrolled", "looped", or None to choose by size.
        optional: optional inputs to include, such as "f_ext" or "parameters", for the functions that have
            them.
        stack: bytes of local arrays in a function; if it needs more, it takes memory as an argument `work`.
        cmake: also write a CMakeLists.txt that builds a static library and runs the self-test.
    """
    jobs = []
    for entry in functions if isinstance(functions, (list, tuple)) else [functions]:
        function, options = entry if isinstance(entry, tuple) else (entry, {})
        if not isinstance(function, Function):
            raise CompileError(
                f"export_c: {function!r} is not a model function; give one such as kinetree.mass_matrix"
            )
        present = function.present(optional)
        jobs.append(Job(function, model, present, chosen(function, options, "export_c"), dtype, mode))
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    texts = files(jobs, prefix or model.name, stack)
    if cmake:
        name = identifier(prefix or model.name)
        texts["CMakeLists.txt"] = cmake_text(name, comment_text(f"model {model.name}"))
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, encoding="ascii")
        paths.append(path)
    return paths


def files(jobs: Sequence[Job], prefix: str, stack: int = STACK) -> dict[str, str]:
    """The texts of the C files of some jobs for one model, by name."""
    programs, samples = [], {}
    model = jobs[0].model if jobs else None
    for job in jobs:
        inputs = [a for a in job.function.inputs if a.name in job.present]
        about = [[_about(a, job) for a in side] for side in (inputs, job.function.outputs)]
        programs.append((job.function.name, job.program(C.part_size), about[0], about[1]))
        states = job.samples(SELF_TEST_STATES)
        samples[job.function.name] = [[x[k].ravel() for x in states] for k in range(SELF_TEST_STATES)]
    return c_source(
        programs,
        prefix,
        jobs[0].dtype if jobs else "float64",
        title=f"model {model.name}" if model else "",
        samples=samples,
        constants={"NQ": model.nq, "NV": model.nv, "NB": model.nbodies} if model else {},
        notes=_order(model) if model else (),
        stack=stack,
    )


def _about(argument: Argument, job: Job) -> str:
    """The shape and the meaning of an argument."""
    sizes = argument.sizes(job.model, job.options)
    about = meaning(argument.name) if len(sizes) < 2 or argument in job.function.inputs else ""
    shape = f"{' x '.join(map(str, sizes))}, by rows" if len(sizes) > 1 else ""
    return "; ".join(part for part in (shape, about) if part).replace("/", " per ")


def _order(model: Model) -> list[str]:
    """Where the coordinates of each joint are."""
    lines = ["", "Where the joints stand in q and v:"]
    for body in model.bodies:
        q, v = model.position_index(body.joint_name), model.coordinate_index(body.joint_name)
        if v.stop > v.start:
            lines.append(f"  q{_places(q)} v{_places(v)}  {body.joint_name} ({body.joint.type_name})")
        elif body.mimic is not None:
            lines.append(f"  none  {body.joint_name} follows {body.mimic.joint}")
        elif q.stop > q.start:
            lines.append(f"  q{_places(q)}  {body.joint_name} ({body.joint.type_name}), which a loop moves")
    return lines


def _places(index: slice) -> str:
    last = index.stop - 1
    return f"[{index.start}]" if last == index.start else f"[{index.start}..{last}]"


class C(Target):
    """C99, compiled by the system's C compiler and called one state at a time, to check what is shipped."""

    name = "c"
    part_size = 0  # values that cross a cut would need memory from the caller

    def executable(self, job: Job) -> Callable[..., Any]:
        return job.model.memo((self, job), lambda: Library(job))


def shared_library(source: Path, name: str, what: str) -> Path:
    """Compile a C file to a shared library beside it, with the system's C compiler.

    `name` of the function and `what` needs the compiler are for error messages.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise CompileError(
            f"{what} needs a C compiler (cc, gcc or clang) on the path to run the code; "
            "kinetree.export_c writes it without one"
        )
    built = source.with_suffix(".so")
    command = [compiler, "-std=c99", "-O1", "-ffp-contract=off", "-fPIC", "-shared"]
    run = subprocess.run([*command, str(source), "-o", str(built), "-lm"], capture_output=True, text=True)
    if run.returncode:
        raise CompileError(f"the C compiler refused the code of {name}: {run.stderr}")
    return built


class Library:
    """The shared library of one function, called as `library(*arrays, out=None)`."""

    def __init__(self, job: Job):
        self.job = job
        self.files = files([job], "robot")
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.files.items():
                Path(folder, name).write_text(text, encoding="ascii")
            built = shared_library(Path(folder, "robot.c"), job.function.name, "target 'c'")
            self._library = ctypes.CDLL(str(built))
        self._call = self._library[f"robot_{job.function.name}"]
        length = re.search(r"_WORK (\d+)", self.files["robot.h"])
        self._work = np.empty(int(length.group(1)) if length else 0, job.dtype)

    def __reduce__(self) -> Any:
        return Library, (self.job,)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        job = self.job
        given = dict(zip(job.present, job.checked(arrays), strict=True))
        batch, cores = batch_of(job.function, job.model, given, job.options)
        sources = [
            np.ascontiguousarray(np.broadcast_to(a, batch + a.shape[a.ndim - cores[n] :]), job.dtype)
            for n, a in given.items()
        ]
        results = [np.empty(batch + shape, job.dtype) for shape in job.shapes[1]]
        for index in np.ndindex(batch):
            state = [np.ascontiguousarray(source[index]) for source in sources]
            rows = [np.atleast_1d(np.empty(shape, job.dtype)) for shape in job.shapes[1]]
            work = [self._work] if self._work.size else []
            if self._call(*(ctypes.c_void_p(a.ctypes.data) for a in (*state, *rows, *work))):
                job.explain(index, state)
            for result, row in zip(results, rows, strict=True):
                result[index] = row.reshape(result[index].shape)
        return delivered(job.function.name, results, out)
