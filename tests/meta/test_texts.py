"""House rules that a program can check: short files, docstrings, names, nothing left over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

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


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def all_fine(faults: Iterable[str]) -> None:
    """All files are looked at, so that one run names everything that is wrong."""
    found = list(faults)
    assert not found, "\n".join(found)


def test_modules_are_short():
    def faults(path: Path) -> Iterator[str]:
        longest = LONGEST_ALGORITHM if path.parent.name == "algorithms" else LONGEST
        lines = path.read_text().count("\n")
        if lines > longest:
            yield f"{named(path)} has {lines} lines; split it below {longest}"

    all_fine(fault for path in MODULES for fault in faults(path))


def test_modules_say_what_they_are():
    silent = [p for p in MODULES if parsed(p).body and not ast.get_docstring(parsed(p))]
    all_fine(f"{named(path)} has no docstring" for path in silent)


def test_names_are_ascii_and_say_what_not_how():
    def faults(path: Path) -> Iterator[str]:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                if not node.name.isascii():
                    yield f"{named(path)}:{node.lineno}: {node.name}"
                if VERBS.match(node.name):
                    yield f"{named(path)}:{node.lineno}: {node.name} starts with a verb of habit"

    all_fine(fault for path in MODULES for fault in faults(path))


def test_nothing_is_left_over():
    def faults(path: Path) -> Iterator[str]:
        for k, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if LEFTOVER.search(line):
                yield f"{named(path)}:{k}: {line.strip()}"
            if LOCAL.search(line):
                yield f"{named(path)}:{k} names a place on one computer: {line.strip()}"

    here = "tests/meta/test_texts.py"  # the rules themselves
    all_fine(fault for path in TEXTS if named(path) != here for fault in faults(path))


def test_the_rules_see_what_breaks_them():
    with pytest.raises(AssertionError, match=r"first\s+second"):
        all_fine(iter(("first", "second")))
    assert LEFTOVER.search("# TODO: later") and LOCAL.search("see /home/me") and VERBS.match("get_mass")
    assert len(MODULES) > 200 and len(TEXTS) > 400


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
