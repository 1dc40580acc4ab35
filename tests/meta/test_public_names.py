"""The names that users are promised, with the arguments that they take."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import kinetree as kt

FUNCTIONS = {
    "placements": "q",
    "frame_placement": "q frame",
    "body_velocities": "q v",
    "body_accelerations": "q v a",
    "jacobian": "q frame reference=body",
    "jacobian_rate": "q v frame reference",
    "inverse_dynamics": "q v a f_ext=",
    "forward_dynamics": "q v tau f_ext=",
    "hybrid_dynamics": "q v known accelerate f_ext=",
    "mass_matrix": "q",
    "inverse_mass_matrix": "q",
    "mass_matrix_rate": "q v",
    "mass_matrix_product": "q x",
    "mass_matrix_solve": "q x",
    "bias_force": "q v",
    "gravity_force": "q",
    "coriolis_matrix": "q v",
    "coriolis_product": "q v x",
    "coriolis_transpose_product": "q v x",
    "christoffel_symbols": "q",
    "kinetic_energy": "q v",
    "potential_energy": "q",
    "center_of_mass": "q",
    "momentum": "q v",
    "centroidal_momentum": "q v",
    "centroidal_momentum_matrix": "q",
    "nullify_momentum": "q v",
    "composite_inertias": "q",
    "articulated_inertias": "q",
    "joint_wrenches": "q v a f_ext=",
    "constraint_forces": "q v a f_ext=",
    "operational_space_inertia": "q frames",
}
JOINTS = "Fixed Revolute Prismatic Helical Cylindrical Universal Planar Spherical Free".split()
ERRORS = "KinetreeError ModelError ShapeError FrameError TraceError CompileError SingularError".split()
ZOO = """
    pendulum double_pendulum cart_pole chain tree auto_tree star puma560
    arm7 quadruped biped humanoid spacecraft
""".split()
MODEL = """
    name nq nv nbodies body_names joint_names frame_names parents gravity total_mass neutral random_state
    integrate difference replace lock attach subtree to_dict from_dict is_ancestor path branch children depth
    report coordinate_index
""".split()
ELSEWHERE = """
    Pose Rotation Inertia ModelBuilder Model load save zoo errors compile export_c operators interop
""".split()


@pytest.mark.parametrize("name", [*FUNCTIONS, *JOINTS, *ELSEWHERE])
def test_is_there(name):
    assert hasattr(kt, name) and name in kt.__all__ and name in dir(kt)


@pytest.mark.parametrize("name", kt.__all__)
def test_what_is_offered_exists(name):
    assert getattr(kt, name) is not None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_a_model(name):
    """Its docstring starts with a sentence, and it takes the promised arguments by name."""
    function = getattr(kt, name)
    first = inspect.getdoc(function).split("\n\n")[0]
    assert first[0].isupper() and first.endswith(".")
    names = [word.partition("=")[0] for word in FUNCTIONS[name].split()]
    assert takes(function)[: len(names)] == names


def takes(function: Any) -> list[str]:
    """Names of the arguments after the model."""
    algorithm = getattr(function, "algorithm", None)
    if algorithm is None:
        return list(inspect.signature(function).parameters)[1:]
    names = [a.name for a in algorithm.inputs] + list(algorithm.options)
    order = [word.partition("=")[0] for word in FUNCTIONS[function.__name__].split()]
    return sorted(names, key=lambda n: order.index(n) if n in order else len(order))


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    assert issubclass(getattr(kt.errors, name), kt.errors.KinetreeError)


@pytest.mark.parametrize("name", ZOO)
def test_zoo(name):
    assert isinstance(getattr(kt.zoo, name)(), kt.Model)


@pytest.mark.parametrize("name", MODEL)
def test_model(name):
    assert hasattr(kt.zoo.cart_pole(), name)


def test_loading_takes_the_promised_options():
    parameters = inspect.signature(kt.load).parameters
    assert {"format", "repair", "snap", "base", "package_dirs"} <= set(parameters)
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters.values())[1:])


def test_a_kernel_says_what_it_is():
    kernel = kt.compile(kt.inverse_dynamics, kt.zoo.pendulum())
    kernel(np.zeros(1), np.zeros(1), np.zeros(1))
    assert {"mul", "add", "div", "sqrt", "sincos", "flops"} <= set(kernel.ops)
    assert kernel.compile_seconds >= 0 and kernel.source and kernel.report()


def test_the_version():
    from importlib.metadata import version

    assert kt.__version__ == version("kinetree")
