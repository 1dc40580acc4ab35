"""Random well-formed expressions of the letters, and the sizes that rounding is measured against."""

from __future__ import annotations

from typing import Any

import numpy as np

import kinetree as kt
from kinetree.soa.alphabet import ALPHABET, EFFORTS, FORCES, FORCES_I, MOTIONS, MOTIONS_I, VELOCITIES
from kinetree.soa.operator import Identity, Inverse, Operator, Product, Sum

SPACES = (VELOCITIES, EFFORTS, MOTIONS, FORCES, MOTIONS_I, FORCES_I)
TURNED = ("phi", "psi", "D", "phi_I", "O")  # letters whose inverses are tame


def alphabet() -> list[Operator]:
    plain = [getattr(kt.letters, name) for name in ALPHABET]
    turned = [getattr(kt.letters, name).inverse for name in TURNED]
    return [B for A in (*plain, *turned) for B in {A, A.T} if {B.rows, B.columns} <= set(SPACES)]


LETTERS = alphabet()


def random_expression(
    rng: np.random.Generator, length: int = 5, columns: Any = None, rows: Any = None
) -> Operator:
    """A product of random letters that fit, in which some factors are sums, from one space to another."""
    columns = SPACES[rng.integers(4)] if columns is None else columns
    A: Any = None
    space = columns
    for _ in range(length + 30):
        fitting = [L for L in LETTERS if L.columns == space]
        if len(factors(A)) >= length and rows is not None:
            fitting = [L for L in fitting if L.rows == rows] or fitting
        factor = fitting[rng.integers(len(fitting))]
        if rng.random() < 0.35:
            factor = summed(rng, factor)
        A = factor if A is None else factor @ A
        space = A.rows
        if len(factors(A)) >= length and (space == rows or (rows is None and space in SPACES[:4])):
            break
    return A


def factors(A: Any) -> tuple:
    return () if A is None else A.factors if isinstance(A, Product) else (A,)


def summed(rng: np.random.Generator, A: Operator) -> Operator:
    """A plus or minus what goes between the same spaces: another letter, a product, a number."""
    c = float(rng.choice([-2.0, -1.0, 0.5, 1.0]))
    others = [L for L in LETTERS if (L.rows, L.columns) == (A.rows, A.columns)]
    kind = rng.integers(3)
    if kind == 0 and A.rows == A.columns:
        return int(c > 0) * 2 - 1 + c * A
    other: Any = others[rng.integers(len(others))]
    if kind == 1 and other.rows == other.columns:
        other = other @ others[rng.integers(len(others))]
    return A + c * other if rng.random() < 0.5 else c * other - A


def size(A: Operator) -> np.ndarray:
    """What the absolute values of all letters would give, every minus a plus."""
    if isinstance(A, Product):
        found = size(A.factors[0])
        for factor in A.factors[1:]:
            found = found @ size(factor)
        return found
    if isinstance(A, Sum):
        return sum((abs(c) * size(term) for c, term in A.terms), np.zeros(A.shape))
    if isinstance(A, (Identity, Inverse)):
        return np.abs(A.dense())
    if A.spec.kind == "defined":  # what it is made of, where it cancels
        return size(A.definition)
    return np.abs(A.dense())
