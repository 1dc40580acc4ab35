"""What type checkers and editors see of kinetree: every name, with its signature, type and docstring."""

from __future__ import annotations

import ast
import inspect
import runpy
import tomllib
from pathlib import Path

from tests.conftest import each
from tests.meta.sources import PACKAGE, ROOT

import kinetree as kt

SAMPLES = Path(__file__).parent / "typed"
STUB = ast.parse((PACKAGE / "__init__.pyi").read_text())
DEFINED = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}


def test_the_type_checker_looks_at_right_and_wrong_calls():
    """`make lint` fails if a right call is an error, or if a wrong one is none."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert str(SAMPLES.relative_to(ROOT)) in settings["files"]
    (strict,) = [rules for rules in settings["overrides"] if "wrong" in rules["module"]]
    assert strict["module"] == ["right", "wrong"] and strict["warn_unused_ignores"]
    wrong = (SAMPLES / "wrong.py").read_text().splitlines()
    assert sum(line.endswith("# type: ignore") for line in wrong) >= 30
    assert "ignore" not in (SAMPLES / "right.py").read_text()


def test_typical_calls_run():
    assert runpy.run_path(str(SAMPLES / "right.py"))["tau"].shape == (7,)


def test_the_stub_has_every_public_name():
    imports = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]
    imported = {name.asname for node in imports for name in node.names}
    assert set(kt.__all__) - {"__version__"} <= imported | set(DEFINED)


def test_the_stub_has_the_signature_and_the_docstring():
    """Read back independently of the generator: names, order, kinds, defaults and text."""

    def check(name):
        arguments = DEFINED[name].args
        signature = inspect.signature(getattr(kt, name)).parameters.values()
        keywords = [p.name for p in signature if p.kind is p.KEYWORD_ONLY]
        assert [a.arg for a in (*arguments.args, *arguments.kwonlyargs)] == [p.name for p in signature]
        assert [a.arg for a in arguments.kwonlyargs] == keywords
        given = [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
        defaults = [ast.literal_eval(d) for d in given]
        assert defaults == [p.default for p in signature if p.default is not p.empty]
        assert ast.get_docstring(DEFINED[name]) == inspect.getdoc(getattr(kt, name))

    each(DEFINED, check)
