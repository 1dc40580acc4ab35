"""What is said when a package is not there."""

from __future__ import annotations

import sys

import pytest

import kinetree as kt


@pytest.mark.parametrize("name", ["casadi", "jax", "torch"])
def test_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        kt.errors.MissingPackageError, match=rf"kt.{name} needs.*pip install 'kinetree\[{name}\]'"
    ):
        getattr(kt, name).wrap(kt.gravity_force, kt.zoo.pendulum())
