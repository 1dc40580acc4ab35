"""The stub that tells type checkers and editors what `import kinetree` offers, from the objects themselves.

A function of a model gets the signature and the docstring that it has, with the types of the vocabulary
(`kinetree.sweep.vocabulary`); everything else is imported from where it is defined.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import kinetree as kt
from kinetree.names import MODULE_OF, NAMESPACES
from kinetree.sweep.vocabulary import WORDS

FILE = Path(kt.__file__).with_suffix(".pyi")
HEAD = '''\
"""{summary}"""

# Written by `python -m docs.generate`: do not edit.

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy.typing as npt

{imports}

__version__: str

class _SupportsArray(Protocol):
    def __array__(self) -> npt.NDArray[Any]: ...

_Array: TypeAlias = npt.NDArray[Any]
_Scalar: TypeAlias = Any  # a float for one state, an array for a batch
# any kind of number: in an array, in nested lists or tuples, or in what turns into an array
_Numbers: TypeAlias = npt.NDArray[Any] | list[Any] | tuple[Any, ...] | _SupportsArray
'''


def text() -> str:
    """The stub."""
    imports = {f"from {where} import {name} as {name}" for where, name in namespaces()}
    functions = []
    for name, module in MODULE_OF.items():
        value = getattr(kt, name)
        if is_of_a_model(value):
            functions.append(definition(name, value))
            if getattr(value, "result", None):
                imports.add(f"from {value.result.__module__} import {value.result.__name__}")
        else:
            imports.add(f"from {module} import {name} as {name}")
    summary = (inspect.getdoc(kt) or "").split("\n")[0]
    return "\n".join([HEAD.format(summary=summary, imports="\n".join(sorted(imports))), *functions])


def namespaces() -> list[tuple[str, str]]:
    """The public modules: (package, name)."""
    return [(package, name) for package, names in NAMESPACES.items() for name in names.split()]


def is_of_a_model(value: Any) -> bool:
    """Whether this is a function of a model, or a plain one that takes a model alone."""
    if isinstance(value, (kt.Function, type)) or not callable(value):
        return isinstance(value, kt.Function)
    return list(inspect.signature(value).parameters) == ["model"]


def definition(name: str, value: Any) -> str:
    """One function of a model: how it is called, and its docstring."""
    signature = inspect.signature(value)
    parameters: list[str] = []
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        parameters.append(parameter(p))
    line = f"def {name}({', '.join(parameters)}) -> {result(value, signature)}:"
    if len(line) > 110:
        rows = "".join(f"    {part},\n" for part in parameters)
        line = f"def {name}(\n{rows}) -> {result(value, signature)}:"
    quoted = (inspect.getdoc(value) or "").replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    end = "\n" if "\n" in quoted else ""
    document = textwrap.indent(f'"""{quoted}{end}"""', "    ", lambda row: bool(row.strip()))
    return f"{line}\n{document}\n"


def parameter(p: inspect.Parameter) -> str:
    """A parameter with its type and default."""
    word = WORDS.get(p.name)
    if p.name == "model":
        kind = "Model"
    elif word is None:
        kind = p.annotation if isinstance(p.annotation, str) else "Any"
    elif word.choices:
        kind = f"Literal[{', '.join(json.dumps(choice) for choice in word.choices)}]"
    else:
        kind = hidden(word.type) or ("_Numbers" if word.shape else "float | _Numbers")
    if p.default is p.empty:
        return f"{p.name}: {kind}"
    if p.default is None:
        return f"{p.name}: {kind.removesuffix(' | None')} | None = None"
    default = json.dumps(p.default) if isinstance(p.default, str) else repr(p.default)
    return f"{p.name}: {kind} = {default}"


def result(value: Any, signature: inspect.Signature) -> str:
    """The type of what a function returns."""
    if not isinstance(value, kt.Function):
        return hidden(signature.return_annotation)
    if value.result is not None:
        return value.result.__name__
    kinds = ["_Array" if output.shape else "_Scalar" for output in value.outputs]
    return kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def hidden(annotation: str) -> str:
    """An annotation with the stub's names for arrays."""
    return re.sub(r"\b(Array|Numbers)\b", r"_\1", annotation)
