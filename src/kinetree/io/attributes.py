"""Numbers, vectors and keywords from attributes; wrong values are recorded as findings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import copysign, inf

from kinetree.io.report import Log
from kinetree.io.xml import Element

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?\Z")
_SEPARATOR = re.compile(r",\s+")  # "1, 2, 3" is a list; "1,5" may be a decimal and is refused
_INFINITY = re.compile(r"[+-]?inf(?:inity)?\Z", re.IGNORECASE)
LARGEST = 1e30  # no length, mass or inertia is larger, and products of a few such numbers stay finite
UNBOUNDED = 1e30  # bounds from here on mean "unbounded"
_WORD = 60  # most characters of a bad value shown in a message
_NUMBERS = 10_000  # most numbers in one attribute


def parse_number(text: str, infinite: bool = False) -> float | None:
    """The finite number in `text`, or None: commas, hexadecimal and NaN are not numbers."""
    if _NUMBER.match(text):
        value = float(text)
        if infinite and abs(value) >= UNBOUNDED:
            return copysign(inf, value)
        return value + 0.0 if abs(value) <= LARGEST else None  # no negative zeros
    if infinite and _INFINITY.match(text):
        return -inf if text.startswith("-") else inf
    return None


def parse_numbers(text: str, infinite: bool = False) -> tuple[float, ...] | str:
    """The numbers of a blank-separated list, or the first word that is not a number."""
    found = []
    for word in text.split()[:_NUMBERS]:
        value = parse_number(word, infinite)
        if value is None:
            return word
        found.append(value)
    return tuple(found)


def values(element: Element | None, name: str, infinite: bool = False) -> tuple[float, ...]:
    """The numbers of an attribute; none if it is absent or not numeric."""
    found = parse_numbers((element.get(name) if element is not None else None) or "", infinite)
    return () if isinstance(found, str) else found


def vector(
    element: Element,
    name: str,
    length: int,
    default: Sequence[float] | None,
    log: Log,
    text: str | None = None,
    infinite: bool = False,
) -> tuple[float, ...]:
    """The `length` numbers of an attribute.

    Args:
        default: the value if the attribute is absent; None makes the attribute required.
        text: use this text instead of the element's own attribute (defaults of MJCF).
        infinite: numbers from 1e30 on mean "unbounded".

    A wrong value is recorded as an error; the default (or zeros) is returned so that reading can go on.
    """
    fallback = tuple(default) if default is not None else (0.0,) * length
    text = element.get(name) if text is None else text
    if text is None:
        if default is None:
            log.add("attribute-missing", element.where, f"attribute {name!r} is missing")
        return fallback
    given = parse_numbers(text, infinite)
    if isinstance(given, str) and "," in text:
        separated = parse_numbers(_SEPARATOR.sub(" ", text), infinite)
        if not isinstance(separated, str):
            log.add("number-comma", element.where, f"{name}={shorten(text)!r} has commas between the numbers")
            given = separated
    if isinstance(given, str):
        bad_number(element, name, given, log)
        return fallback
    if len(given) != length:
        wanted = f"{length} numbers" if length > 1 else "one number"
        problem = f"{name}={shorten(text)!r} has {len(given)} numbers, expected {wanted}"
        log.add("number", element.where, problem)
        return fallback
    return given


def number(element: Element, name: str, default: float | None, log: Log, infinite: bool = False) -> float:
    """The number of an attribute, or `default` if it is absent; None makes the attribute required."""
    return vector(element, name, 1, None if default is None else (default,), log, infinite=infinite)[0]


def per_degree(
    element: Element, name: str, count: int, default: float, log: Log, infinite: bool = False
) -> float | tuple[float, ...]:
    """One number for all degrees of freedom of a joint, or `count` numbers, one for each."""
    several = len((element.get(name) or "").split()) > 1
    values = vector(element, name, count if several else 1, (default,), log, infinite=infinite)
    return values[0] if len(values) == 1 else values


def bad_number(element: Element, name: str, word: str, log: Log) -> None:
    """Record that `word` is not a number, with a remedy that depends on how it looks."""
    where, shown = element.where, shorten(word)
    if "$" in word or "{" in word:
        log.add("xacro", where, f"{name} contains {shown!r}: an expression that xacro should have replaced")
    elif "," in word:
        problem = f"{name} contains {shown!r}, not a number"
        log.add("number", where, problem, "Write a decimal point, and blanks between numbers.")
    else:
        log.add("number", where, f"{name} contains {shown!r}, not a finite number below {LARGEST:g}")


def choice(
    element: Element, name: str, options: Sequence[str], default: str, log: Log, text: str | None = None
) -> str:
    """The value of an attribute that must be one of `options`."""
    text = element.get(name) if text is None else text
    if text is None:
        return default
    if text not in options:
        log.add("value", element.where, f"{name}={shorten(text)!r}, expected one of: {', '.join(options)}")
        return default
    return text


def shorten(text: str) -> str:
    """The beginning of a text of any length."""
    return text if len(text) <= _WORD else text[:_WORD] + "..."


_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\"'`\\\\<>&]")
_NAME = 256


def is_name(name: str) -> bool:
    """Whether a name is printable, of sensible length, and free of characters used for quoting."""
    return bool(name.strip()) and not _FORBIDDEN.search(name) and len(name) <= _NAME


def clean_name(name: str) -> str:
    """The name with every refused character replaced by an underscore."""
    return _FORBIDDEN.sub("_", name.strip() or "_")[:_NAME]


def name_of(element: Element, log: Log, attribute: str = "name") -> str | None:
    """The name of an element, or None. Quotes, brackets and control characters are refused."""
    name = element.get(attribute)
    if name is None or name == "":
        return None
    if not is_name(name):
        repaired = clean_name(name)
        problem = (
            f"the name {shorten(name)!r} is blank, too long, or has quotes, brackets or control characters"
        )
        log.repairable("name-invalid", element.where, problem, f"renamed to {repaired!r}")
        return repaired
    return name
