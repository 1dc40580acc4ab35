"""Without the other library, a bridge says what to install."""

from __future__ import annotations

import sys

import pytest

import kinetree as kt


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(kt.errors.MissingPackageError, match=rf"kt.{name} needs {name}.*kinetree\[{name}\]"):
        getattr(kt, name).wrap(kt.mass_matrix, kt.zoo.pendulum())
