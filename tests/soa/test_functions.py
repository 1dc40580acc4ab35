"""Expressions as functions of a model: what they compute and cost, and that they are like all others."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.conftest import share
from tests.reference.measure import assert_close, condition

import kinetree as kt
from kinetree.compiler.emit.llvm.gpu import emit_gpu
from kinetree.compiler.emit.python import run
from kinetree.compiler.ir.check import check
from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.errors import ArgumentError, KinetreeError, ShapeError, SingularError
from kinetree.soa.compiled import OperatorFunction
from kinetree.stages.compile import job_for

L = kt.letters
MASS = L.H @ L.phi @ L.M @ L.phi.T @ L.H.T
SOLVE = kt.function_of(MASS.inverse, "q, x -> a", name="solve")
ROBOTS = ("arm7", "quadruped", "puma560", "spacecraft", "cart_pole")


def robot(name):
    model = getattr(kt.zoo, name)()
    return model, *model.random_state(np.random.default_rng(1))


def flops(function, model, **options):
    return kt.compile(function, model, **options).ops["flops"]


@pytest.mark.parametrize("name", share(ROBOTS, 2))
def test_the_inverse_costs_what_the_algorithm_costs(name):
    """M^-1 typed as innovations factors, by hand or by `.inverse`: at most 1.2 of mass_matrix_solve."""
    model, q, v = robot(name)
    typed = (1 - L.H @ L.psi @ L.K).T @ L.D.inverse @ (1 - L.H @ L.psi @ L.K)
    assert typed == MASS.inverse
    assert flops(SOLVE, model) <= 1.2 * flops(kt.mass_matrix_solve, model)
    assert_close(SOLVE(model, q, v), kt.mass_matrix_solve(model, q, v), 1e-12)
    product = kt.function_of(MASS, "q, x -> tau")
    assert flops(product, model) <= 1.2 * flops(kt.mass_matrix_product, model)
    assert_close(product(model, q, v), kt.mass_matrix_product(model, q, v), 1e-12)


@pytest.mark.parametrize("name", share(ROBOTS, 2))
def test_the_operational_space_costs_what_the_algorithm_costs(name):
    """B^T Omega B and its inverse: at most 1.5 of operational_space_inertia, which also finds both."""
    model, q, _ = robot(name)
    B = L.B(model.body_names[-1])
    inverse = kt.function_of(B.T @ L.Omega @ B, "q -> inverse")
    Lambda, truth = kt.operational_space_inertia(model, q, model.body_names[-1])
    algorithm = flops(kt.operational_space_inertia, model, frames=(model.body_names[-1],))
    assert_close(inverse(model, q), truth, 1e-11)
    assert flops(inverse, model) <= 1.5 * algorithm
    if model.nv >= 6:
        whole = kt.function_of((B.T @ L.Omega @ B).inverse, "q -> Lambda")
        assert_close(whole(model, q), Lambda, 1e-12 * condition(truth))
        assert flops(whole, model) <= 1.5 * algorithm


def test_operations_grow_with_the_number_of_bodies():
    """Operations of straight code: as many more for each body."""
    letters = (MASS, MASS.inverse, L.H @ L.R @ L.H.T, L.H @ L.psi @ L.M @ L.psi.T @ L.H.T)
    for A in letters:
        f = kt.function_of(A, "q, x -> y")
        counts = [flops(f, kt.zoo.chain(n), mode="unrolled") for n in (6, 9, 12)]
        assert abs((counts[2] - counts[1]) - (counts[1] - counts[0])) <= 0.05 * counts[2], f"{A}: {counts}"


def traced(function, model, mode, *inputs):
    """The program of a function, run as Python."""
    job = job_for("test", function, model, None, {}, mode=mode)
    (result,), doubtful = run(check(job.lowered()), *(np.ravel(x) for x in inputs))
    assert not doubtful.any()
    return result.reshape(job.shapes[1][0])


def crab(rotors=False):
    """Two arms on a floating body, with joints of several kinds."""
    builder = kt.ModelBuilder("crab")
    inertia = kt.Inertia(1.3, (0.1, -0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    place = kt.Pose(kt.Rotation.from_axis_angle((1, 2, 3), 0.4), (0.3, 0.1, -0.2))
    joints = {"base": kt.Free(), "left": kt.Spherical(), "claw": kt.Prismatic((0, 0, 1)),
              "right": kt.Universal((1, 0, 0), (0, 1, 0)), "tip": kt.Revolute((0, 1, 0))}  # fmt: skip
    parents = {"base": None, "left": "base", "claw": "left", "right": "base", "tip": "right"}
    for body, joint in joints.items():
        builder.add_body(body, parents[body], joint, place, inertia)
    if rotors:
        builder.add_rotor("tip", kt.Inertia(0.2, (0, 0, 0.1), np.diag([0.01, 0.02, 0.03])), place, ratio=7.0)
    model = builder.build()
    return model, *model.random_state(np.random.default_rng(3))


@pytest.mark.parametrize(
    ("rotors", "mode"), share([(False, "unrolled"), (True, "unrolled"), (True, "looped")], 2)
)
def test_vectors_over_everything(rotors, mode):
    """Coordinates, bodies, frames, the world; with rotors, which take no part in vectors over bodies."""
    model, q, v = crab(rotors)
    op, bodies = kt.operators(model, q, v), ("motions of bodies", "forces on bodies")
    embed = op.B(model.body_names).dense()
    frames = list(model.body_names)[-3::2]
    rng = np.random.default_rng(2)
    f, m = rng.normal(size=(2, model.nbodies, 6))
    few, g = rng.normal(size=6 * len(frames)), rng.normal(size=6)
    for A, x in (
        (L.phi @ L.M @ L.phi.T, m), (L.phi.T @ L.H.T, v), (L.H @ L.phi, f), (L.Omega, f), (L.Upsilon, f),
        (L.B(frames).T @ L.phi.T @ L.H.T, v), (L.H @ L.phi @ L.B(frames), few),
        (L.E @ L.phi @ L.R @ L.H.T, v), (L.B("world").T @ L.phi.T, m),
        (L.phi.T @ L.E.T, g), (L.E @ L.R @ L.E.T, g), (L.B(frames).T @ L.Omega @ L.B(frames) + 1, few),
        (L.O.inverse @ L.M_I @ L.phi_I.T @ L.H_I.T, v), (0 * L.M, m), (L.E @ (0 * L.phi), f),
        (L.H_I @ L.phi_I @ L.O, f), (MASS + 0.1, v), (2 * L.M.inverse @ L.P, m),
    ):  # fmt: skip
        function = kt.function_of(A, "q, x -> y")
        truth = A.at(op) @ (embed @ x.ravel() if A.columns.name in bodies else x)
        truth = embed.T @ truth if A.rows.name in bodies else truth
        found = traced(function, model, mode, q, x)
        assert_close(found.ravel(), truth, 1e-11, float(np.abs(truth).max(initial=1e-3)), str(A))


@pytest.mark.parametrize("mode", ["unrolled", "looped"])
def test_matrices(mode):
    """Without a vector the result is the matrix."""
    model, q, _ = crab() if mode == "unrolled" else robot("double_pendulum")
    op, tool, nv, nb = kt.operators(model, q), model.body_names[-1], model.nv, model.nbodies
    for A, shape in (
        (MASS, (nv, nv)), (MASS.inverse, (nv, nv)), (L.B(tool).T @ L.phi.T @ L.H.T, (6, nv)),
        (L.phi.T @ L.H.T, (nb, 6, nv)), (L.Omega @ L.B(tool), (nb, 6, 6)), (L.H @ L.phi @ L.B(tool), (nv, 6)),
        (L.E @ L.R @ L.E.T, (6, 6)), ((L.B(tool).T @ L.Omega @ L.B(tool) + 0.1).inverse, (6, 6)),
    ):  # fmt: skip
        found = traced(kt.function_of(A, "q -> y"), model, mode, q)
        assert found.shape == shape
        truth = A.at(op).dense()
        assert_close(found.reshape(truth.shape), truth, 1e-12, what=str(A))


def test_like_every_other_function(tmp_path):
    """Batches, out, single precision, other inertias, pickles, C, derivatives, use inside others."""
    model, q, v = robot("arm7")
    states = [model.random_state(np.random.default_rng(k)) for k in range(5)]
    qs, vs = (np.stack(parts) for parts in zip(*states))
    truth = kt.mass_matrix_solve(model, qs, vs)
    assert_close(SOLVE(model, qs, vs), truth, 1e-12)
    out = np.empty_like(truth)
    assert SOLVE(model, qs, vs, out=out) is out and np.array_equal(out, SOLVE(model, qs, vs))
    assert SOLVE(model, qs.astype(np.float32), vs.astype(np.float32)).dtype == np.float32
    heavier = model.parameters * 2.0
    assert_close(SOLVE(model, q, v, parameters=heavier) * 2, SOLVE(model, q, v), 1e-12)
    assert pickle.loads(pickle.dumps(SOLVE)) is SOLVE and isinstance(SOLVE, OperatorFunction)
    kt.export_c([SOLVE], model, tmp_path)
    assert "solve" in (tmp_path / next(p.name for p in tmp_path.glob("*.h"))).read_text()
    _, slope = kt.jvp(SOLVE, model, (q, v), (np.zeros(7), v))
    assert_close(slope, SOLVE(model, q, v), 1e-12)

    @kt.function("q, x -> y(nv)")
    def twice(model, q, x):
        return SOLVE(model, q, SOLVE(model, q, x))

    inverse = kt.inverse_mass_matrix(model, q)
    assert_close(twice(model, q, v), inverse @ inverse @ v, 1e-11)
    assert_close(SOLVE(model, q + 0j, v + 1j * v, target="eager").imag, SOLVE(model, q, v), 1e-12)
    assert "solve" in repr(SOLVE) and "psi" in repr(SOLVE)


@pytest.mark.parametrize("mode", ["unrolled", "looped"])
def test_on_a_gpu(mode):
    """An expression becomes PTX; where there is a GPU, it gives the bits of the CPU."""
    model, q, v = robot("arm7")
    program = job_for("test", SOLVE, model, None, {}, mode=mode).program(0)
    text = cuda_kernels.assemble(emit_gpu(program, "float64", "rows").text, "sm_70")
    assert ".entry states" in text and ".target sm_70" in text
    if cuda.is_available():
        kernel = kt.compile(SOLVE, model, target="cuda", mode=mode)
        assert np.array_equal(kernel(q, v), kt.compile(SOLVE, model, mode=mode)(q, v))


def test_what_depends_on_bodies_is_computed_with_them():
    """Canonical frames move inertia and dissolve fixed joints: only where an expression does not tell."""
    builder = kt.ModelBuilder("bracket")
    inertia = kt.Inertia(1.3, (0.1, -0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    hinges = [kt.Revolute(axis) for axis in np.eye(3)]
    joints = {"a": hinges[2], "b": kt.Fixed(), "c": hinges[1], "d": hinges[0]}
    for (body, joint), parent in zip(joints.items(), (None, "a", "b", "c")):
        builder.add_body(body, parent, joint, kt.Pose(p=(0.1, 0.2, 0.3)), inertia)
    model = builder.build()
    q, v = model.random_state(np.random.default_rng(0))
    op = kt.operators(model, q)
    for A in (
        L.H @ L.M @ L.H.T, L.H @ L.K, L.H_I @ L.M_I @ L.H_I.T, L.H @ L.E_phi @ L.R @ L.H.T, MASS,
        MASS.inverse, L.H @ L.phi @ L.R @ L.phi.T @ L.H.T, L.H @ L.phi.inverse @ L.G, L.H @ L.R @ L.H.T,
        L.H @ L.psi @ L.K,
    ):  # fmt: skip
        found = kt.function_of(A, "q, x -> y")(model, q, v)
        assert_close(found, A.at(op) @ v, 1e-12, 1.0, str(A))


def test_expressions_of_one_name_are_told_apart():
    """Functions are cached by what they compute, not by their name."""
    model, q, v = robot("arm7")
    one, two = (kt.function_of(A, "q, x -> y") for A in (MASS, 2 * MASS))
    assert one.name == two.name and one.identity != two.identity
    assert_close(two(model, q, v), 2 * one(model, q, v), 1e-14)
    assert kt.function_of(MASS, "q, x -> y") is one
    assert kt.function_of(MASS.at(kt.operators(model, q)), "q, x -> y") is one


def test_long_chains_stay_sparse():
    """10,000 bodies: applied at a state and as loops, without any matrix."""
    model = kt.zoo.chain(10_000)
    q, v = model.random_state(np.random.default_rng(0))
    op = kt.operators(model, q)
    mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
    tau = mass @ v
    assert_close(tau, kt.mass_matrix_product(model, q, v), 1e-10)
    assert_close(mass @ SOLVE(model, q, tau), tau, 1e-7)  # M itself is nearly singular
    f = kt.function_of(L.phi.T @ L.H.T, "q, x -> V")
    assert_close(f(model, q, v), kt.body_velocities(model, q, v), 1e-12)


@pytest.mark.parametrize(
    "wrong, error, match",
    [
        (lambda: kt.function_of(MASS, "q, x(3) -> y"), ShapeError, r"x has the shape \(\.\.\., 3\)"),
        (lambda: kt.function_of(MASS, "q, x -> y(nb, 6)"), ShapeError, "needs"),
        (lambda: kt.function_of(MASS, "q, v, x -> y"), ArgumentError, "perhaps a vector"),
        (lambda: kt.function_of(MASS, "q, x? -> y"), ArgumentError, "cannot be left out"),
        (lambda: kt.function_of(MASS, "q, x"), TypeError, "names no result"),
        (lambda: kt.function_of(L.phi, "q -> y"), ArgumentError, "six columns for each body"),
        (lambda: kt.function_of(3.0, "q, x -> y"), ArgumentError, "expression of kt.letters"),
        (lambda: kt.function_of(MASS, "q, x -> y", name="a b"), ArgumentError, "no name"),
        (lambda: L.phi @ np.ones(3), KinetreeError, "no numbers.*A.at"),
        (lambda: L.phi.dense(), KinetreeError, "no numbers"),
        (lambda: L.phi.structure, KinetreeError, "depends on the tree"),
        (lambda: L.taubar.inverse, SingularError, "no inverse"),
        (lambda: L.H.inverse, ShapeError, "not square"),
        (lambda: (L.H @ L.phi).inverse, ShapeError, "not square"),
        (lambda: (L.M + L.R).inverse, KinetreeError, "no rule of the algebra"),
        (lambda: L.letter("Q"), KinetreeError, "no letter 'Q'"),
        (lambda: kt.function_of(L.B("no such frame").T @ L.phi.T, "q, x -> y")(kt.zoo.arm7(), np.zeros(7),
            np.zeros((7, 6))), KinetreeError, "no such frame"),
    ],
)  # fmt: skip
def test_refusals(wrong, error, match):
    with pytest.raises(error, match=match):
        wrong()
