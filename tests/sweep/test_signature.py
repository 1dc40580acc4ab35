"""Signatures: what they say is read exactly, and what cannot be meant is refused."""

from __future__ import annotations

import pytest

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree.sweep import REGISTRY, REQUIRED, Argument, algorithm, choice
from kinetree.sweep.signature import read

ROBOT = kt.zoo.puma560()


def test_inputs_and_outputs_in_order():
    inputs, outputs = read("q, v, f_ext? , goal(3),gain -> tau, J(6, nv)")
    assert inputs == (
        Argument("q", ("nq",)),
        Argument("v", ("nv",)),
        Argument("f_ext", ("nb", 6), optional=True),
        Argument("goal", (3,)),
        Argument("gain", ()),
    )
    assert outputs == (Argument("tau", ("nv",)), Argument("J", (6, "nv")))


def test_dimensions_say_more_than_the_name():
    (x, y), _ = read("x(2, nb), q? -> energy")
    assert (x.shape, y.shape, y.optional) == ((2, "nb"), ("nq",), True)


@pytest.mark.parametrize(
    ("signature", "sizes"),
    [
        ("a -> x", (6,)),
        ("f_ext -> x", (6, 6)),
        ("loads(nr, 6) -> x", (len(ROBOT.rotors), 6)),
        ("y(6 frames, nv) -> x", (12, 6)),
        ("y(frames, 2) -> x", (2, 2)),
        ("gain -> x", ()),
    ],
)
def test_sizes_for_a_model(signature, sizes):
    (argument,), _ = read(signature)
    assert argument.sizes(ROBOT, {"frames": ("link1", "link6")}) == sizes


def test_the_shape_as_it_is_written():
    (a, b, c), _ = read("f_ext, y(6 frames), gain -> x")
    assert (a.text, b.text, c.text) == ("(..., nb, 6)", "(..., 6 frames)", "(...)")
    assert a.length(ROBOT) == 36 and c.length(ROBOT) == 1


@pytest.mark.parametrize(
    "signature",
    ["q, v", "q ->", "q v -> tau", "q, , v -> tau", "x(-1) -> y", "x(n v) -> y", "q?? -> y", "3q -> y"],
)
def test_what_cannot_be_read(signature):
    with pytest.raises(TypeError, match=r"signature|dimensions"):
        read(signature)


def test_a_body_must_match_its_signature():
    with pytest.raises(TypeError, match=r"does not match the parameters \['v', 'q'\]"):

        @algorithm("q, v -> tau")
        def swapped(tree, v, q):
            """Never run."""

    assert "swapped" not in REGISTRY


def test_options_are_what_is_by_name_only():
    jacobian = kt.jacobian.algorithm
    assert jacobian.options == {"frame": REQUIRED, "reference": "body"}
    assert [a.name for a in jacobian.inputs] == ["q", "point"]


def test_functions_of_the_coordinates_alone():
    """Canonical frames serve exactly those whose shapes are made of nq and nv, without options."""
    assert kt.mass_matrix.algorithm.is_generalised and kt.mass_matrix_logdet.algorithm.is_generalised
    assert not kt.placements.algorithm.is_generalised
    assert not kt.jacobian.algorithm.is_generalised
    assert not kt.hybrid_dynamics.algorithm.is_generalised


def test_a_choice():
    assert choice("side", "left", "left", "right") == "left"
    with pytest.raises(KinetreeError, match="side must be one of 'left', 'right', not 'up'"):
        choice("side", "up", "left", "right")
