"""The examples that learn a policy by the gradient through the simulation do learn it."""

from __future__ import annotations

import runpy

import pytest
from tests.meta.sources import ROOT


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_poles_stand_in_the_end(library):
    pytest.importorskip(library)
    before, after = runpy.run_path(str(ROOT / "examples" / f"policy_gradient_{library}.py"))["main"]()
    assert before < 0.2 and after > 0.8
