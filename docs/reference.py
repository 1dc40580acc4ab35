"""The pages of the reference: which public names stand where, and their table of contents."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from docs.cli import command_line
from docs.entries import COMMON, entry, found
from docs.examples import setup

import kinetree as kt
from docs import docstrings
from kinetree.names import FUNCTIONS
from kinetree.sweep.vocabulary import WORDS

FOLDER = Path(__file__).parent / "reference"


class Page(NamedTuple):
    """A page of the reference and the names on it; `module:name` is what a public name gives or builds on."""

    title: str
    about: str
    names: str

    @property
    def listed(self) -> list[str]:
        return (FUNCTIONS.get(self.title, "") + " " + self.names).split()


PAGES = {
    "kinematics": Page(
        "Where things are and how they move",
        "Poses, velocities, accelerations and Jacobians of bodies and frames.",
        "relative_placement relative_velocity relative_acceleration Frames "
        "kinetree.kinematics.frames:Instant inverse_kinematics kinetree.kinematics.inverse:Solution",
    ),
    "dynamics": Page(
        "Equations of motion",
        "M(q) a + C(q, v) v + g(q) = tau, solved for one side or the other.",
        "operational_space_inertia impulse_response",
    ),
    "mass-matrix": Page(
        "The mass matrix", "The matrix, its inverse, its rate, and products in O(N).", "mass_matrix_partials"
    ),
    "coriolis": Page(
        "Velocity-dependent terms",
        "The Coriolis matrix and the Christoffel symbols.",
        "christoffel_symbols_second_kind bias_force_hessian admissibility",
    ),
    "energy": Page("Energy and momentum", "What is conserved.", "system_velocity nullify_momentum"),
    "forces": Page(
        "Forces between bodies", "Wrenches through joints and on the ground.", "external_wrenches"
    ),
    "constraints": Page(
        "Constraints",
        "Points, frames, distances, joints and loops that are kept, and the dynamics under them.",
        "constrained_dynamics constrained_inverse_dynamics constraint_jacobian constraint_residual delassus "
        "impact project PointConstraint FrameConstraint DistanceConstraint JointConstraint LoopConstraint "
        "Constraint",
    ),
    "loops": Page(
        "Loops",
        "Bodies that are connected in a circle: all joints by the independent ones.",
        "loop_matrix loop_force loop_wrenches",
    ),
    "drives": Page(
        "Drives and springs",
        "Rotors behind gears, and what joints do by themselves.",
        "rotor_ratios rotor_wrenches motor_torques rotor_error rotor_error_map passive_force "
        "spring_energy",
    ),
    "routes": Page(
        "The same by other routes",
        "Other algorithms for the same results, as the papers have them.",
        "alternatives",
    ),
    "derivatives": Page(
        "Derivatives",
        "Along increments of q (`model.integrate(q, dq)`), so that every derivative has nv columns.",
        "inverse_dynamics_second_derivatives inverse_dynamics_hessian linearize "
        "jvp vjp jvp_of vjp_of jacobian_of",
    ),
    "identification": Page(
        "Identification",
        "Inertial parameters from measured motion.",
        "torque_regressor energy_regressor momentum_regressor regressor_columns base_parameters "
        "kinetree.identification.base:BaseParameters identify kinetree.identification.identify:Identified",
    ),
    "model": Page("Models", "The robot: an immutable tree of bodies.", "Model ModelBuilder"),
    "joints": Page(
        "Joints",
        "Types of joints, and the contract that a type of your own fulfils.",
        "Fixed Revolute Prismatic Helical Cylindrical Universal Planar PlanarTwist Spherical Free "
        "kinetree.joints:Joint",
    ),
    "geometry": Page(
        "Shapes and ground",
        "What touches, and what it stands on.",
        "Point Sphere Capsule Box Cylinder Vertices Ground Heightfield Pair kinetree.model.shapes:Shape "
        "kinetree.model.geometry:Geometry kinetree.model.geometry:ContactPoint "
        "kinetree.model.pairs:PairPoint",
    ),
    "values": Page(
        "Poses, rotations, inertias",
        "Small immutable values.",
        "Pose Rotation Inertia spatial kinetree.spatial.value:Value",
    ),
    "files": Page(
        "Robot files and ready-made robots", "Loading, saving, and the zoo.", "load save robots zoo interop"
    ),
    "motion": Page(
        "Motion in time", "Steps, simulations, trajectories.", "step simulate contact_forces Trajectory"
    ),
    "scale": Page("Many runs", "Sweeps over random numbers, on one machine or many.", "scale"),
    "learning": Page("Learning", "Many robots that act, as Gymnasium's vector interface has them.", "gym"),
    "control": Page("Control", "Control laws: by hand, in the time loop, as C.", "control"),
    "execution": Page(
        "Functions and how they run",
        "Functions of your own, kernels, C, threads, GPUs, the cache.",
        "Function function compile export_c threads cache cuda",
    ),
    "bridges": Page(
        "Inside other libraries",
        "Functions of a model in JAX, PyTorch, CasADi and SciPy.",
        "jax torch casadi scipy",
    ),
    "operators": Page(
        "Spatial operators",
        "The operators of the spatial operator algebra as objects.",
        "operators letters function_of identities kinetree.soa.state:SpatialOperators "
        "kinetree.soa.operator:Operator kinetree.soa.influence:InfluenceMatrix",
    ),
    "symbolic": Page("Symbols", "Equations of motion in SymPy.", "symbolic"),
    "pictures": Page("Pictures", "Plots, drawings, the viewer.", "pictures"),
    "numbers": Page("Numbers", "What bodies of functions compute with.", "ops"),
    "textbook": Page("One rigid body, as textbooks write it", "For checks and for teaching.", "textbook"),
    "errors": Page("Errors", "What can go wrong.", "errors"),
}


def pages() -> dict[Path, str]:
    """All pages of the reference."""
    _refuse_missing()
    written = {FOLDER / f"{name}.md": page(name, spec) for name, spec in PAGES.items()}
    return written | {FOLDER / "index.md": index(), FOLDER / "command-line.md": command_line()}


def _refuse_missing() -> None:
    """Every public name has one place."""
    listed = [name for spec in PAGES.values() for name in spec.listed if ":" not in name]
    missing = set(kt.__all__) - set(listed) - {"__version__"}
    twice = {name for name in listed if listed.count(name) > 1}
    if missing or twice:
        raise SystemExit(f"docs/reference.py: put each public name on one page: {sorted(missing | twice)}")


def page(name: str, spec: Page) -> str:
    lines = [f"# {spec.title}", "", spec.about, ""]
    lines += ["```python", setup(name), "```", ""]
    for own in spec.listed:
        lines += entry(own)
    return "\n".join(lines).rstrip() + "\n"


def index() -> str:
    """All public names by purpose, and what all functions of a model have in common."""
    lines = [
        "# Reference",
        "",
        "`import kinetree as kt`. Each page begins with the lines that its examples start from. Symbols:",
        "[notation](../notation.md); sources: [references](../references.md).",
        "",
        "Every function of a model takes the model, its own arguments by position or name, and by name:",
        "",
        "| keyword | shape | meaning |",
        "|---|---|---|",
        *(f"| `{name}` | {shape(name)} | {docstrings.cell(WORDS[name].text)} |" for name in COMMON),
        "",
        "Inputs have any number of batch axes in front (`...` below), which broadcast over all inputs as in",
        "NumPy. float64 and float32 are kept; other kinds of numbers run in plain Python. N counts bodies,",
        "d the depth of the tree.",
    ]
    for file, spec in PAGES.items():
        lines += ["", f"## [{spec.title}]({file}.md)", "", "| name | |", "|---|---|"]
        for name in spec.listed:
            own = name.rpartition(":")[2]
            lines.append(f"| [`{own}`]({file}.md#{own.lower()}) | {first_sentence(found(name))} |")
    lines += [
        "",
        "## [Command line](command-line.md)",
        "",
        "`kinetree info`, `check`, `convert`, `simulate` and the others.",
    ]
    return "\n".join(lines) + "\n"


def first_sentence(value: object) -> str:
    """The first sentence of a docstring, for a cell of a table."""
    text = docstrings.summary(getattr(value, "body", value))
    head = text.partition(". ")[0]
    return head.replace("|", "\\|").rstrip(".:")


def shape(name: str) -> str:
    """The shape of an argument of the vocabulary; nothing for what is not an array."""
    core = WORDS[name].shape
    return "" if core is None else f"({', '.join(['...', *map(str, core)])})"
