"""What cannot be computed: joints without inertia are named, NaN goes in and comes out, wherever it runs."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.interpreters.samples import LINK, TURN, arm

import kinetree as kt
from kinetree.errors import SingularError
from kinetree.stages.targets import c

NOTHING = kt.Inertia(0.0, (0, 0, 0), ((0, 0, 0), (0, 0, 0), (0, 0, 0)))
SOLVERS = ["forward_dynamics", "inverse_mass_matrix", "mass_matrix_solve", "mass_matrix_logdet"]
MODES = ["unrolled", "looped"]


@pytest.fixture(scope="module")
def massless() -> kt.Model:
    """The last link, on joint 'elbow', weighs nothing."""
    builder = kt.ModelBuilder("massless")
    builder.add_body("upper", "world", kt.Revolute((0, 0, 1)), kt.Pose(TURN, (0.1, 0.2, 0.3)), LINK)
    builder.add_body(
        "fore", "upper", kt.Revolute((0, 1, 0)), kt.Pose(TURN, (0.3, 0, 0)), NOTHING, joint_name="elbow"
    )
    return builder.build(check="finite")


@pytest.fixture(scope="module")
def sometimes() -> kt.Model:
    """The first joint has no inertia where the point mass of the last link crosses its axis: q[1] = 0."""
    point = kt.Inertia(1.0, (0.5, 0.0, 0.0), ((0, 0, 0), (0, 0.1, 0), (0, 0, 0.1)))
    builder = kt.ModelBuilder("sometimes", gravity=(0.0, 0.0, 0.0))
    builder.add_body("swivel", "world", kt.Revolute((1, 0, 0)), inertia=NOTHING, joint_name="roll")
    builder.add_body("rod", "swivel", kt.Revolute((0, 0, 1)), inertia=point, joint_name="swing")
    return builder.build(check="finite")


def arguments(name: str, model: kt.Model, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    needed = [a for a in getattr(kt, name).algorithm.inputs if not a.optional]
    rng = np.random.default_rng(1)
    return [rng.normal(size=(*batch, *a.sizes(model))) for a in needed]


@pytest.mark.parametrize("name", SOLVERS)
class TestGuard:
    def test_eager_names_the_joint(self, massless, name):
        with pytest.raises(SingularError, match=r"joint 'elbow' of model 'massless' has no inertia"):
            getattr(kt, name)(massless, *arguments(name, massless), target="eager")

    @pytest.mark.parametrize("mode", MODES)
    def test_single_state(self, massless, name, mode):
        for _ in range(3):  # the first calls take other roads than later ones; a trace may find it at once
            with pytest.raises(SingularError, match=r"joint 'elbow' of model 'massless'") as caught:
                kt.compile(getattr(kt, name), massless, mode=mode)(*arguments(name, massless))
            assert "batch" not in str(caught.value)

    @pytest.mark.parametrize("mode", MODES)
    def test_first_bad_state_of_a_batch(self, sometimes, name, mode):
        kernel = kt.compile(getattr(kt, name), sometimes, mode=mode)
        states = arguments(name, sometimes, (70,))
        assert np.isfinite(kernel(*states)).all()
        for first in (0, 1, 31, 69):
            spoiled = [x.copy() for x in states]
            spoiled[0][first::20, 1] = 0.0
            with pytest.raises(SingularError, match=rf"'roll'.*Found in state {first} of the batch"):
                kernel(*spoiled)

    def test_index_in_a_batch_of_two_axes(self, sometimes, name):
        states = arguments(name, sometimes, (3, 4))
        states[0][1, 2, 1] = 0.0
        with pytest.raises(SingularError, match=r"Found in state \(1, 2\) of the batch"):
            getattr(kt, name)(sometimes, *states)

    def test_armature_helps(self, name):
        builder = kt.ModelBuilder("helped")
        builder.add_body("link", "world", kt.Revolute((0, 0, 1)), inertia=NOTHING, armature=0.1)
        model = builder.build(check="finite")
        for target in ("eager", "cpu"):
            assert np.isfinite(getattr(kt, name)(model, *arguments(name, model), target=target)).all()


def test_what_does_not_divide_does_not_mind(massless):
    q, v = np.array([0.3, 0.4]), np.array([1.0, 2.0])
    for target in ("eager", "cpu"):
        assert np.isfinite(kt.mass_matrix(massless, q, target=target)).all()
        assert np.isfinite(kt.coriolis_matrix(massless, q, v, target=target)).all()


FUNCTIONS = [
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix", "kinetic_energy", "placements",
]  # fmt: skip
BAD = [np.nan, np.inf, -np.inf]


@pytest.fixture(scope="module")
def model() -> kt.Model:
    return arm(LINK, last=kt.Prismatic((1, 0, 0)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FUNCTIONS)
class TestNotFinite:
    """A state with NaN or infinity among its inputs gives NaN in all outputs; its neighbours do not care."""

    @pytest.mark.parametrize("bad", BAD)
    def test_eager(self, model, name, bad):
        for k in range(len(arguments(name, model))):
            states = arguments(name, model)
            states[k][-1] = bad
            assert np.isnan(getattr(kt, name)(model, *states, target="eager")).all()

    def test_eager_batch(self, model, name):
        self.neighbours(lambda *x: getattr(kt, name)(model, *x, target="eager"), name, model)

    @pytest.mark.parametrize("mode", MODES)
    def test_compiled_single(self, model, name, mode):
        kernel = kt.compile(getattr(kt, name), model, mode=mode)
        for bad in BAD:
            for k in range(len(arguments(name, model))):
                states = arguments(name, model)
                states[k][-1] = bad
                assert np.isnan(kernel(*states)).all()

    @pytest.mark.parametrize("mode", MODES)
    def test_compiled_batch(self, model, name, mode):
        self.neighbours(kt.compile(getattr(kt, name), model, mode=mode), name, model)

    def neighbours(self, function, name, model):
        states = arguments(name, model, (37,))
        clean = function(*states)
        spoiled = [x.copy() for x in states]
        spoiled[0][5::9, 0] = np.nan
        spoiled[-1][7::11, -1] = -np.inf
        is_bad = np.zeros(37, bool)
        is_bad[5::9] = is_bad[7::11] = True
        found = function(*spoiled)
        assert np.isnan(found[is_bad]).all()
        np.testing.assert_array_equal(found[~is_bad], clean[~is_bad])


def test_a_bad_state_beside_a_singular_one(sometimes):
    """NaN is not an error; a singular state is, wherever NaN stands."""
    states = arguments("forward_dynamics", sometimes, (9,))
    states[0][2, 1] = np.nan
    assert np.isnan(kt.forward_dynamics(sometimes, *states)[2]).all()
    states[0][5, 1] = 0.0
    with pytest.raises(SingularError, match="state 5"):
        kt.forward_dynamics(sometimes, *states)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("mode", MODES)
def test_exported_c(sometimes, tmp_path: Path, mode):
    """Status 1 for a singular state; NaN in, NaN out with status 0."""
    functions = [kt.forward_dynamics, kt.mass_matrix]
    c.export_c(functions, sometimes, tmp_path, prefix="robot", mode=mode)
    command = ["gcc", "-O1", "-std=c99", "-fPIC", "-shared", "robot.c", "-o", "robot.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    code = ctypes.CDLL(str(tmp_path / "robot.so"))

    def call(name: str, *inputs: np.ndarray, size: int) -> tuple[np.ndarray, int]:
        out = np.full(size, 77.0)
        status = code[f"robot_{name}"](*(ctypes.c_void_p(x.ctypes.data) for x in (*inputs, out)))
        return out, status

    q, v, tau = arguments("forward_dynamics", sometimes)
    a, status = call("forward_dynamics", q, v, tau, size=2)
    assert status == 0 and a == pytest.approx(kt.forward_dynamics(sometimes, q, v, tau), rel=1e-12)
    assert call("forward_dynamics", np.array([0.3, 0.0]), v, tau, size=2)[1] == 1
    for bad in BAD:
        spoiled = np.array([1.0, bad])
        for inputs in ((spoiled, v, tau), (q, spoiled, tau), (q, v, spoiled)):
            a, status = call("forward_dynamics", *inputs, size=2)
            assert status == 0 and np.isnan(a).all()
        M, status = call("mass_matrix", spoiled, size=4)
        assert status == 0 and np.isnan(M).all()


def test_kernels_are_made_once(massless):
    first = kt.compile(kt.mass_matrix, massless)
    assert kt.compile(kt.mass_matrix, massless) is first
