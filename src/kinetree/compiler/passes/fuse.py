"""Selection of fused multiply-adds: which product goes into which sum.

A product that is used exactly once, by a sum or a difference, becomes part of it: a b + c, a b - c, c - a b
or -a b - c with one rounding. Of two such products in one sum the one computed later is fused. A sum of sums
is written as one chain, a b + (c d + e), if that takes fewer operations, its parts are close together and
nothing else needs them. The choice is made here and nowhere else, so a result does not depend on how a
program is split, on the number of lanes, or on compiler settings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from kinetree.compiler.ir.graph import Block, Loop, Part, Switch, While
from kinetree.compiler.ir.program import Program, operands, walk
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.ops import Expr

CLOSE = 15  # statements from a part of a sum to the sum; beyond that its operands would stay live too long
LONGEST = 8  # terms of a chain
SIGNS = {"add": (True, True), "sub": (True, False), "neg": (False,)}


def fuse(program: Program) -> Program:
    """The same program with fused multiply-adds."""
    choice = _Choice(program)
    return _Fuse(program, choice.products, choice.chains).run()


@dataclass(frozen=True)
class _Term:
    """A term of a sum, added or subtracted: a product of two factors, or a number."""

    value: Any
    positive: bool
    is_product: bool

    def signed(self, positive: bool) -> _Term:
        return self if positive else _Term(self.value, not self.positive, self.is_product)


class _Choice:
    """What becomes of sums.

    products: the product fused into a sum. chains: the terms of the sums that are written as chains; the sums
    inside them disappear.
    """

    def __init__(self, program: Program):
        self.products: dict[Expr, Expr] = {}
        self.chains: dict[Expr, list[_Term]] = {}
        self._uses = Counter(a for s in walk(program.body) for a in operands(s) if type(a) is Expr)
        self._terms: dict[Expr, list[_Term]] = {}
        self._cost: dict[Expr, int] = {}  # operations of a sum and of the sums and products inside it
        self._place: dict[Expr, tuple[Block, int]] = {}
        self._block(program.body)

    def _block(self, block: Block) -> None:
        for k, s in enumerate(block.statements):
            if type(s) is Expr:
                self._place[s] = block, k
                if s.op in SIGNS:
                    self._sum(s)
            elif isinstance(s, Switch):
                for case in s.cases:
                    self._block(case)
            elif isinstance(s, (Loop, While, Part)):
                self._block(s.body)

    def _sum(self, e: Expr) -> None:
        products = [a for a in e.args if self._is_product(a)] if e.op != "neg" else []
        inside = [a for a in e.args if self._is_inside(a, e)]
        if products:
            self.products[e] = max(products, key=lambda a: a.number)
        terms = self._terms[e] = self._parts(e, inside)
        cost = max(len(products), 1) + sum(self._cost[a] for a in inside)
        chain = _chain(terms)
        operations = len(terms) - any(not t.is_product for t in terms)
        if inside and chain and operations < cost:
            self.chains[e], cost = chain, operations
        self._cost[e] = cost

    def _parts(self, e: Expr, inside: list[Expr]) -> list[_Term]:
        """The terms of a sum with the sums inside it expanded."""
        terms: list[_Term] = []
        for a, positive in zip(e.args, SIGNS[e.op], strict=True):
            if a in inside:
                terms += [t.signed(positive) for t in self._terms[a]]
            else:
                terms.append(_Term(a, positive, self._is_product(a)))
        return terms if len(terms) <= LONGEST else self._parts(e, [])

    def _is_product(self, a: Any) -> bool:
        return type(a) is Expr and a.op == "mul" and self._uses[a] == 1

    def _is_inside(self, a: Any, e: Expr) -> bool:
        """True for a sum that is used only by this one and is close to it."""
        if type(a) is not Expr or a.op not in SIGNS or self._uses[a] != 1:
            return False
        (block, k), (there, n) = self._place[e], self._place[a]
        return there is block and k - n <= CLOSE


def _chain(terms: list[_Term]) -> list[_Term] | None:
    """The terms in an order in which each operation adds one more; None if there is none."""
    terms = sorted(terms, key=_when)
    others = [t for t in terms if not t.is_product]
    products = [t for t in terms if t.is_product]
    if not products:
        return None
    first = next((t for t in others if t.positive), None)
    if first is None and len(others) > 1:
        return None
    if first is None:
        start = next((t for t in products if t.positive), (others or products)[0])
        if start.is_product and not start.positive and len(products) == 1:
            return None
        return [start, *(t for t in (*others, *products) if t is not start)]
    return [first, *(t for t in others if t is not first), *products]


def _when(term: _Term) -> int:
    """The position in the text: later values come later."""
    numbers = term.value.args if term.is_product else (term.value,)
    return max((a.number for a in numbers if type(a) is Expr), default=-1)


class _Fuse(Rebuild):
    """Holds back products as pairs of factors, and sums inside chains; the sums that use them are fused."""

    def __init__(self, program: Program, products: dict[Expr, Expr], chains: dict[Expr, list[_Term]]):
        super().__init__(program)
        self._chains = chains
        self._gone: set[Expr] = set()
        for e in chains:
            self._gone.update(_inside(e, chains[e]))
        self._products = {e: p for e, p in products.items() if e not in chains and e not in self._gone}
        self._kept = set(self._products.values())
        for e in chains:
            if e not in self._gone:
                self._kept.update(t.value for t in chains[e] if t.is_product)

    def expr(self, old: Expr, args: tuple) -> Any:
        if old in self._kept:
            return args
        if old in self._gone:
            return None
        if old in self._chains:
            return self._chained(self._chains[old])
        product = self._products.get(old)
        if product is None:
            return super().expr(old, args)
        left, right = args
        if product is old.args[1]:
            return self.graph.node("fma" if old.op == "add" else "fnma", (*right, left))
        return self.graph.node("fma" if old.op == "add" else "fms", (*left, right))

    def _chained(self, chain: list[_Term]) -> Any:
        node, first = self.graph.node, chain[0]
        total, rest = self.new(first.value), chain[1:]
        if first.is_product and rest and not rest[0].is_product:
            total, rest = node("fms", (*total, self.new(rest[0].value))), rest[1:]
        elif first.is_product:
            total = node("mul", total)
        if not first.positive:  # then so is the second one, a product
            total, rest = node("fnms", (*self.new(rest[0].value), total)), rest[1:]
        for term in rest:
            value = self.new(term.value)
            if term.is_product:
                total = node("fma" if term.positive else "fnma", (*value, total))
            else:
                total = node("add" if term.positive else "sub", (total, value))
        return total


def _inside(e: Expr, chain: list[_Term]) -> set[Expr]:
    """The sums between a chain and its terms."""
    ends = {t.value for t in chain if type(t.value) is Expr}
    found: set[Expr] = set()
    waiting = [a for a in e.args if type(a) is Expr and a not in ends]
    while waiting:
        a = waiting.pop()
        found.add(a)
        waiting += [b for b in a.args if type(b) is Expr and b not in ends]
    return found
