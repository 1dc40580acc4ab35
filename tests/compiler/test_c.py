"""Exported C: compiles without a warning, is clean under sanitizers, and computes what the program says."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.compiler.interpreter import interpret
from tests.compiler.random_programs import random_inputs, random_looped, random_straight

from kinetree import ops
from kinetree.compiler.emit.c import c_source, comment_text, identifier
from kinetree.compiler.emit.c_function import DTYPES
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.errors import CompileError

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def write(files: dict[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="ascii")


def gcc(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [str(GCC), *WARNINGS, *arguments, "-lm"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:4000]


def entries(count: int) -> list:
    """Straight and looped programs, whole and in parts."""
    found = []
    for seed in range(count):
        size = 8 if seed % 3 else 3000
        found.append((f"straight{seed}", optimize(random_straight(seed), size), ["q", "v"], ["y", "z"]))
        found.append((f"looped{seed}", optimize(random_looped(seed), size), [], []))
    return found


@needs_gcc
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.long)])
def test_self_test_passes_under_sanitizers(tmp_path, dtype):
    write(c_source(entries(12), "sample", dtype, title="sample"), tmp_path)
    gcc(tmp_path, "-O1", *SANITIZERS, "sample.c", "sample_selftest.c", "-o", "selftest")
    done = subprocess.run(["./selftest"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of 24 functions failed" in done.stdout and "FAILED" not in done.stdout


@needs_gcc
def test_self_test_notices_a_wrong_number(tmp_path):
    files = c_source(entries(1), "sample")
    source = files["sample.c"]
    place = re.search(r"y\[0\] = (t\d+);", source)
    assert place is not None
    files["sample.c"] = source.replace(place[0], f"y[0] = {place[1]} + 0x1p-20;", 1)
    write(files, tmp_path)
    gcc(tmp_path, "sample.c", "sample_selftest.c", "-o", "selftest")
    assert subprocess.run(["./selftest"], cwd=tmp_path, capture_output=True).returncode == 1


def library(folder: Path, programs: list, name: str = "sample", *options: str) -> ctypes.CDLL:
    write(c_source(programs, name), folder)
    gcc(folder, "-O2", *options, "-fPIC", "-shared", f"{name}.c", "-o", f"{name}.so")
    return ctypes.CDLL(str(folder / f"{name}.so"))


def call(function, program: Program, inputs: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    outputs = [np.full(a.size, 77.0) for a in program.outputs]
    status = function(*(ctypes.c_void_p(a.ctypes.data) for a in (*inputs, *outputs)))
    return outputs, status


@needs_gcc
def test_equals_direct_evaluation(tmp_path):
    programs = entries(15)
    code = library(tmp_path, programs)
    for name, program, *_ in programs:
        for seed in range(5):
            x = random_inputs(program, seed)
            wanted, untrusted = interpret(program, *x)
            got, status = call(code[f"sample_{name}"], program, x)
            assert status == untrusted
            for a, b in zip(got, wanted):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
            for bad in (np.nan, np.inf, -np.inf):
                x[0][-1] = bad
                got, status = call(code[f"sample_{name}"], program, x)
                assert status == 0 and all(np.isnan(a).all() for a in got)


def arithmetic(seed: int) -> Program:
    """A random program of operations that are rounded exactly: every printer must agree to the last bit."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    x, y = graph.array("x", "input", 4), graph.array("y", "output", 6)
    pool = [graph.load(x, k) for k in range(4)]
    for _ in range(60):
        a, b, c = (pool[k] for k in rng.integers(max(0, len(pool) - 10), len(pool), size=3))
        choices = (
            a * b + c, a * b - c, c - a * b, a / (b * b + 0.25), ops.sqrt(a * a + b * b + 0.1), 0.1 * a,
            ops.min(a, b), ops.max(a, b), ops.where(ops.less(a, b), a, c), ops.abs(a), -a,
            ops.sign(a) * c, ops.floor(a) + b,
        )  # fmt: skip
        value = choices[rng.integers(len(choices))]
        pool.append(ops.min(ops.max(value, -9.0), 9.0) if rng.random() < 0.3 else value)
    for k in range(6):
        graph.store(y, k, pool[-1 - k])
    return Program("arithmetic", (x,), (y,), (), (), graph.root, graph)


@needs_gcc
@pytest.mark.skipif(sys.platform != "linux", reason="asks gcc about this processor")
def test_arithmetic_agrees_to_the_last_bit(tmp_path):
    macros = subprocess.run(
        [str(GCC), "-march=native", "-dM", "-E", "-xc", "/dev/null"], capture_output=True, text=True
    ).stdout
    if "__FP_FAST_FMA " not in macros:
        pytest.skip("this processor has no fused multiply-add")
    programs = [(f"f{k}", optimize(arithmetic(k), 20 if k % 2 else 3000), ["x"], ["y"]) for k in range(40)]
    code = library(tmp_path, programs, "bits", "-march=native")
    for k, (name, program, *_) in enumerate(programs):
        x = random_inputs(program, k)
        got, _ = call(code[f"bits_{name}"], program, x)
        np.testing.assert_array_equal(got[0], interpret(program, *x)[0][0])


@needs_gcc
def test_no_heap_and_no_writable_data(tmp_path):
    write(c_source(entries(3), "sample"), tmp_path)
    gcc(tmp_path, "-O2", "-c", "sample.c", "-o", "sample.o")
    symbols = subprocess.run(
        ["nm", "sample.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert not re.search(r"\b(malloc|calloc|realloc|free|alloca|printf)\b", symbols)
    assert not re.search(r" [BbDdCc] ", symbols)


@needs_gcc
def test_header_serves_cpp(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    write(c_source(entries(1), "sample"), tmp_path)
    (tmp_path / "use.cpp").write_text('#include "sample.h"\nint main() { return 0; }\n')
    done = subprocess.run(["g++", "-Wall", "-Werror", "use.cpp", "-c"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr


def large_work(length: int = 9000) -> Program:
    """A program with more work memory than the stack should hold."""
    graph = Graph()
    x, y, w = graph.array("x", "input", 1), graph.array("y", "output", 1), graph.array("w", "work", length)
    graph.store(w, 0, graph.load(x, 0))
    with graph.loop(length - 1, 1) as i:
        graph.store(w, i, graph.load(w, graph.iadd(i, -1)) + 1.0)
    graph.store(y, 0, graph.load(w, length - 1))
    return Program("large", (x,), (y,), (w,), (), graph.root, graph)


@needs_gcc
def test_large_work_memory_is_handed_in(tmp_path):
    files = c_source([("large", large_work(), [], [])], "mem")
    assert "#define MEM_LARGE_WORK 9000" in files["mem.h"] and "double *MEM_RESTRICT work" in files["mem.h"]
    write(files, tmp_path)
    gcc(tmp_path, *SANITIZERS, "mem.c", "mem_selftest.c", "-o", "selftest")
    assert subprocess.run(["./selftest"], cwd=tmp_path).returncode == 0


ODD = [
    "*/ int main(void){} /*", "??/", "\\", "a\nb", "\r\n#error", '"', "'", "\0", "é", "名前", "\u2028", "//",
    "/*", "%s%n", "__attribute__", "int", "", " ", "-1", "1e9", "\t", "\x7f", "\ud800", "#include <a.h>",
]  # fmt: skip


def odd_names(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    alphabet = [*ODD, *"abcXYZ019_-./ *\\?\"'\n", "ü", "🤖"]
    return ODD + ["".join(rng.choice(alphabet, size=rng.integers(1, 9))) for _ in range(count - len(ODD))]


def test_odd_names_become_harmless():
    for name in odd_names(10_000):
        text = comment_text(name)
        assert text.isascii() and text.isprintable()
        assert not re.search(r"\*|/|\\|\?|\n", text)
        assert re.fullmatch(r"[a-z][a-z0-9_]{,48}", identifier(name)) and "__" not in identifier(name)


@needs_gcc
def test_odd_names_compile(tmp_path):
    """Every name stands in a comment; some are also arrays, programs, the prefix and the title."""
    names = odd_names(10_000)
    programs = []
    for k in range(10):
        graph = Graph()
        group = names[k::10]
        inputs = tuple(graph.array(name, "input", 1) for name in dict.fromkeys(group[:20]))
        y = graph.array("output", "output", 1)
        graph.store(y, 0, sum(graph.load(a, 0) for a in inputs))
        program = Program(group[0], inputs, (y,), (), (), graph.root, graph)
        programs.append((f"f{k}", program, ["".join(group[j::20]) for j in range(20)], group[-1:]))
    files = c_source(programs, names[3], title=names[0])
    stem = identifier(names[3])
    write(files, tmp_path)
    gcc(tmp_path, "-O0", f"{stem}.c", f"{stem}_selftest.c", "-o", "selftest")
    assert subprocess.run(["./selftest"], cwd=tmp_path, stdout=subprocess.DEVNULL).returncode == 0


def test_wrong_requests():
    program = random_straight(0)
    with pytest.raises(CompileError, match="dtype 'float16' is not one of float64, float32"):
        c_source([("f", program, [], [])], dtype="float16")
    with pytest.raises(CompileError, match="is not a name for C"):
        c_source([("f()", program, [], [])])
    with pytest.raises(CompileError, match="two functions are called 'f'"):
        c_source([("f", program, [], []), ("f", program, [], [])])


@pytest.mark.parametrize("value", [0.1, -1.0, 1.0, 1e308, 5e-324, 1 / 3, -0.0, 2.0**-1022, 1e-40])
def test_literals_lose_no_bit(value):
    assert float.fromhex(DTYPES["float64"].number(value)) == value
    narrow = DTYPES["float32"].number(value)
    if "INFINITY" not in narrow:
        assert float.fromhex(narrow.removesuffix("f")) == np.float32(value)


def test_text_is_deterministic():
    assert c_source(entries(4), "a") == c_source(entries(4), "a")
