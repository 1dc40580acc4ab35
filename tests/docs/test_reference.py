"""Every public name has an entry in the reference: its docstring, an example, and the equation."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import pytest
from tests.conftest import each
from tests.meta.sources import PACKAGE, ROOT, named

import kinetree as kt
from docs import docstrings, entries, examples, maths, reference

NAMES = [name for page in reference.PAGES.values() for name in page.listed]
CLASSES = [name for name in NAMES if isinstance(entries.found(name), type)]
NOT_RUN = {"Trajectory.show"}  # opens a browser
CITATION = re.compile(r"(?:[A-Z][\w-]+(?:, | and | ))*[A-Z][\w-]+(?: and others)? \((?:19|20)\d\d\)")


def test_every_public_name_has_one_place():
    listed = [name for name in NAMES if ":" not in name]
    assert sorted(listed) == sorted(set(kt.__all__) - {"__version__"})


def test_a_name_has_words_and_an_example():
    def check(name):
        value = entries.found(name)
        text = "\n".join(entries.entry(name))
        assert docstrings.summary(getattr(value, "body", value)), f"{name} has no docstring"
        if ":" not in name:
            assert "```python\n" in text, f"docs/examples.txt has no example of {name}"
        if isinstance(value, kt.Function):
            assert "$$" in text, f"the docstring of {name} has no equation"
            assert f"kt.{name}(" in text and "| `model` |" in text and "**Returns** `" in text
        if isinstance(value, ModuleType):
            empty = [own for own in entries.public(value) if not docstrings.summary(getattr(value, own))]
            assert not empty, f"{name}: no docstring: {empty}"

    each(NAMES, check)


@pytest.mark.parametrize("name", CLASSES)
def test_a_member_has_words_and_an_example(name):
    value = entries.found(name)
    for member in entries.members(value):
        found = inspect.getattr_static(value, member)
        about = found if isinstance(found, property) else getattr(value, member)
        assert docstrings.summary(about), f"{name}.{member} has no docstring"
        key = f"{name}.{member}"
        if ":" not in name and key not in NOT_RUN:
            assert key in examples.EXAMPLES, f"docs/examples.txt has no example of {key}"


def test_no_example_is_left_over():
    known = {own for name in NAMES for own in [name.rpartition(":")[2]]}
    for name in examples.EXAMPLES:
        owner, dot, member = name.partition(".")
        if name.startswith("@"):
            assert name == "@default" or name[1:] in reference.PAGES
        else:
            assert owner in known and (not dot or hasattr(entries.found(owner), member)), name


@pytest.mark.parametrize(
    "text, latex",
    [
        ("M_ij = S_i^T I^C_j S_j", r"M_{ij} = S_{i}^{\mathsf T} I^{C}_{j} S_{j}"),
        ("V x S v", r"V \times S v"),
        ("(M x)_i + A x", "(M x)_{i} + A x"),
        ("f = I A + V x* I V", r"f = I A + V \mathbin{\times^{*}} I V"),
        ("dtau_i/dq_j", r"\frac{\partial \tau_{i}}{\partial q_{j}}"),
        ("c' = sum_i m_i c'_i", r"\dot c = \sum_{i} m_{i} \dot c_{i}"),
        ("[J 0; 0 m]", r"\begin{bmatrix} J & 0 \\ 0 & m \end{bmatrix}"),
        ("[c' x W; 0]", r"\begin{bmatrix} \dot c \times W \\ 0 \end{bmatrix}"),
        ("for i on the path", r"\text{for } i \text{ on the path}"),
        ("B^C_i^T", r"{B^{C}_{i}}^{\mathsf T}"),
        ("D^-1, L^-T", r"D^{-1}, L^{-\mathsf T}"),
        ("f_p += X^T f", r"f_{p} \mathrel{{+}{=}} X^{\mathsf T} f"),
    ],
)
def test_equations_are_typeset(text, latex):
    assert maths.line(text) == latex


def test_all_formulas_are_balanced():
    for path, text in reference.pages().items():
        for formula in re.findall(r"^\$\$\n(.*?)\n\$\$$", text, re.M | re.S):
            assert formula.count("{") == formula.count("}"), f"{path.name}: {formula}"
            assert not re.search(r"(\^\{[^{}]*\}){2}|(_\{[^{}]*\}){2}", formula), f"{path.name}: {formula}"


def test_every_citation_is_in_the_list():
    listed = set(docstrings.REFERENCES)
    for path in sorted(PACKAGE.rglob("*.py")):
        for block in re.findall(r"References?: (.*?)(?:\n\s*\n|\"\"\")", path.read_text(), re.S):
            for found in CITATION.findall(" ".join(block.split())):
                assert any(found.endswith(name) for name in listed), f"{named(path)}: {found}"


def test_the_navigation_lists_every_page_once():
    listed = re.findall(r"^\s+- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


def test_a_page_needs_no_network():
    shipped = [*(ROOT / "docs" / "assets").rglob("*.js"), *(ROOT / "docs" / "assets").rglob("*.css")]
    assert any(path.name == "katex.min.js" for path in shipped)
    for path in shipped:
        assert not re.search(r"(?:url\(|src=|fetch\()[\"']?https?:", path.read_text()), named(path)
    assert "font: false" in (ROOT / "mkdocs.yml").read_text()
