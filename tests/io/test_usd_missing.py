"""USD without OpenUSD."""

from __future__ import annotations

import sys

import pytest

import kinetree as kt


def test_the_error_names_the_extra(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pxr"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pxr", None)
    path = tmp_path / "a.usda"
    path.write_text("#usda 1.0\n")
    for source in (path, "#usda 1.0\n"):
        with pytest.raises(kt.errors.MissingPackageError, match=r"kinetree\[usd\]"):
            kt.load(source)
