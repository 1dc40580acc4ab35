"""What a peer cannot hold is refused by name, or held nearly and noted; absent peers are named."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.interop.robots import eager, mechanism
from tests.joints.samples import Gimbal
from tests.model.samples import LINK, rich_model
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close

import kinetree as kt
from kinetree.interop import (
    from_mujoco,
    from_pinocchio,
    mujoco_maps,
    pinocchio_maps,
    to_mujoco,
    to_pinocchio,
)

OUT = {"pinocchio": to_pinocchio, "mujoco": to_mujoco}


@pytest.fixture(params=OUT)
def out(request):
    pytest.importorskip(request.param)
    return OUT[request.param]


def test_rotors_are_refused_or_reflected(out):
    builder = kt.ModelBuilder("geared")
    builder.add_body("arm", None, kt.Revolute((0, 1, 0)), inertia=LINK, joint_name="shoulder")
    builder.add_rotor(
        "shoulder", kt.Inertia(0.1, (0, 0, 0), np.diag([0.01, 0.01, 0.02]).tolist()), ratio=10.0
    )
    model = builder.build()
    with pytest.raises(
        kt.errors.ModelError, match=r"cannot represent the rotors of 'shoulder': use model\.replace"
    ):
        out(model)
    twin, maps = out(model, strict=False)
    assert any("reflected" in note for note in maps.notes)
    assert out(model.replace(rotors="reflected")).maps.notes == ()
    armature = twin.armature if out is to_pinocchio else twin.dof_armature
    assert armature[0] == pytest.approx(100 * 0.02)


@pytest.mark.parametrize("seed", range(12))
def test_rotors_are_exact_here(seed, rng):
    """Neither peer has them: the comparison is with first principles."""
    m = mechanism(seed, rotors=0.8, mimics=0.4, types=("revolute", "prismatic", "universal", "free"))
    model, (q, v) = m.build(), m.random_state(rng)
    truth, a = Lagrangian(m, q), rng.normal(size=model.nv)
    assert_close(eager("mass_matrix", model, q), truth.mass_matrix, 1e-12)
    assert_close(eager("inverse_dynamics", model, q, v, a), truth.inverse_dynamics(v, a), 1e-11, 10.0)


def test_armature_that_is_more_than_a_diagonal(out):
    builder = kt.ModelBuilder("ball")
    builder.add_body("a", None, kt.Spherical(), inertia=LINK, armature=(0.1, 0.2, 0.3))
    model = builder.build()
    with pytest.raises(kt.errors.ModelError, match="cannot represent the armature of"):
        out(model)
    assert out(model, strict=False).maps.notes


def test_joints_of_your_own_are_refused(out):
    builder = kt.ModelBuilder("own")
    builder.add_body("a", None, Gimbal(), inertia=LINK)
    with pytest.raises(kt.errors.ModelError, match="has no joint of type"):
        out(builder.build())


def test_symbols_are_refused(out):
    sympy = pytest.importorskip("sympy")
    builder = kt.ModelBuilder("symbolic")
    builder.add_body("a", None, kt.Revolute(), inertia=kt.Inertia(sympy.Symbol("m"), (0, 0, 1)))
    with pytest.raises(kt.errors.ModelError, match="is not numeric"):
        out(builder.build())


def test_a_rich_model_is_held_nearly(out):
    model = rich_model()
    with pytest.raises(kt.errors.ModelError):
        out(model)
    maps = out(model, strict=False).maps
    assert len(maps.notes) >= 2 and maps.nv == model.nv


def test_pairs_that_do_not_match():
    pin = pytest.importorskip("pinocchio")
    arm, twin = kt.zoo.arm7(), to_pinocchio(kt.zoo.quadruped()).model
    with pytest.raises(kt.errors.ModelError, match="has no counterpart among Pinocchio's joints"):
        pinocchio_maps(arm, twin)
    with pytest.raises(kt.errors.ModelError, match=r"has no joints .* that Pinocchio has"):
        pinocchio_maps(kt.ModelBuilder("empty").build(), twin)
    assert pin.Model().nq == 0
    with pytest.raises(kt.errors.ModelError, match="mimic is 'soft'"):
        to_pinocchio(arm, mimic="soft")


def test_pairs_that_do_not_match_in_mujoco():
    pytest.importorskip("mujoco")
    twin = to_mujoco(kt.zoo.quadruped()).model
    with pytest.raises(kt.errors.ModelError, match="among MuJoCo's joints"):
        mujoco_maps(kt.zoo.arm7(), twin)
    with pytest.raises(kt.errors.ModelError, match=r"has no joints .* that MuJoCo has"):
        mujoco_maps(kt.ModelBuilder("empty").build(), twin)


@pytest.mark.parametrize("name", ['say "hi"', "a<b&c", "käfer", "a b"])
def test_odd_names_survive(out, name):
    builder = kt.ModelBuilder("odd")
    builder.add_body(name, None, kt.Revolute(), inertia=LINK)
    maps = out(builder.build()).maps
    assert maps.joints == {name: (name,)}


@pytest.mark.parametrize("convert", [to_pinocchio, to_mujoco, from_pinocchio, from_mujoco])
def test_an_absent_peer_is_named(convert, monkeypatch):
    model = kt.zoo.arm7()
    for name in ("pinocchio", "mujoco"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    with pytest.raises(kt.errors.KinetreeError, match=r"is not installed .*pip install 'kinetree\[peers\]'"):
        convert(model)


def test_peers_are_imported_late():
    code = "import sys, kinetree.interop; sys.exit(bool({'pinocchio', 'mujoco'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
