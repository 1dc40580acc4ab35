"""Exported C of every function under the address and undefined-behaviour sanitizers, and under valgrind.

A trial is one function of one small random tree, unrolled or looped; its self-test must pass without any
report.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from tests.targets.cases import tree
from tests.targets.recipes import OPTIONS

import kinetree as kt
from kinetree.errors import CompileError, ModelError
from kinetree.stages.function import Function

BLOCK = 4
LIMIT = 600.0
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
SANITIZED = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
VALGRIND = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", "--track-origins=yes"]
SEEDS = (3, 12, 25, 34, 46, 58, 71, 86)


@cache
def functions() -> list[Function]:
    """The public functions of a model whose options are known."""
    found = [getattr(kt, name) for name in sorted(kt.__all__)]
    return [f for f in found if isinstance(f, Function) and f.options.keys() <= OPTIONS.keys()]


COUNT = 2 * len(functions())


def trial(seed: int) -> str:
    number, mode = divmod(seed % COUNT, 2)
    with tempfile.TemporaryDirectory(prefix="kinetree-soak-") as place:
        folder = Path(place)
        _export(functions()[number], ("unrolled", "looped")[mode], seed, folder)
        _run(folder, ["gcc", *WARNINGS, *SANITIZED, "t.c", "t_selftest.c", "-o", "sanitized", "-lm"])
        _run(folder, ["./sanitized"])
        if shutil.which("valgrind") is None:
            return "clean without valgrind"
        _run(folder, ["gcc", "-std=c99", "-O1", "-g", "t.c", "t_selftest.c", "-o", "plain", "-lm"])
        _run(folder, [*VALGRIND, "./plain"])
    return "clean"


def _export(function: Function, mode: str, seed: int, folder: Path) -> None:
    """Export the function of one of the trees, or of the next one that has what it needs."""
    optional = [a.name for a in function.inputs if a.optional and (seed // COUNT) % 2]
    for k in range(len(SEEDS)):
        model = tree(SEEDS[(seed + k) % len(SEEDS)], 2).model
        options = {name: OPTIONS[name](model, np.random.default_rng(seed)) for name in function.options}
        with suppress(CompileError, ModelError):
            kt.export_c([(function, options)], model, folder, prefix="t", mode=mode, optional=optional)
            return
    raise AssertionError(f"{function.name} can be exported for none of the trees")


def _run(folder: Path, command: list[str]) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
