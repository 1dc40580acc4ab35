"""Functions, kernels and what they give travel between processes."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt

ROBOT = kt.zoo.double_pendulum()
Q, V = ROBOT.random_state(0)
FUNCTIONS = {
    "algorithm": kt.mass_matrix,
    "derived": kt.christoffel_symbols_second_kind,
    "derivative": kt.jacobian_of(kt.potential_energy),
    "options": kt.frame_placement.with_options(frame="lower"),
}
NEEDS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
TARGETS = ["cpu", "eager", pytest.param("c", marks=NEEDS_CC)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function = FUNCTIONS[name]
    again = pickle.loads(pickle.dumps(function))
    assert np.array_equal(again(ROBOT, Q), function(ROBOT, Q))
    assert np.array_equal(copy.deepcopy(function)(ROBOT, Q), function(ROBOT, Q))


@kt.function("q -> height")
def height(model, q):
    return q[0]


@pytest.mark.parametrize("name", ["height", "nowhere"])
def test_no_other_function_of_the_same_name_comes_back(name):
    def body(model, q):
        return 2 * q[1]

    body.__name__ = name
    local = kt.function("q -> height")(body)
    assert copy.deepcopy(local) is copy.copy(local) is local
    with pytest.raises(pickle.PicklingError, match=f"{name} cannot be pickled: .*top level of a module"):
        pickle.dumps(local)
    assert pickle.loads(pickle.dumps(height)) is height


@pytest.mark.parametrize("target", TARGETS)
def test_kernels(target):
    kernel = kt.compile(kt.jacobian, ROBOT, frame="lower", target=target)
    again = pickle.loads(pickle.dumps(kernel))
    assert np.array_equal(again(Q), kernel(Q))


def test_a_kernel_in_another_process(tmp_path):
    kernel = kt.compile(kt.mass_matrix, ROBOT)
    (tmp_path / "kernel").write_bytes(pickle.dumps((kernel, Q, kernel(Q))))
    code = "import pickle, sys; k, q, M = pickle.load(open(sys.argv[1], 'rb')); assert (k(q) == M).all()"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "kernel")], check=True)


def test_models_controllers_trajectories_and_values():
    run = kt.simulate(ROBOT, Q, V, duration=0.01, dt=1e-3)
    law = kt.control.PD(ROBOT, Q, kp=1.0, kd=1.0)
    assert pickle.loads(pickle.dumps(ROBOT)) == ROBOT
    assert np.array_equal(pickle.loads(pickle.dumps(run)).q, run.q)
    assert np.array_equal(pickle.loads(pickle.dumps(law))(0.0, Q + 1, V), law(0.0, Q + 1, V))
    for value in (kt.Pose.random(0), kt.Inertia(1.0, (0, 0, 1)), kt.spatial.Motion((1, 2, 3), (4, 5, 6))):
        assert np.array_equal(np.asarray(pickle.loads(pickle.dumps(value))), np.asarray(value))
