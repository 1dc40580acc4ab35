"""What is said when a package is not there."""

from __future__ import annotations

import sys

import pytest

import kinetree as kt


def test_casadi_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(kt.errors.MissingPackageError, match=r"pip install 'kinetree\[casadi\]'"):
        kt.casadi.wrap(kt.gravity_force, kt.zoo.pendulum())
