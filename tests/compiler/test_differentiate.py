"""Derivative passes against complex steps, and against differences with many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.compiler.random_programs import random_inputs, random_looped, random_straight
from tests.conftest import share

from kinetree import ops
from kinetree.compiler.emit.python import run
from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.differentiate import Increments, jacobian, jvp, vjp
from kinetree.compiler.passes.pipeline import optimize
from kinetree.errors import CompileError

SEEDS = share(range(40), 5)
NAMES = [(y, x) for y in ("y", "z") for x in ("q", "v")]


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max(initial=0)))


def complex_step(program: Program, inputs: list[np.ndarray]) -> dict[tuple[str, str], np.ndarray]:
    """All Jacobians of a straight program."""
    found = {(y.name, x.name): np.zeros((y.size, x.size)) for y in program.outputs for x in program.inputs}
    for k, x in enumerate(program.inputs):
        for column in range(x.size):
            moved = [a.astype(complex) for a in inputs]
            moved[k][column] += 1e-40j
            for y, value in zip(program.outputs, run(program, *moved)[0]):
                found[y.name, x.name][:, column] = value.imag / 1e-40
    return found


@pytest.mark.parametrize("seed", SEEDS)
class TestStraight:
    def test_forward(self, seed):
        program = random_straight(seed, smooth=True)
        x = random_inputs(program, seed)
        d = random_inputs(program, seed + 1)
        wanted = complex_step(program, x)
        outputs, _ = run(check(jvp(program)), *x, *d)
        primal, _ = run(program, *x)
        for k, y in enumerate(program.outputs):
            close(outputs[k], primal[k])
            close(outputs[2 + k], wanted[y.name, "q"] @ d[0] + wanted[y.name, "v"] @ d[1])

    def test_reverse(self, seed):
        program = random_straight(seed, smooth=True)
        x = random_inputs(program, seed)
        b = [np.random.default_rng(seed).normal(size=a.size) for a in program.outputs]
        wanted = complex_step(program, x)
        outputs, _ = run(check(vjp(program)), *x, *b)
        for k, a in enumerate(program.inputs):
            close(outputs[2 + k], wanted["y", a.name].T @ b[0] + wanted["z", a.name].T @ b[1])

    @pytest.mark.parametrize("mode", ["forward", "reverse"])
    def test_jacobian(self, seed, mode):
        program = random_straight(seed, smooth=True)
        x = random_inputs(program, seed)
        wanted = complex_step(program, x)
        for y, name in NAMES:
            derivative = optimize(check(jacobian(program, y, name, mode)))
            (matrix,), _ = run(derivative, *x)
            close(matrix.reshape(wanted[y, name].shape), wanted[y, name])

    def test_branches(self, seed):
        """With choices in it, forward and reverse agree (almost surely no choice is at its switching)."""
        program = random_straight(seed)
        x = random_inputs(program, seed)
        for y, name in NAMES:
            (a,), _ = run(jacobian(program, y, name, "forward"), *x)
            (b,), _ = run(jacobian(program, y, name, "reverse"), *x)
            close(a, b)


@pytest.mark.parametrize("seed", range(10))
def test_forward_against_50_digits(seed):
    """Central differences with 50 digits are exact to 20, also through loops, sums and whiles."""
    for program in (random_straight(seed, smooth=True), random_looped(seed)):
        x, d = random_inputs(program, seed), random_inputs(program, seed + 1)
        outputs, _ = run(check(jvp(program)), *x, *d)
        with mpmath.workdps(50):
            step = mpmath.mpf(10) ** -20
            wide = [np.array([mpmath.mpf(float(e)) for e in a], object) for a in x]
            ahead, _ = run(program, *(a + step * b for a, b in zip(wide, d)))
            behind, _ = run(program, *(a - step * b for a, b in zip(wide, d)))
            for got, a, b in zip(outputs[len(program.outputs) :], ahead, behind):
                close(got, ((a - b) / (2 * step)).astype(float))


def test_second_derivatives():
    """The pass can be applied to its own result."""
    graph = Graph()
    x, y = graph.array("x", "input", 2), graph.array("y", "output", 1)
    a, b = graph.load(x, 0), graph.load(x, 1)
    graph.store(y, 0, ops.sin(a) * b * b)
    program = Program("twice", (x,), (y,), (), (), graph.root, graph)
    gradient = jacobian(program, "y", "x", "reverse")
    hessian = jacobian(gradient, "d_y_d_x", "x")
    (matrix,), _ = run(hessian, np.array([0.3, 0.7]))
    s, c = np.sin(0.3), np.cos(0.3)
    close(matrix, [-s * 0.49, 1.4 * c, 1.4 * c, 2 * s])


def test_zeros_fold():
    """y = (x0^2, x1): the Jacobian is diagonal, and its program has one operation."""
    graph = Graph()
    x, y = graph.array("x", "input", 2), graph.array("y", "output", 2)
    a, b = graph.load(x, 0), graph.load(x, 1)
    graph.store(y, 0, a * a)
    graph.store(y, 1, b)
    program = Program("diagonal", (x,), (y,), (), (), graph.root, graph)
    for mode in ("forward", "reverse"):
        derivative = check(jacobian(program, "y", "x", mode))
        (matrix,), _ = run(derivative, np.array([3.0, 5.0]))
        assert matrix.tolist() == [6.0, 0.0, 0.0, 1.0] and derivative.ops["flops"] <= 1


def test_only_some_inputs():
    program = random_straight(3, smooth=True)
    derivative = check(jvp(program, ("v",)))
    assert [a.name for a in derivative.inputs] == ["q", "v", "d_v"]


def test_accumulated_outputs():
    graph = Graph()
    x, y = graph.array("x", "input", 2), graph.array("y", "output", 1)
    a, b = graph.load(x, 0), graph.load(x, 1)
    graph.store(y, 0, a * b)
    graph.store(y, 0, ops.sin(a), accumulate=True)
    program = Program("sum", (x,), (y,), (), (), graph.root, graph)
    for mode in ("forward", "reverse"):
        (matrix,), _ = run(check(jacobian(program, "y", "x", mode)), np.array([0.5, 2.0]))
        close(matrix, [2.0 + np.cos(0.5), 0.5])
    outputs, _ = run(check(vjp(program)), np.array([0.5, 2.0]), np.array([3.0]))
    close(outputs[1], [3.0 * (2.0 + np.cos(0.5)), 1.5])


def turned(quaternion: list) -> list[dict]:
    """How a unit quaternion (w, x, y, z) changes with a small rotation in its own frame: E(q), 4 x 3."""
    w, x, y, z = (0.5 * c for c in quaternion)
    return [{0: -x, 1: -y, 2: -z}, {0: w, 1: -z, 2: y}, {0: z, 1: w, 2: -x}, {0: -y, 1: x, 2: w}]


def attitude(looped: bool = False) -> Program:
    """q (a unit quaternion), s -> y = (what becomes of the z axis) s, and z = the sum of q0 and s."""
    graph = Graph()
    q, s = graph.array("q", "input", 4), graph.array("s", "input", 1)
    y, z = graph.array("y", "output", 3), graph.array("z", "output", 1)
    w, a, b, c = (graph.load(q, k) for k in range(4))
    scale = graph.load(s, 0)
    for k, value in enumerate((2.0 * (a * c + w * b), 2.0 * (b * c - w * a), 1.0 - 2.0 * (a * a + b * b))):
        graph.store(y, k, value * scale)
    if looped:
        graph.clear(z)
        with graph.loop(1) as k:
            graph.store(z, 0, graph.load(q, k), accumulate=True)
        graph.store(z, 0, scale, accumulate=True)
    else:
        graph.store(z, 0, w + scale)
    return Program("attitude", (q, s), (y, z), (), (), graph.root, graph)


class TestIncrements:
    q = np.array([0.1, -0.7, 0.5, 0.5])
    s = np.array([1.7])
    by = {"q": Increments(3, turned)}

    def wanted(self) -> tuple[np.ndarray, np.ndarray]:
        """dy/de and dz/de: a rotation by e in its own frame moves the axis R z by R (e x z)."""
        w, a, b, c = self.q
        v, cross = np.array([a, b, c]), np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
        R = (w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * cross
        moved = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])  # e -> e x z
        return self.s * (R @ moved), -0.5 * v[None]

    @pytest.mark.parametrize("mode", ["forward", "reverse"])
    def test_jacobian(self, mode):
        program = check(jacobian(attitude(), ("y", "z"), ("q", "s"), mode, self.by, keep=True))
        assert [(a.name, a.size) for a in program.outputs] == [
            ("y", 3), ("z", 1), ("d_y_d_q", 9), ("d_y_d_s", 3), ("d_z_d_q", 3), ("d_z_d_s", 1),
        ]  # fmt: skip
        (y, _, *matrices), _ = run(program, self.q, self.s)
        close(y, run(attitude(), self.q, self.s)[0][0])
        for got, want in zip(matrices, (self.wanted()[0], y / self.s, self.wanted()[1], np.ones(1))):
            close(got, np.ravel(want))

    @pytest.mark.parametrize("looped", [False, True])
    def test_jvp(self, looped):
        e = np.array([0.3, -0.2, 0.9])
        program = check(jvp(attitude(looped), "q", self.by))
        assert [(a.name, a.size) for a in program.inputs] == [("q", 4), ("s", 1), ("d_q", 3)]
        outputs, _ = run(optimize(program), self.q, self.s, e)
        for got, want in zip(outputs[2:], self.wanted()):
            close(got, want @ e)

    def test_vjp(self):
        b = [np.array([0.4, 2.0, -1.0]), np.array([0.7])]
        program = check(vjp(attitude(), "q", self.by))
        assert [(a.name, a.size) for a in program.outputs] == [("y", 3), ("z", 1), ("b_q", 3)]
        outputs, _ = run(program, self.q, self.s, *b)
        close(outputs[2], sum(weight @ want for weight, want in zip(b, self.wanted())))

    def test_wrong_ones(self):
        with pytest.raises(CompileError, match="no array 'p' here; there are q, s"):
            jvp(attitude(), None, {"p": Increments(3, turned)})
        with pytest.raises(CompileError, match="of 'q' have 3 rows, but it has 4"):
            jvp(attitude(), None, {"q": Increments(3, lambda q: turned(q)[1:])})


def test_wrong_requests():
    looped, straight = random_looped(0), random_straight(0)
    with pytest.raises(CompileError, match="trace it unrolled"):
        vjp(looped)
    with pytest.raises(CompileError, match="no array 'w' here; there are q, v"):
        jacobian(straight, "y", "w")
    with pytest.raises(CompileError, match="neither 'forward' nor 'reverse'"):
        jacobian(straight, "y", "q", "sideways")
