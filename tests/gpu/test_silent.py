"""Kernels that refuse states silently, for XLA: their results are NaN, and nothing is noted."""

from __future__ import annotations

import numpy as np
import pytest
from tests.gpu.emulator import Emulated

import kinetree as kt
from kinetree.compiler.emit.llvm import gpu_plan
from kinetree.compiler.passes.spoil import refuse_silently
from kinetree.compiler.passes.strands import strands
from kinetree.stages import TARGETS
from kinetree.stages.compile import job_for
from kinetree.stages.targets.cuda_code import same_bits
from kinetree.stages.targets.limbs import owners


@pytest.mark.parametrize(("mode", "count"), [(None, 1), (None, 5), ("looped", 0)])
def test_refused_states_are_nan(mode, count, monkeypatch):
    monkeypatch.setattr(gpu_plan, "TILES", (32,))
    job = job_for("test", kt.forward_dynamics, kt.zoo.quadruped(), None, {}, "float64", mode)
    loud = job.program(0)
    program = refuse_silently(loud)
    dealt = strands(program, *owners(job, program), count) if count else None
    states = job.samples(70)
    expected = TARGETS["cpu"].executable(job)(*states)
    refused, spoiled = [0, 33, 69], [2, 33, 40]
    states[0][refused, 3:7] *= 30.0
    states[1][spoiled, 1] = np.nan
    expected[[*refused, *spoiled]] = np.nan
    (found,), notes = Emulated(program, "float64", strands=dealt)(*states, blocks=1)
    assert notes[0] == -1 and same_bits(found, expected)
    _, notes = Emulated(loud, "float64", strands=dealt)(*states, blocks=1)
    assert notes[0] == 0


def test_programs_without_a_guard_stay_as_they_are():
    program = job_for("test", kt.inverse_dynamics, kt.zoo.arm7(), None, {}).program(0)
    assert refuse_silently(program) is program


@kt.function("q, v, tau, load -> a(nv)")
def loaded(model, q, v, tau, load):
    """Forward dynamics of a robot whose inertia is larger by a load: it must not be negative."""
    return kt.augmented_dynamics(model, q, v, tau, np.array([load] * model.nv, object))


def test_a_proof_leaves_out_states_that_are_refused(fake):
    """Half of the samples have a negative inertia."""
    model = kt.zoo.double_pendulum()
    q, v, tau, load = job_for("test", loaded, model, None, {}).samples(8)
    with pytest.raises(kt.errors.SingularError):
        loaded(model, q, v, tau, load)
    kernel = kt.compile(loaded, model, target="cuda")
    assert np.array_equal(kernel(q, v, tau, abs(load)), loaded(model, q, v, tau, abs(load)))
