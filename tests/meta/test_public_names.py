"""The names that users are promised, with the arguments that they take."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from tests.conftest import each

import kinetree as kt
from kinetree.elsewhere import CALLED_HERE
from kinetree.names import MODULE_OF
from kinetree.sweep.vocabulary import WORDS

# Arguments after the model, in the order of a call; `name=default`, nothing for None.
FUNCTIONS = {
    "placements": "q",
    "frame_placement": "q frame point=",
    "frame_velocity": "q v frame reference=body",
    "frame_acceleration": "q v a frame reference=body kind=spatial",
    "relative_placement": "q frame base",
    "relative_velocity": "q v frame base axes=",
    "relative_acceleration": "q v a frame base axes= seen_from=",
    "body_velocities": "q v",
    "body_accelerations": "q v a kind=spatial",
    "partial_velocities": "q",
    "jacobian": "q frame reference=body",
    "jacobian_rate": "q v frame reference=body",
    "inverse_dynamics": "q v a f_ext=",
    "forward_dynamics": "q v tau f_ext=",
    "hybrid_dynamics": "q v known accelerate=()",
    "augmented_dynamics": "q v tau added f_ext=",
    "step": "q v tau f_ext=",
    "contact_forces": "q v tau dt f_ext= kp= kd= setpoint= passive=True limits=True ground=True",
    "simulate": "q0 v0",
    "mass_matrix": "q",
    "inverse_mass_matrix": "q",
    "mass_matrix_rate": "q v",
    "mass_matrix_product": "q x",
    "mass_matrix_solve": "q x",
    "mass_matrix_logdet": "q",
    "mass_matrix_trace": "q",
    "bias_force": "q v f_ext=",
    "gravity_force": "q",
    "coriolis_matrix": "q v",
    "coriolis_matrices": "q v",
    "coriolis_product": "q v x",
    "coriolis_transpose_product": "q v x",
    "christoffel_symbols": "q",
    "christoffel_values": "q",
    "kinetic_energy": "q v",
    "potential_energy": "q",
    "center_of_mass": "q",
    "center_of_mass_velocity": "q v",
    "center_of_mass_jacobian": "q",
    "momentum": "q v frame=world",
    "centroidal_momentum": "q v",
    "centroidal_momentum_matrix": "q",
    "centroidal_momentum_matrix_rate": "q v",
    "system_inertia": "q",
    "composite_inertias": "q",
    "composite_moments": "q",
    "articulated_inertias": "q",
    "joint_wrenches": "q v a f_ext=",
    "constraint_forces": "q v a f_ext=",
    "base_reaction": "q v a f_ext=",
    "composite_wrenches": "q v a f_ext=",
    "articulated_wrenches": "q v tau f_ext= side=outboard",
    "inverse_dynamics_composite": "q v a f_ext=",
    "inverse_dynamics_inertial": "q v a f_ext=",
    "forward_dynamics_concurrent": "q v tau f_ext=",
    "gravity_force_composite": "q",
    "mass_matrix_inertial": "q",
    "composite_moments_walker_orin": "q",
    "christoffel_symbols_second_kind": "q",
    "mass_matrix_partials": "q",
    "bias_force_hessian": "q",
    "admissibility": "q v C",
    "nullify_momentum": "q v momentum=",
    "operational_space_inertia": "q frames reference=body",
    "innovations": "q x", "innovations_response": "q x", "augmented_innovations": "q x added",
    "augmented_innovations_response": "q x added",
    "impulse_response": "q frame impulse reference=aligned",
    "passive_force": "q v smoothing=0.0",
    "spring_energy": "q",
    "rotor_error": "q v tau rotors=reflected",
    "rotor_error_map": "ratios inertias rotors=reflected states=20",
    "system_velocity": "q v",
    "external_wrenches": "q forces frames=() reference=aligned",
    "rotor_wrenches": "q v a",
    "motor_torques": "tau",
    "rotor_ratios": "",
    "loop_force": "q efforts limits=True",
    "loop_matrix": "q",
    "loop_wrenches": "q v a f_ext=",
    "inverse_dynamics_derivatives": "q v a f_ext= hold=body",
    "forward_dynamics_derivatives": "q v tau f_ext= hold=body",
    "inverse_dynamics_second_derivatives": "q v a f_ext=",
    "inverse_dynamics_hessian": "q v a weights f_ext=",
    "linearize": "q v tau dt= integrator=rk4",
    "torque_regressor": "q v a extra=()",
    "energy_regressor": "q v",
    "momentum_regressor": "q v",
    "operators": "q v=",
}
JOINTS = "Fixed Revolute Prismatic Helical Cylindrical Universal Planar PlanarTwist Spherical Free".split()
ERRORS = """
    KinetreeError ModelError ShapeError FrameError TraceError CompileError SingularError SimulationError
""".split()
ZOO = """
    pendulum double_pendulum cart_pole chain tree auto_tree geared_tree star puma560
    arm7 legged quadruped biped humanoid spacecraft
""".split()
MODEL = """
    name nq nv nbodies body_names joint_names frame_names parents gravity total_mass neutral random_state
    integrate difference replace lock attach add_frame subtree to_dict from_dict is_ancestor path branch
    children depth report coordinate_index loops assemble spanning
""".split()
VALUES = {"frame": "pole", "base": "cart", "frames": "pole", "forces": {}, "impulse": np.zeros(6),
          "C": np.zeros((2, 2))}  # fmt: skip
ELSEWHERE = """
    Pose Rotation Inertia ModelBuilder Model load save zoo errors compile export_c operators letters
    function_of identities interop
    jvp vjp jvp_of vjp_of jacobian_of base_parameters identify regressor_columns
    Trajectory jax torch Frames
""".split()


def test_is_there():
    def check(name):
        assert hasattr(kt, name) and name in kt.__all__ and name in dir(kt)

    each([*FUNCTIONS, *JOINTS, *ELSEWHERE], check)


def test_what_is_offered_exists():
    def check(name):
        assert getattr(kt, name) is not None

    each(kt.__all__, check)


def test_function_of_a_model():
    """Its docstring starts with a sentence, and it takes the promised arguments in the promised order."""

    def check(name):
        function = getattr(kt, name)
        first = inspect.getdoc(function).split("\n\n")[0]
        assert first[0].isupper() and first.endswith(".")
        model, *rest = inspect.signature(function).parameters.values()
        assert (model.name, model.kind, model.default) == ("model", model.POSITIONAL_OR_KEYWORD, model.empty)
        assert " ".join(written(p) for p in rest if p.kind is p.POSITIONAL_OR_KEYWORD) == FUNCTIONS[name]
        if isinstance(function, kt.Function):
            keywords = [(p.name, p.default) for p in rest if p.kind is p.KEYWORD_ONLY]
            assert keywords[-4:] == [(word, None) for word in ("parameters", "gravity", "out", "target")]

    each(FUNCTIONS, check)


def test_no_option_comes_before_an_optional_array():
    """In positional order; an optional array that stands after an option is given by name."""

    def check(name):
        function = getattr(kt, name)
        inputs = {a.name for a in function.inputs}
        _, *rest = inspect.signature(function).parameters.values()
        places = [p for p in rest if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is not p.empty]
        optional = [p.name in inputs for p in places]
        assert optional == sorted(optional, reverse=True)

    each([n for n in FUNCTIONS if isinstance(getattr(kt, n), kt.Function)], check)


def test_too_many_arguments_by_position_are_refused():
    model = kt.zoo.cart_pole()
    zero = np.zeros(model.nv)
    with pytest.raises(kt.errors.ArgumentError, match=r"at most 4.*q, v, known, accelerate.*f_ext by name"):
        kt.hybrid_dynamics(model, zero, zero, zero, (), np.zeros((2, 6)))


def written(p: inspect.Parameter) -> str:
    """A parameter as the table above has it."""
    if p.default is p.empty:
        return p.name
    return f"{p.name}={'' if p.default is None else p.default}"


def test_a_position_means_what_the_signature_says():
    """An array of the wrong shape is reported under the name that stands in its place."""

    def check(name):
        model, function = kt.zoo.cart_pole(), getattr(kt, name)
        needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty][1:]
        given: dict = {p.name: VALUES.get(p.name, np.zeros(model.nv)) for p in needed}
        named = {p.name: given.pop(p.name) for p in needed if p.kind is p.KEYWORD_ONLY}
        for wrong in given:
            if isinstance(function, kt.Function) and WORDS[wrong].shape:
                values = {**given, wrong: np.zeros(model.nv + 1)}.values()
                with pytest.raises(kt.errors.ShapeError, match=rf"\b{wrong} has shape"):
                    function(model, *values, **named)

    each(FUNCTIONS, check)


def test_every_function_of_a_model_is_promised():
    homes = ("kinetree.functions", "kinetree.derived", "kinetree.drives")
    assert {name for name, home in MODULE_OF.items() if home in homes} <= set(FUNCTIONS)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("rnea", "kt.inverse_dynamics"), ("crba", "kt.mass_matrix"), ("aba", "kt.forward_dynamics"),
        ("forward_kinematics", "kt.placements"), ("nonLinearEffects", "kt.bias_force"),
        ("computeJointJacobians", "kt.jacobian"), ("mj_inverse", "kt.inverse_dynamics"),
        ("CalcMassMatrix", "kt.mass_matrix"), ("FDab", "kt.forward_dynamics"), ("load_urdf", "kt.load"),
        ("integrate", "model.integrate"), ("inverse_dynamiks", "did you mean kt.inverse_dynamics?"),
        ("Jacobian", "did you mean kt.jacobian?"), ("computeMassMatrx", "dir(kinetree)"),
    ],
)  # fmt: skip
def test_a_name_from_elsewhere_leads_to_ours(name, ours):
    with pytest.raises(AttributeError, match=f"{re.escape(repr(name))}.*{re.escape(ours)}"):
        getattr(kt, name)


def test_names_from_elsewhere_are_not_ours_and_lead_somewhere():
    model = kt.zoo.cart_pole()
    for name, ours in CALLED_HERE.items():
        assert name not in kt.__all__
        owner, _, found = ours.partition(",")[0].partition("(")[0].partition(".")
        assert not found or hasattr({"kt": kt, "model": model}[owner], found), f"{name}: {ours}"


def test_private_names_are_just_missing():
    with pytest.raises(AttributeError, match=r"has no attribute '__wrapped__'$"):
        kt.__wrapped__


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
