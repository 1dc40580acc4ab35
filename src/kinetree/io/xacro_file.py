"""Xacro templates, expanded by the package `xacro`.

Xacro evaluates the Python expressions in the file and in every file it includes, wherever they are: expanding
a file means running it. This is done only if the caller gives `xacro_args` and thereby declares the file
trusted; the result is read with the same checks as any other file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from kinetree.errors import MissingPackageError
from kinetree.extras import needed
from kinetree.io.attributes import shorten
from kinetree.io.report import Where, refuse

if TYPE_CHECKING:
    from kinetree.io.files import Document

_TRUST = (
    "If you trust the file, load it with xacro_args={}: xacro runs the Python expressions in it. "
    "Or expand it first: xacro robot.urdf.xacro > robot.urdf"
)
_ONE_AT_A_TIME = Lock()  # xacro keeps its state in its module


def expanded(document: Document, arguments: Mapping[str, Any] | None) -> Document:
    """A template with its macros and expressions replaced; any other document as it is.

    Raises:
        FileError: the document is a template and `arguments` is None, or xacro is not installed or fails.
    """
    where = Where(document.file, 0, "document")
    if arguments is None:
        if Path(document.file).suffix.lower() == ".xacro":
            refuse("xacro", where, "this is a xacro template", _TRUST)
        return document
    if document.opening != "<" or not _is_template(document):
        return document
    try:
        xacro = needed("xacro", "expanding a template")
    except MissingPackageError as error:
        refuse("xacro", where, str(error))
    given = {name: _word(value) for name, value in arguments.items()}
    try:
        with _ONE_AT_A_TIME, _packages(document.package_dirs):
            text = _processed(xacro, document, given)
    except Exception as error:  # the expressions of the file may raise anything
        problem = f"xacro cannot expand it: {type(error).__name__}: {shorten(' '.join(str(error).split()))}"
        refuse("xacro", where, problem, "Run xacro on it by hand; `$(find NAME)` looks in package_dirs=.")
    return replace(document, content=text)


def _is_template(document: Document) -> bool:
    if Path(document.file).suffix.lower() == ".xacro":
        return True
    content = document.content
    return "xacro" in content if isinstance(content, str) else b"xacro" in content


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _processed(xacro: Any, document: Document, arguments: dict[str, str]) -> str:
    """The expansion of a file, or of a text without a file."""
    if document.directory is not None:
        return xacro.process_file(str(Path(document.file).resolve()), mappings=arguments).toxml()
    content = document.content
    tree = xacro.parse(content if isinstance(content, str) else content.decode("utf-8"))
    xacro.process_doc(tree, mappings=arguments)
    return tree.toxml()


@contextmanager
def _packages(folders: tuple[Path, ...]) -> Iterator[None]:
    """Let `$(find NAME)` look in `folders` before it asks ROS, which may not be installed."""
    module = needed("xacro.substitution_args", "expanding a template")
    ask = module._eval_find

    def find(name: str) -> str:
        for folder in folders:
            for path in (folder / name, *([folder] if folder.resolve().name == name else [])):
                if path.is_dir():
                    return str(path)
        try:
            return ask(name)
        except ModuleNotFoundError:
            raise FileNotFoundError(f"package {name!r} is in none of package_dirs") from None

    module._eval_find = find
    try:
        yield
    finally:
        module._eval_find = ask
