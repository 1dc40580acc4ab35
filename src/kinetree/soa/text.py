"""Expressions as text: as Python source, and as LaTeX."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.soa.operator import Identity, Inverse, Letter, Operator, Product, Sum


def plain(A: Operator) -> str:
    """An expression as Python source."""
    if isinstance(A, Letter):
        return A.name + ".inverse" * A.inverted + ".T" * _is_turned(A)
    if isinstance(A, Product):
        return " @ ".join(map(plain, A.factors))
    if isinstance(A, Sum):
        return _added(A, plain, " * ")
    if isinstance(A, Inverse):
        inner = plain(A.of)
        return f"{inner if isinstance(A.of, Sum) and A.of.terms else f'({inner})'}.inverse"
    return "1"


def latex(A: Operator) -> str:
    """An expression as LaTeX, with a star for the transpose."""
    if isinstance(A, Letter):
        marks = {(0, 0): "", (0, 1): "^*", (1, 0): "^{-1}", (1, 1): "^{-*}"}
        return A.spec.latex + marks[A.inverted, _is_turned(A)]
    if isinstance(A, Product):
        return r"\,".join(map(latex, A.factors))
    if isinstance(A, Sum):
        return _added(A, latex, r"\,")
    return rf"\left({latex(A.of)}\right)^{{-1}}" if isinstance(A, Inverse) else "1"


def _is_turned(A: Letter) -> bool:
    """True if the letter is the transpose of the one that its name denotes."""
    return A.transposed != A.spec.outward


def _added(A: Sum, write: Any, times: str) -> str:
    text = ""
    for c, term in A.terms:
        negative = bool(np.isreal(c) and np.real(c) < 0)
        size = -c if negative else c
        scaled = f"{size:g}" if isinstance(term, Identity) else f"{size:g}{times}{write(term)}"
        word = write(term) if size == 1 else scaled
        text += (" - " if negative else " + ") + word if text else "-" * negative + word
    return f"({text})" if text else "0"
