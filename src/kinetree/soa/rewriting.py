"""Rewriting of expressions, one rule at a time, with a record of the steps.

A product is searched for the adjacent factors of a rule; a sum for the terms of a rule, all between the same
further factors. Every rule leaves fewer letters (or as many, in a terminating order), so rewriting ends.
Inverses are found from the outside in: of a product, factor by factor; of 1 + A B, by 1 - A (1 + B A)^-1 B if
a rule knows 1 + B A; of the mass matrix, by its innovations factorisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from kinetree.errors import KinetreeError, SingularError
from kinetree.soa.letters import Alphabet, letters
from kinetree.soa.operator import (
    Identity,
    Inverse,
    Letter,
    Operator,
    Product,
    Sum,
    factors_of,
    product,
    terms_of,
    total,
)  # fmt: skip
from kinetree.soa.rules import Rule

LIMIT = 500  # most steps; far more than any realistic expression needs
SUMS = 3  # most sums in a product that is tentatively multiplied out


class Step(NamedTuple):
    """An expression, and the rule that led to it."""

    source: str
    name: str
    expression: Operator


class Derivation:
    """The steps of a derivation; printed with the rule behind each step."""

    def __init__(self, start: Operator, steps: tuple[Step, ...]):
        self.start, self.steps = start, steps

    @classmethod
    def of(cls, A: Operator) -> Derivation:
        """The derivation from the origin of A to its simplest form."""
        known: tuple[Step, ...] = A.history
        start = known[0].expression if known else A
        return cls(start, (*known[1:], *(step for step in simplified(A).history[len(known) or 1 :])))

    @property
    def result(self) -> Operator:
        return self.steps[-1].expression if self.steps else self.start

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        lines = [f"  {self.start}"]
        for step in self.steps:
            lines += [f"= {step.expression}", f"      {step.source} {step.name}".replace("       ", "      ")]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        lines = [f"& {self.start._latex()}"]
        for step in self.steps:
            why = f"{step.source} {step.name}".strip()
            lines.append(rf"=\;& {step.expression._latex()} && \text{{{why}}}")
        return r"$$\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}$$"


def simplified(A: Operator) -> Operator:
    """A with as few letters as the rules allow; its history is that of A plus the new steps."""
    return _followed(A, _simplify)


def inverted(A: Operator) -> Operator:
    """The inverse of A without inverses of products or sums; over a few frames it is a small matrix."""
    if isinstance(A, Letter):
        return _inverse_letter(A)
    start = Inverse.make(replace(A, history=()))
    found = _followed(start, _invert)
    if any(isinstance(part, Inverse) and part.rows.is_stacked for part in _all(found)):
        raise KinetreeError(
            f"no rule of the algebra gives the inverse of {A}: np.linalg.inv(A.dense()) has its numbers"
        )
    return found


def _inverse_letter(A: Letter) -> Operator:
    if not A.spec.invertible:
        Inverse.make(A)  # not square: ShapeError
        raise SingularError(f"{A} has no inverse: {A.spec.meaning}")
    return A.turned


def _followed(A: Operator, step: Any) -> Operator:
    """A rewritten by `step` until nothing changes, with its history."""
    if isinstance(A.home, Alphabet) and A.home is not letters:  # rules hold for letters at any state
        found = _followed(replace(A.at(letters), history=()), step)
        steps = [s._replace(expression=s.expression.at(A.home)) for s in found.history]
        known = A.history or steps[:1]
        return replace(found.at(A.home), history=(*known, *steps[1:])) if steps else A
    current = replace(A, history=())
    history = list(A.history) or [Step("", "", current)]
    for _ in range(LIMIT):
        found = step(current)
        if found is None:
            return replace(current, history=tuple(history)) if len(history) > 1 else A
        current = replace(found[1], history=())
        history.append(Step(found[0].source, found[0].name, current))
    raise KinetreeError(f"{A}: no end after {LIMIT} steps")  # pragma: no cover


Found = tuple[Any, Operator] | None


def _simplify(A: Operator) -> Found:
    """One step anywhere in A, innermost first."""
    if "simple" in A.__dict__:  # known to be irreducible
        return None
    found = _inside(A, _simplify) or _tidy(A) or _by_rules(A, "->")
    if found is None:
        A.__dict__["simple"] = True
    return found


def _inside(A: Operator, step: Any) -> Found:
    parts = A.parts()
    for k, part in enumerate(parts):
        found = step(part)
        if found is not None:
            return found[0], A.with_parts((*parts[:k], found[1], *parts[k + 1 :]))
    return None


# -- what holds in any algebra

_LIKE = Rule("", "like terms", None, None)  # type: ignore[arg-type]
_CANCEL = Rule("", "A A^-1 = 1", None, None)  # type: ignore[arg-type]
_ZERO = Rule("", "nothing times anything", None, None)  # type: ignore[arg-type]
_NUMBER = Rule("", "a number comes first", None, None)  # type: ignore[arg-type]
_EXPAND = Rule("", "multiplied out", None, None)  # type: ignore[arg-type]
_PRODUCT = Rule("", "(A B)^-1 = B^-1 A^-1", None, None)  # type: ignore[arg-type]
_LETTER = Rule("", "inverse of a letter", None, None)  # type: ignore[arg-type]
_PUSH = Rule("", "(1 + A B)^-1 = 1 - A (1 + B A)^-1 B", None, None)  # type: ignore[arg-type]


def _tidy(A: Operator) -> Found:
    if isinstance(A, Sum):
        return _like_terms(A)
    if not isinstance(A, Product):
        return None
    for k, factor in enumerate(A.factors):
        before, after = A.factors[:k], A.factors[k + 1 :]
        if isinstance(factor, Sum) and len(factor.terms) < 2:
            if not factor.terms:
                return _ZERO, Sum(A.home, A.rows, A.columns, ())
            ((c, inner),) = factor.terms
            return _NUMBER, total(A, [(c, product(*before, inner, *after))])
        if after and isinstance(factor, Letter) and factor.turned == after[0]:
            one = Identity(A.home, factor.rows, factor.rows)
            return _CANCEL, product(*before, one, *after[1:])
    return None


def _like_terms(A: Sum) -> Found:
    found: dict[Operator, Any] = {}
    for c, term in A.terms:
        for d, inner in terms_of(term):
            found[inner] = found.get(inner, 0) + c * d
    terms = tuple((c, term) for term, c in found.items() if c != 0)
    if terms == A.terms:
        return None
    return _LIKE, total(A, terms)


# -- rules of the algebra


def _by_rules(A: Operator, use: str) -> Found:
    """The first rule that fits A itself."""
    for rule in A.home.rules(use):
        if not rule.left.words <= A.words:
            continue
        made = _in_sum(A, rule) if isinstance(rule.left, Sum) else _in_product(A, rule)
        if made is not None:
            return rule, made
    return _by_expansion(A) if use == "->" else None


def _in_product(A: Operator, rule: Rule) -> Operator | None:
    have, want = factors_of(A), factors_of(rule.left)
    for k in range(len(have) - len(want) + 1):
        if have[k : k + len(want)] == want:
            return product(*have[:k], rule.right, *have[k + len(want) :])
    return None


def _in_sum(A: Operator, rule: Rule) -> Operator | None:
    """A sum after applying a rule whose terms all occur times one number and between the same factors."""
    if not isinstance(A, Sum):
        return _in_product(A, rule)
    assert isinstance(rule.left, Sum)
    have = {factors_of(term): c for c, term in A.terms}
    if len(have) < len(rule.left.terms):
        return None
    pivot, *rest = sorted(rule.left.terms, key=lambda t: -len(factors_of(t[1])))
    word = factors_of(pivot[1])
    for factors, c in have.items():
        for k in range(len(factors) - len(word) + 1):
            if factors[k : k + len(word)] != word:
                continue
            before, after = factors[:k], factors[k + len(word) :]
            scale = c / pivot[0]
            wanted = {(*before, *factors_of(term), *after): scale * d for d, term in rest}
            if all(have.get(key) == d for key, d in wanted.items()):
                wanted[factors] = c
                kept = [(d, term) for d, term in A.terms if factors_of(term) not in wanted]
                return total(A, [(scale, product(*before, rule.right, *after)), *kept])
    return None


def _by_expansion(A: Operator) -> Found:
    """A product with a sum in it, multiplied out, if the rules then leave fewer letters."""
    if not isinstance(A, Product) or sum(isinstance(factor, Sum) for factor in A.factors) > SUMS:
        return None
    for k, factor in enumerate(A.factors):
        if isinstance(factor, Sum):
            terms = [(c, product(*A.factors[:k], t, *A.factors[k + 1 :])) for c, t in factor.terms]
            expanded = total(A, terms)
            if size(simplified(expanded)) < size(A):
                return _EXPAND, expanded
    return None


def size(A: Operator) -> int:
    """The number of letters of an expression; the identity counts as one within a sum."""
    return sum(map(size, A.parts())) + (not A.parts())


# -- inverses


def _invert(A: Operator) -> Found:
    """One step towards an expression without inverses of products and sums."""
    found = _inside(A, _invert)
    if found is not None:
        return found
    if not isinstance(A, Inverse):
        return _tidy(A) or _by_rules(A, "->")
    inner = A.of
    if isinstance(inner, Letter) and inner.spec.invertible:
        return _LETTER, inner.turned
    if isinstance(inner, Inverse):
        return _LETTER, inner.of
    if isinstance(inner, Identity):
        return _LETTER, Identity(A.home, A.rows, A.columns)
    if isinstance(inner, Product):
        return _invert_product(inner)
    if isinstance(inner, Sum):
        return _invert_sum(inner)
    return None


def _invert_product(A: Product) -> Found:
    whole = _by_rules(A, "=>")
    if whole is not None:
        return whole[0], Inverse.make(whole[1])
    if all(factor.rows in (factor.columns, factor.columns.dual) for factor in A.factors):
        if all(not isinstance(f, Letter) or f.spec.invertible for f in A.factors):
            return _PRODUCT, product(*(_inverse(factor) for factor in reversed(A.factors)))
    simpler = _simplify(A)
    return None if simpler is None else (simpler[0], Inverse.make(simpler[1]))


def _inverse(A: Operator) -> Operator:
    return A.turned if isinstance(A, Letter) else Inverse.make(A)


def _invert_sum(A: Sum) -> Found:
    if len(A.terms) == 1:
        ((c, inner),) = A.terms
        return _NUMBER, total(Inverse.make(A), [(1 / c, _inverse(inner))])
    pushed = _pushed(A)
    if pushed is not None:
        return _PUSH, pushed
    simpler = _simplify(A)
    return None if simpler is None else (simpler[0], Inverse.make(simpler[1]))


def _pushed(A: Sum) -> Operator | None:
    """1 - c B (1 + c C B)^-1 C for 1 + c B C, if the rules turn 1 + c C B into a product of letters."""
    if len(A.terms) != 2 or not isinstance(A.terms[0][1], Identity) or A.terms[0][0] != 1:
        return None
    c, word = A.terms[1]
    factors = factors_of(word)
    for k in range(1, len(factors)):
        left, right = product(*factors[:k]), product(*factors[k:])
        if left.rows != right.columns:
            continue
        inner = 1 + c * (right @ left)
        simple = simplified(inner)
        if all(isinstance(f, Letter) and f.spec.invertible for f in factors_of(simple)):
            return 1 - c * product(left, Inverse.make(inner), right)
    return None


def _all(A: Operator) -> Iterator[Operator]:
    yield A
    for part in A.parts():
        yield from _all(part)
