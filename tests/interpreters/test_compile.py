"""What `kt.compile` refuses, and how it says so."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interpreters.samples import LINK, arm

import kinetree as kt
from kinetree.errors import ArgumentError, CompileError, KinetreeError, ModelError, ShapeError

sympy = pytest.importorskip("sympy")


@pytest.fixture(scope="module")
def model() -> kt.Model:
    return arm(LINK, LINK)


@pytest.fixture(scope="module")
def symbolic() -> kt.Model:
    """A pendulum whose mass is a symbol."""
    m = sympy.Symbol("m", positive=True)
    builder = kt.ModelBuilder("symbolic")
    inertia = kt.Inertia(m, (0.5, 0.0, 0.0), ((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)))
    builder.add_body("rod", "world", kt.Revolute((0, 1, 0)), inertia=inertia)
    return builder.build()


class TestSymbols:
    @pytest.mark.parametrize("mode", [None, "unrolled", "looped"])
    def test_are_not_compiled(self, symbolic, mode):
        with pytest.raises(CompileError, match=r"symbols or expressions.*target='eager'"):
            kt.compile(kt.mass_matrix, symbolic, mode=mode)(np.zeros(1))

    def test_by_an_ordinary_call(self, symbolic):
        with pytest.raises(CompileError, match="target='eager'"):
            kt.mass_matrix(symbolic, np.zeros(1))

    def test_run_eagerly(self, symbolic):
        M = kt.mass_matrix(symbolic, np.zeros(1), target="eager")
        (m,) = M[0, 0].free_symbols
        assert sympy.simplify(M[0, 0] - (m * 0.25 + 0.1)) == 0

    @pytest.mark.parametrize("mode", [None, "unrolled", "looped"])
    def test_are_not_exported(self, symbolic, tmp_path, mode):
        with pytest.raises(CompileError, match="only plain numbers can be compiled"):
            kt.export_c([kt.mass_matrix], symbolic, tmp_path, mode=mode)


class TestArguments:
    def test_no_function_of_a_model(self, model):
        for wrong in (np.sin, "mass_matrix", None):
            with pytest.raises(CompileError, match=r"is not a model function; give one such as"):
                kt.compile(wrong, model)

    def test_no_model(self):
        for wrong in (None, "arm.urdf", kt.mass_matrix):
            with pytest.raises(KinetreeError, match="Model"):
                kt.compile(kt.mass_matrix, wrong)

    def test_target(self, model):
        with pytest.raises(CompileError, match="unknown target 'gpu'; choose from cpu"):
            kt.compile(kt.mass_matrix, model, target="gpu")

    @pytest.mark.parametrize("dtype", ["float16", "int64", "complex128", "float 64", object, 3])
    def test_dtype(self, model, dtype):
        with pytest.raises(CompileError, match="dtype must be 'float64' or 'float32', not"):
            kt.compile(kt.mass_matrix, model, dtype=dtype)

    def test_mode(self, model):
        with pytest.raises(CompileError, match="mode must be 'unrolled', 'looped' or None, not 'fast'"):
            kt.compile(kt.mass_matrix, model, mode="fast")

    def test_input(self, model):
        with pytest.raises(
            CompileError, match="inverse_dynamics has no input 'fext'; it takes q, v, a, f_ext"
        ):
            kt.compile(kt.inverse_dynamics, model, inputs=["q", "v", "a", "fext"])

    def test_option(self, model):
        with pytest.raises(CompileError, match="jacobian has no option 'body'; it has frame, reference"):
            kt.compile(kt.jacobian, model, body="b0")

    def test_option_left_out(self, model):
        with pytest.raises(ArgumentError, match="jacobian needs the argument 'frame'"):
            kt.compile(kt.jacobian, model)

    def test_options_of_an_export(self, model, tmp_path):
        with pytest.raises(ArgumentError, match="export_c: jacobian needs the argument 'frame'"):
            kt.export_c([kt.jacobian], model, tmp_path)
        with pytest.raises(CompileError, match="export_c: mass_matrix has no option 'frame'; it has none"):
            kt.export_c([(kt.mass_matrix, {"frame": "b0"})], model, tmp_path)
        with pytest.raises(CompileError, match="is not a model function"):
            kt.export_c([np.sin], model, tmp_path)

    def test_values_of_options(self, model):
        with pytest.raises(ModelError, match="'elbow'"):
            kt.compile(kt.jacobian, model, frame="elbow")(np.zeros(2))
        with pytest.raises(KinetreeError, match="reference must be one of"):
            kt.compile(kt.jacobian, model, frame="b0", reference="local")(np.zeros(2))
        with pytest.raises(ModelError, match="'elbow'"):
            kt.compile(kt.hybrid_dynamics, model, accelerate=["elbow"])(*np.zeros((3, 2)))


class TestCalls:
    def test_wrong_shape(self, model):
        kernel = kt.compile(kt.mass_matrix, model)
        for _ in range(2):
            with pytest.raises(ShapeError, match=r"q has shape \(3,\) but model 'arm' needs \(..., 2\)"):
                kernel(np.zeros(3))

    def test_wrong_number_of_arguments(self, model):
        kernel = kt.compile(kt.inverse_dynamics, model)
        with pytest.raises(TypeError, match=r"takes 3 arrays \(q, v, a\), not 2"):
            kernel(np.zeros(2), np.zeros(2))

    def test_optional_inputs_fold_away(self, model):
        without, given = (
            kt.compile(kt.inverse_dynamics, model, inputs=names) for names in (None, ["f_ext", "q"])
        )
        q, v, a = np.random.default_rng(0).normal(size=(3, 2))
        zero = np.zeros((2, 6))
        np.testing.assert_allclose(given(q, v, a, zero), without(q, v, a), rtol=1e-13)
        assert without.ops["flops"] < given.ops["flops"]
        assert [c.name for c in given.inputs] == ["q", "v", "a", "f_ext"]

    def test_single_precision(self, model):
        q, v, a = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
        found = kt.compile(kt.inverse_dynamics, model, dtype="float32")(q, v, a)
        assert found.dtype == np.float32
        np.testing.assert_allclose(
            found, kt.inverse_dynamics(model, *(x.astype(float) for x in (q, v, a))), 1e-4
        )


@pytest.mark.parametrize("target", ["eager", "cpu"])
class TestBothTargets:
    """What a call takes and gives does not depend on what runs it."""

    def test_batch_axes_that_do_not_broadcast(self, model, target):
        with pytest.raises(ShapeError, match=r"do not broadcast: q \(3, 2\), v \(4, 2\)"):
            kt.kinetic_energy(model, np.zeros((3, 2)), np.zeros((4, 2)), target=target)

    def test_out_of_the_wrong_shape(self, model, target):
        with pytest.raises(ShapeError, match=r"has shape \(2, 3\)"):
            kt.mass_matrix(model, np.zeros(2), out=np.zeros((2, 3)), target=target)

    def test_out_of_the_wrong_type(self, model, target):
        with pytest.raises(kt.errors.ShapeError, match="holds int64 values, but the results are float64"):
            kt.mass_matrix(model, np.zeros(2), out=np.zeros((2, 2), int), target=target)

    def test_types_and_shapes(self, model, target):
        q, v = np.random.default_rng(0).normal(size=(2, 2))
        assert type(kt.kinetic_energy(model, q, v, target=target)) is np.float64
        assert kt.kinetic_energy(model, np.zeros((3, 1, 2)), np.zeros((4, 2)), target=target).shape == (3, 4)
        assert kt.mass_matrix(model, np.zeros((0, 2)), target=target).shape == (0, 2, 2)
        assert kt.mass_matrix(model, [0, 1], target=target).dtype == np.float64
        narrow = q.astype(np.float32)
        assert kt.mass_matrix(model, narrow, target=target).dtype == np.float32
        assert kt.kinetic_energy(model, narrow, v, target=target).dtype == np.float64


def test_equal_models_of_other_names_do_not_share_wrong_code():
    """Options are part of what tells programs apart, and so is every number of a model."""
    model = arm(LINK, LINK)
    q = np.array([0.3, 0.4])
    found = [
        kt.compile(kt.jacobian, model, frame=f, reference=r)(q)
        for f in ("b0", "b1")
        for r in ("body", "world")
    ]
    assert len({array.tobytes() for array in found}) == 4
    heavier = model.replace(gravity=(0.0, 0.0, -1.0))
    assert not np.array_equal(kt.gravity_force(heavier, q), kt.gravity_force(model, q))
