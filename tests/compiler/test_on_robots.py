"""Every algorithm of the registry through the printers and the derivative passes, on small robots."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from tests.conftest import share
from tests.golden.counts import static_options

import kinetree as kt
from kinetree.compiler.emit.c import c_source
from kinetree.compiler.emit.python import run
from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.differentiate import jacobian, jvp, vjp
from kinetree.compiler.passes.pipeline import optimize
from kinetree.stages import sweeps
from kinetree.sweep import REGISTRY


def floating() -> kt.Model:
    """A free body that carries another one on a revolute joint."""
    builder = kt.ModelBuilder("floating")
    inertia = kt.Inertia(2.0, (0.1, -0.2, 0.3), ((0.5, 0.02, 0.01), (0.02, 0.4, -0.03), (0.01, -0.03, 0.6)))
    builder.add_body("base", "world", kt.Free(), inertia=inertia)
    builder.add_body("arm", "base", kt.Revolute((0, 1, 0)), kt.Pose(p=(0.3, 0.0, 0.2)), inertia)
    return builder.build()


ROBOTS = {"pendulum": kt.zoo.pendulum, "double_pendulum": kt.zoo.double_pendulum, "floating": floating}
ALGORITHMS = sorted(REGISTRY)
BOTH = [(name, robot) for name in ALGORITHMS for robot in ("double_pendulum", "floating")]
for_algorithms = pytest.mark.parametrize("name", share(ALGORITHMS, 2))


@cache
def model(robot: str) -> kt.Model:
    return ROBOTS[robot]()


@cache
def traced(name: str, robot: str, mode: str = "unrolled") -> Program:
    algorithm = REGISTRY[name]
    present = tuple(a.name for a in algorithm.inputs if not a.optional)
    return check(
        sweeps.lower(algorithm, model(robot), present, static_options(algorithm, model(robot)), mode)
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


@pytest.mark.parametrize(("name", "robot"), share(BOTH, 2))
class TestAlgorithm:
    def test_looped_is_unrolled(self, name, robot):
        straight, looped = traced(name, robot), traced(name, robot, "looped")
        x = state(straight, robot)
        for a, b in zip(run(optimize(looped), *x)[0], run(optimize(straight, 200), *x)[0]):
            close(a, b, 1e-11)

    def test_forward_against_complex_step(self, name, robot):
        program = traced(name, robot)
        x, d = state(program, robot), state(program, robot, 1)
        moved = [a + 1e-40j * b for a, b in zip(x, d)]
        wanted = [y.imag / 1e-40 for y in run(program, *moved)[0]]
        tangents = run(check(jvp(program)), *x, *d)[0][len(wanted) :]
        for got, want in zip(tangents, wanted):
            close(got, want, 1e-9)

    def test_reverse_is_forward_transposed(self, name, robot):
        """b^T (J d) = (J^T b)^T d, with J d from the looped program."""
        program, looped = traced(name, robot), traced(name, robot, "looped")
        x, d = state(program, robot), state(program, robot, 1)
        b = [np.random.default_rng(2).normal(size=a.size) for a in program.outputs]
        tangents = run(check(jvp(looped)), *x, *d)[0][len(program.outputs) :]
        adjoints = run(check(vjp(program)), *x, *b)[0][len(program.outputs) :]
        left = sum(u @ w for u, w in zip(b, tangents))
        right = sum(u @ w for u, w in zip(adjoints, d))
        terms = sum(np.abs(u) @ np.abs(w) for u, w in zip(b, tangents))
        assert abs(left - right) <= 1e-9 * (1.0 + terms)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@for_algorithms
def test_jacobian_times_direction_is_forward(name, mode):
    program = traced(name, "pendulum")
    x, d = state(program, "pendulum"), state(program, "pendulum", 1)
    count = len(program.outputs)
    tangents = run(check(jvp(program)), *x, *d)[0][count:]
    for array, tangent in zip(program.outputs, tangents):
        total = np.zeros(array.size)
        for argument, direction in zip(program.inputs, d):
            (matrix,), _ = run(check(jacobian(program, array.name, argument.name, mode)), *x)
            total += matrix.reshape(array.size, argument.size) @ direction
        close(total, tangent, 1e-10)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.long
@pytest.mark.parametrize("robot", ["double_pendulum", "floating"])
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
