"""Exported C: every algorithm on random trees, unrolled and looped, equals plain Python.

Compiled without a warning, free of heap and globals, clean under the address and undefined-behaviour
sanitizers.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.conftest import scale, share
from tests.targets.cases import COMMON, STATES, Setting, motionless, robot, tree

import kinetree as kt
from kinetree import functions
from kinetree.sweep import REGISTRY

assert functions  # importing it fills the registry
NAMES = sorted(REGISTRY)
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

#: Trees with joints of all types, a model without coordinates, rotors and mimic joints among them.
SEEDS = (3, 7, 12, 25, 34, 46, 58, 71, 86, 99, 113, 128)[: 6 if scale() < 1 else 12]
SHARES = 6  # each library holds one share of the algorithms
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


class Library(NamedTuple):
    """The exported code of one model: where it is, the prefix of its names, and what it should compute."""

    folder: Path
    prefix: str
    settings: list[Setting]


def contents(mode: str) -> list[tuple[int, int, list[str]]]:
    """The libraries of a mode: number, seed of the tree, algorithms."""
    shift = mode == "looped"
    return [(k, seed, NAMES[(k + shift) % SHARES :: SHARES]) for k, seed in share(enumerate(SEEDS), 2)]


@pytest.fixture(scope="module", params=["unrolled", "looped"])
def libraries(request, tmp_path_factory) -> list[Library]:
    """All algorithms, spread over small trees, each tree as one export."""
    mode, found = request.param, []
    for k, seed, names in contents(mode):
        case = tree(seed, 2)
        settings = [Setting(case, REGISTRY[name], optional=False) for name in names]
        folder = tmp_path_factory.mktemp(f"{mode}{k}")
        pairs = [(getattr(kt, s.algorithm.name), s.options) for s in settings]
        kt.export_c(pairs, case.model, folder, prefix=f"t{k}", mode=mode)
        found.append(Library(folder, f"t{k}", settings))
    return found


def gcc(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["gcc", *WARNINGS, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


def work_length(library: Library, name: str) -> int:
    """The length of the work array that a function wants from its caller, 0 if none."""
    symbol = f"{library.prefix}_{name}".upper()
    found = re.search(rf"#define {symbol}_WORK (\d+)", (library.folder / f"{library.prefix}.h").read_text())
    return int(found[1]) if found else 0


def call(code: ctypes.CDLL, library: Library, s: Setting) -> tuple[np.ndarray, ...]:
    """One exported function for all states."""
    sizes = [a.sizes(s.model) for a in s.algorithm.outputs]
    outputs = [np.full((STATES, *size), 77.0) for size in sizes]
    work = np.zeros(work_length(library, s.algorithm.name))
    inputs = [np.ascontiguousarray(x) for x in s.inputs.values()]
    for k in range(STATES):
        arrays = [x[k : k + 1] for x in (*inputs, *outputs)] + ([work] if work.size else [])
        status = code[f"{library.prefix}_{s.algorithm.name}"](
            *(ctypes.c_void_p(a.ctypes.data) for a in arrays)
        )
        assert status == 0, str(s)
    return tuple(outputs)


def test_equals_plain_python_and_uses_neither_heap_nor_globals(libraries):
    wrong = []
    for library in libraries:
        name = library.prefix
        gcc(library.folder, "-O1", "-fPIC", "-c", f"{name}.c", "-o", "code.o")
        check_symbols(library)
        gcc(library.folder, "-shared", "code.o", "-o", f"{name}.so", "-lm")
        code = ctypes.CDLL(str(library.folder / f"{name}.so"))
        for s in library.settings:
            worst = s.worst(call(code, library, s))
            if worst > (COMMON if s.algorithm.pairs else 1.0):
                wrong.append(f"{s}: off by {worst:.3g} tolerances")
    assert not wrong, "\n".join(wrong)


def test_self_tests_under_sanitizers(libraries):
    for library in libraries if scale() > 1 else libraries[::6]:
        name = library.prefix
        gcc(library.folder, *SANITIZERS, f"{name}.c", f"{name}_selftest.c", "-o", "selftest", "-lm")
        done = subprocess.run(["./selftest"], cwd=library.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"0 of {len(library.settings)} functions failed" in done.stdout


def check_symbols(library: Library) -> None:
    """Nothing is called but mathematics, and no variable outlives a call."""
    known = {
        "sin",
        "cos",
        "sincos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sqrt",
        "log",
        "exp",
        "fma",
        "fmin",
    }
    known |= {"fmax", "fabs", "memset", "memcpy", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
    done = subprocess.run(["nm", "code.o"], cwd=library.folder, capture_output=True, text=True, check=True)
    symbols = [line.split()[-2:] for line in done.stdout.splitlines()]
    assert {name for kind, name in symbols if kind == "U"} <= known
    assert not [name for kind, name in symbols if kind in "BbDdCc"]
    public = {name for kind, name in symbols if kind == "T"}
    assert public == {f"{library.prefix}_{s.algorithm.name}" for s in library.settings}


def test_together_they_hold_every_algorithm():
    held = [name for mode in ("unrolled", "looped") for _, _, names in contents(mode) for name in names]
    assert set(held) == set(NAMES)


@pytest.mark.parametrize("name", ["arm7", "spacecraft"])
def test_robots(name, tmp_path):
    """Larger functions, in single and double precision, clean under the sanitizers too."""
    chosen = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "center_of_mass"]
    for dtype in ("float64", "float32"):
        kt.export_c([getattr(kt, f) for f in chosen], robot(name).model, tmp_path, prefix="r", dtype=dtype)
        gcc(tmp_path, *SANITIZERS, "r.c", "r_selftest.c", "-o", "selftest", "-lm")
        done = subprocess.run(["./selftest"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_functions_without_results(tmp_path):
    """A model without coordinates: its self-test has nothing to compare, and compiles without a warning."""
    kt.export_c([kt.mass_matrix, kt.bias_force], motionless(2).model, tmp_path, prefix="r")
    gcc(tmp_path, "r.c", "r_selftest.c", "-o", "selftest", "-lm")
    assert subprocess.run(["./selftest"], cwd=tmp_path, capture_output=True).returncode == 0


def test_loops_that_count_down_are_seen_to_end(tmp_path):
    """A compiler that unrolls one of few rounds finds no overflow in it."""
    model = tree(99, 2).model
    kt.export_c(kt.forward_dynamics_derivatives, model, tmp_path, prefix="r", mode="looped")
    gcc(tmp_path, "-O1", "-c", "r.c")
