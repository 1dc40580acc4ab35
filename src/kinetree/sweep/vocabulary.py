"""The vocabulary of arguments: shape, meaning, unit and choices of each name, written once."""

from __future__ import annotations

from typing import NamedTuple

Dimension = str | int


class Word(NamedTuple):
    """What a name means in any signature, as an argument or an option.

    `shape`: of an array, in terms of nq, nv, nb (bodies) and numbers; None if it is not an array.
    `absent`: the default of an optional argument, in words. `choices`: the words that an option may be.
    `type`: the type annotation of an option.
    """

    meaning: str
    shape: tuple[Dimension, ...] | None = None
    unit: str = ""
    absent: str = ""
    choices: tuple[str, ...] = ()
    type: str = ""

    @property
    def text(self) -> str:
        """One line for a reader."""
        said = self.meaning or " or ".join(f'"{choice}"' for choice in self.choices)
        return f"{said}{self.unit and f', {self.unit}'}{self.absent and f'; {self.absent} if left out'}"


WORDS = {
    "q": Word("positions of the joints", ("nq",), "rad or m"),
    "v": Word("velocities", ("nv",), "rad/s or m/s"),
    "a": Word("accelerations", ("nv",), "rad/s^2 or m/s^2"),
    "tau": Word("generalised forces", ("nv",), "N m or N"),
    "x": Word("any vector over the velocities", ("nv",)),
    "weights": Word("one number for each generalised force", ("nv",)),
    "known": Word("accelerations of the joints in `accelerate`, generalised forces of the others", ("nv",)),
    "dt": Word("length of the step", (), "s", "continuous time, where that is possible,"),
    "kp": Word("position gains of the servos", ("nv",), "N m/rad or N/m", "zero"),
    "kd": Word("velocity gains of the servos", ("nv",), "N m s/rad or N s/m", "zero"),
    "setpoint": Word("positions that the servos hold", ("nq",), "rad or m", "the neutral position"),
    "integrator": Word("", choices=("discrete", "rk4", "variational")),
    "passive": Word("with the damping, friction and springs of the joints", type="bool"),
    "limits": Word("with stops at the joint limits", type="bool"),
    "efforts": Word("forces along the velocity of each joint", ("nu",), "N m or N"),
    "contact_stiffness": Word("stiffness of each contact point",
        ("points",), "N/m", "the model's own"),
    "contact_dissipation": Word(
        "dissipation of each contact point: growth of its force with the approach speed",
        ("points",), "s/m", "the model's own"),
    "contact_friction": Word("Coulomb friction coefficient of each contact point",
        ("points",), "", "the model's own"),
    "creep": Word("speed below which contact points stick", (), "m/s", "1e-4"),
    "contact_accuracy": Word("share of all contact forces that may be missing after the last Newton step",
        (), "", "1e-4"),
    "rub": Word("dry friction along the velocity of each joint", ("nu",), "N m or N", "none"),
    "rubbing": Word("the joint velocities to which `rub` applies", type="Sequence[int]"),
    "bounded": Word("velocities of joints along which `pulls` act: (place, bound below, above, is a stop)",
        type="Sequence[tuple[int, bool, bool, bool]]"),
    "ground": Word("what the model stands on: True for its own ground, False for nothing",
        type="Ground | Heightfield | bool"),
    "newton_limit": Word("largest number of Newton steps for contact; None for as many as needed",
        type="int | None"),
    "added": Word("inertia added along the velocity of each joint", ("nu",), "kg m^2 or kg", "none"),
    "extra": Word('further columns: "rotors", "armature", "damping", "friction"', type="str | Sequence[str]"),
    "C": Word("a matrix to be compared with the Coriolis matrix", ("nv", "nv")),
    "f_ext": Word("wrench [moment; force] on each body, body axes, about the body origin",
        ("nb", 6), "N m and N", "zero"),
    "point": Word("a point in the axes of the frame", (3,), "m", "its origin"),
    "momentum": Word("the wanted momentum [angular; linear], world axes, about the world origin",
        (6,), "N m s and N s", "zero"),
    "impulse": Word("[angular; linear], on the frame", (6,), "N m s and N s"),
    "parameters": Word(
        "of each body: mass, first moment, inertia about the body origin (xx, yy, zz, xy, xz, yz)",
        ("nb", 10), "kg, kg m, kg m^2", "the model's own"),
    "gravity": Word("acceleration of free fall, world axes", (3,), "m/s^2", "the model's own"),
    "frame": Word("name of a frame or body", type="str"),
    "base": Word("name of the frame or body that it is relative to", type="str"),
    "axes": Word("name of the frame or body whose axes the result has", absent="`frame`", type="str"),
    "seen_from": Word("name of the frame or body in which the derivative is taken", absent="`frame`",
        type="str"),
    "frames": Word("names of frames or bodies", type="str | Sequence[str]"),
    "forces": Word("a wrench [moment; force] for each frame by name", type="Mapping[str, Numbers] | Numbers"),
    "constraints": Word("one or several constraints that hold", type="Constraint | Sequence[Constraint]"),
    "period": Word("time constant with which drift is pulled back", (), "s", "no stabilisation"),
    "restitution": Word("share of the velocity along the constraints that is returned", (), "", "zero"),
    "unactuated": Word("names of the joints without a motor", type="Sequence[str] | None"),
    "steps": Word("how many Newton steps", type="int"),
    "accelerate": Word("names of the joints whose acceleration is known", type="Sequence[str]"),
    "reference": Word('"body", "world" or "aligned" (axes of the world, origin of the frame)',
        choices=("body", "world", "aligned")),
    "hold": Word("the axes in which f_ext stays constant as q changes", choices=("body", "world")),
    "kind": Word("", choices=("spatial", "classical")),
    "side": Word("", choices=("outboard", "inboard")),
    "rotors": Word("", choices=("reflected", "lumped", "none")),
    "smoothing": Word("velocity over which friction changes its sign", unit="rad/s or m/s", type="float"),
    "out": Word("arrays for the results", type="Array | tuple[Array, ...]"),
    "target": Word('where it runs: "cpu", "cuda" or "eager"', absent="chosen by the kind of number",
        type="str"),
}  # fmt: skip


def implied(name: str) -> tuple[Dimension, ...]:
    """The shape of a name unless a signature says otherwise; () for a name that the vocabulary lacks."""
    return (WORDS[name].shape or ()) if name in WORDS else ()


def meaning(name: str, required: bool = False) -> str:
    """What an argument is, on one line; nothing for a name that the vocabulary lacks."""
    word = WORDS.get(name, Word(""))
    return (word._replace(absent="") if required else word).text
