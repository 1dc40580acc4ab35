"""Every algorithm of the registry through the printers and the derivative passes, on small robots."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from tests.golden.counts import static_options

import kinetree as kt
from kinetree import kernels
from kinetree.compiler.check import check
from kinetree.compiler.differentiate import forward, jacobian, reverse
from kinetree.compiler.emit.c import c_source
from kinetree.compiler.emit.python import run
from kinetree.compiler.pipeline import optimize
from kinetree.compiler.program import Program
from kinetree.sweep import REGISTRY

ROBOTS = {"puma560": kt.zoo.puma560, "spacecraft": kt.zoo.spacecraft, "tree": lambda: kt.zoo.tree(5, 2)}
ALGORITHMS = sorted(REGISTRY)
on_robots = pytest.mark.parametrize("robot", ROBOTS)
for_algorithms = pytest.mark.parametrize("name", ALGORITHMS)


@cache
def model(robot: str) -> kt.Model:
    return ROBOTS[robot]()


@cache
def traced(name: str, robot: str, mode: str = "unrolled") -> Program:
    algorithm = REGISTRY[name]
    present = tuple(a.name for a in algorithm.inputs if not a.optional)
    return check(
        kernels.trace(algorithm, model(robot), present, static_options(algorithm, model(robot)), mode)
    )


def state(program: Program, robot: str, seed: int = 0) -> list[np.ndarray]:
    """A valid state (unit quaternions), and random numbers for whatever else a program takes."""
    rng = np.random.default_rng(seed)
    q, v = model(robot).random_state(rng)
    known = {"q": np.asarray(q, float), "v": np.asarray(v, float)}
    return [known.get(a.name, rng.normal(size=a.size)) for a in program.inputs]


def close(a, b, tolerance):
    scale = 1.0 + np.abs(b).max(initial=0.0)
    np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance * scale)


@on_robots
@for_algorithms
class TestAlgorithm:
    def test_looped_is_unrolled(self, name, robot):
        straight, looped = traced(name, robot), traced(name, robot, "looped")
        x = state(straight, robot)
        for a, b in zip(run(optimize(looped), *x)[0], run(optimize(straight, 200), *x)[0]):
            close(a, b, 1e-11)

    def test_jacobian_against_complex_step(self, name, robot):
        program = traced(name, robot)
        x = state(program, robot)
        for k, argument in enumerate(program.inputs):
            columns = [0, argument.size - 1]
            for array in program.outputs:
                mode = "forward" if argument.size <= array.size else "reverse"
                (matrix,), _ = run(check(jacobian(program, array.name, argument.name, mode)), *x)
                matrix = matrix.reshape(array.size, argument.size)
                for column in columns:
                    moved = [a.astype(complex) for a in x]
                    moved[k][column] += 1e-40j
                    place = program.outputs.index(array)
                    close(matrix[:, column], run(program, *moved)[0][place].imag / 1e-40, 1e-9)

    def test_reverse_is_forward_transposed(self, name, robot):
        """b^T (J d) = (J^T b)^T d, with J d from the looped program."""
        program, looped = traced(name, robot), traced(name, robot, "looped")
        x, d = state(program, robot), state(program, robot, 1)
        b = [np.random.default_rng(2).normal(size=a.size) for a in program.outputs]
        tangents = run(check(forward(looped)), *x, *d)[0][len(program.outputs) :]
        adjoints = run(check(reverse(program)), *x, *b)[0][len(program.outputs) :]
        left = sum(u @ w for u, w in zip(b, tangents))
        right = sum(u @ w for u, w in zip(adjoints, d))
        terms = sum(np.abs(u) @ np.abs(w) for u, w in zip(b, tangents))
        assert abs(left - right) <= 1e-9 * (1.0 + terms)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@on_robots
def test_exported_c_under_sanitizers(robot, tmp_path):
    """All algorithms, unrolled and looped, in one library: no warning, no finding, the same numbers."""
    entries, samples = [], {}
    for mode in ("unrolled", "looped"):
        for name in ALGORITHMS:
            program = optimize(traced(name, robot, mode), 500)
            entries.append((f"{name}_{mode}", program, [], []))
            samples[f"{name}_{mode}"] = [state(program, robot, k) for k in range(2)]
    for name, text in c_source(entries, robot, title=robot, samples=samples).items():
        (tmp_path / name).write_text(text)
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    files = [f"{robot}.c", f"{robot}_selftest.c"]
    command = ["gcc", *warnings, *sanitizers, *files, "-o", "selftest", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    done = subprocess.run(["./selftest"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
