"""kinetree's own JSON: every model, without loss."""

from __future__ import annotations

import json
from typing import NoReturn

from kinetree.errors import FileError, ModelError
from kinetree.io.files import Document
from kinetree.io.report import LoadReport, Log, Where, finding, refuse
from kinetree.io.xml import LIMITS
from kinetree.model import Model

LARGEST = 1e100  # products of three such numbers stay finite


def write_json(model: Model) -> str:
    """The model as JSON text."""
    text = json.dumps(model.to_dict(), indent=1, allow_nan=False) + "\n"
    try:
        json.loads(text, parse_float=_number)
    except ValueError as error:
        raise ModelError(f"model {model.name!r} cannot be saved: {error}") from None
    return text


def read_json(document: Document, log: Log) -> Model:
    """The model in a text written by `write_json`.

    Raises:
        FileError: the text is not JSON, or does not describe a model.
    """
    content, file = document.content, document.file
    where = Where(file, 0, "document")
    if len(content) > LIMITS.size:
        refuse("xml-limit", where, f"the document has {len(content)} bytes; at most {LIMITS.size} are read")
    try:
        data = json.loads(content, parse_float=_number, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        refuse("json", Where(file, error.lineno, "document"), f"not valid JSON: {error.msg}")
    except (ValueError, RecursionError) as error:  # bad encoding, NaN, numbers of 5000 digits, deep nesting
        refuse("json", where, f"not valid JSON: {error}")
    try:
        model = Model.from_dict(data, check="finite")
    except ModelError as error:
        raise FileError(finding("json", where, str(error))) from error
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError, RecursionError) as error:
        raise FileError(finding("json", where, f"not a kinetree model: {error}")) from error
    return model.replace(report=LoadReport(file, "json"))


def _number(text: str) -> float:
    value = float(text)
    if not abs(value) <= LARGEST:
        raise ValueError(f"the number {text} is too large: the largest allowed is {LARGEST:g}")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a valid number in JSON or in a model")
