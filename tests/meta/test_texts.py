"""House rules that a program can check: short files, docstrings, names, nothing left over."""

from __future__ import annotations

import ast
import re

import pytest
from tests.meta.sources import PACKAGE, modules, named, written

LONGEST = 400  # lines of a module; an algorithm is shorter still
LONGEST_ALGORITHM = 150

# Leftovers, and places that exist on one computer only.
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
LOCAL = re.compile(r"(?<![\w.])/(home|root|work|Users|opt)/\w")
VERBS = re.compile(r"^(get|calc|calculate|compute)_")

MODULES = modules()
TEXTS = [
    p for p in written(".py", ".md", ".toml", ".cff", ".yml", ".txt", ".c", ".h", "") if p.name != "LICENSE"
]


@pytest.mark.parametrize("path", MODULES, ids=named)
class TestModule:
    def test_is_short(self, path):
        longest = LONGEST_ALGORITHM if path.parent.name == "algorithms" else LONGEST
        lines = path.read_text().count("\n")
        assert lines <= longest, f"{named(path)} has {lines} lines; split it below {longest}"

    def test_says_what_it_is(self, path):
        tree = ast.parse(path.read_text())
        assert not tree.body or ast.get_docstring(tree), f"{named(path)} has no docstring"

    def test_names_are_ascii_and_say_what_not_how(self, path):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert node.name.isascii(), f"{named(path)}:{node.lineno}: {node.name}"
                assert not VERBS.match(node.name), (
                    f"{named(path)}:{node.lineno}: {node.name} starts with a verb of habit"
                )


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_nothing_is_left_over(path):
    if named(path) == "tests/meta/test_texts.py":
        pytest.skip("the rules themselves")
    for k, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        assert not LEFTOVER.search(line), f"{named(path)}:{k}: {line.strip()}"
        assert not LOCAL.search(line), f"{named(path)}:{k} names a place on one computer: {line.strip()}"


def test_no_drawer_for_odds_and_ends():
    assert not [p for p in MODULES if p.stem in ("util", "utils", "helpers", "common", "misc")]


def test_no_joint_feature_in_the_algorithms():
    """A rotor, a mimic joint or a joint type in an algorithm is in the wrong layer."""
    types = r"revolute|prismatic|helical|cylindrical|universal|planar|spherical"
    word = re.compile(rf"\b(rotor|mimic|armature|{types})s?\b", re.IGNORECASE)
    for path in (PACKAGE / "algorithms").glob("*.py"):
        tree = ast.parse(path.read_text())
        docstrings = {
            id(n.body[0])
            for n in ast.walk(tree)
            if isinstance(n, ast.FunctionDef | ast.Module) and ast.get_docstring(n)
        }
        code = "\n".join(ast.unparse(n) for n in tree.body if id(n) not in docstrings)
        assert not word.search(re.sub(r'""".*?"""', "", code, flags=re.S)), named(path)
