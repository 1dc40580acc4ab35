"""Declaring a law: what it is called, and which algorithms it would catch lying."""

from __future__ import annotations

from collections.abc import Callable

from tests.identities.case import Case

Law = Callable[[Case], None]
LAWS: dict[str, Law] = {}
COVERED: dict[str, list[str]] = {}
COSTLY: set[str] = set()


def law(*names: str, costly: bool = False) -> Callable[[Law], Law]:
    """Declare a law and the algorithms that it tests; a costly one takes differences of many states."""

    def declare(function: Law) -> Law:
        LAWS[function.__name__] = function
        if costly:
            COSTLY.add(function.__name__)
        for name in names:
            COVERED.setdefault(name, []).append(function.__name__)
        return function

    return declare
