"""Sums of terms, in which equations of motion have unique forms.

A term is a coefficient times powers of symbols times an angular part. That part is written in two ways:
`Waves` turn products into sums, so cos(x) cos(y) - sin(x) sin(y) is cos(x + y); `Powers` keep products and
write sin(x)^2 as 1 - cos(x)^2. In either, equal functions of the angles have equal terms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from kinetree.interpreters.symbolic import FINEST, as_sympy

Sparse = tuple[tuple[int, int], ...]  # (symbol or angle, nonzero count), sorted
Key = tuple[Sparse, Any]  # powers of symbols, and the angular part
Form = dict[Key, Any]  # key -> coefficient: an int or Fraction, or a float if it is not a simple one

HALF = Fraction(1, 2)
NOISE = 1e-13  # coefficients below this fraction of the largest are left over from cancellation
EFFORT = 300_000  # products of terms after which a ring gives up: about a second of work


class TooLongError(Exception):
    """A sum has too many terms to be simple."""


def merged(a: Sparse, b: Sparse, sign: int = 1) -> Sparse:
    """The sum of the counts of both, those of `b` times `sign`."""
    counts = dict(a)
    for k, n in b:
        counts[k] = counts.get(k, 0) + sign * n
    return tuple(sorted((k, n) for k, n in counts.items() if n))


class Ring(ABC):
    """Sums of terms and their arithmetic; symbols and angles are identified by their places in a list."""

    one: Any  # the angular part of a term without angles

    def __init__(self) -> None:
        self.symbols: list[Any] = []
        self.effort = 0
        self._places: dict[Any, int] = {}
        self.times = cache(self._times)

    @abstractmethod
    def _times(self, a: Any, b: Any) -> tuple[tuple[Any, Any], ...]:
        """(factor, part) of the product of two angular parts."""

    @abstractmethod
    def turned(self, angle: int, multiple: int, is_sine: bool) -> tuple[tuple[Any, Any], ...]:
        """(factor, part) of the sine or cosine of a multiple of an angle."""

    @abstractmethod
    def written(self, part: Any) -> Any:
        """An angular part in SymPy."""

    def place(self, symbol: Any) -> int:
        """The number of a symbol or angle."""
        place = self._places.setdefault(symbol, len(self.symbols))
        if place == len(self.symbols):
            self.symbols.append(symbol)
        return place

    def number(self, x: float | Fraction) -> Form:
        if isinstance(x, float) and abs(x) < 2**20 and (x / FINEST).is_integer():
            x = Fraction(x)
        return {((), self.one): x} if x else {}

    def symbol(self, symbol: Any) -> Form:
        return {(((self.place(symbol), 1),), self.one): 1}

    def add(self, a: Form, b: Form, sign: int = 1) -> Form:
        total = dict(a)
        for key, c in b.items():
            total[key] = total.get(key, 0) + sign * c
        return {key: c for key, c in total.items() if c}

    def sub(self, a: Form, b: Form) -> Form:
        return self.add(a, b, -1)

    def neg(self, a: Form) -> Form:
        return {key: -c for key, c in a.items()}

    def mul(self, a: Form, b: Form) -> Form:
        self.effort += len(a) * len(b)
        if self.effort > EFFORT:
            raise TooLongError
        total: Form = {}
        for (powers, part), c in a.items():
            for (others, other), d in b.items():
                product = merged(powers, others) if powers and others else powers or others
                for factor, result in self.times(part, other):
                    key = product, result
                    total[key] = total.get(key, 0) + factor * c * d
        return {key: c for key, c in total.items() if c}

    def div(self, a: Form, b: Form) -> Form:
        if len(b) == 1:
            (((powers, part), c),) = b.items()
            if part == self.one:
                inverse = Fraction(1) / c if not isinstance(c, float) else 1.0 / c
                return self.mul(a, {(tuple((k, -n) for k, n in powers), part): inverse})
        return self.mul(a, self.symbol(1 / self.expression(b)))

    def power(self, a: Form, n: int) -> Form:
        result = self.number(1)
        for _ in range(n):
            result = self.mul(result, a)
        return result

    def sin(self, a: Form) -> Form:
        return self._turns(a)[1]

    def cos(self, a: Form) -> Form:
        return self._turns(a)[0]

    def _turns(self, a: Form) -> tuple[Form, Form]:
        """Cosine and sine of a sum: term by term if all are whole multiples of symbols, else as one angle."""
        angles: list[tuple[int, int]] = []
        for (powers, part), c in a.items():
            if part != self.one or len(powers) != 1 or powers[0][1] != 1 or c != int(c):
                angles = [(self.place(self.expression(a)), 1)]
                break
            angles.append((powers[0][0], int(c)))
        cosine, sine = self.number(1), self.number(0)
        for angle, multiple in angles:
            c, s = (self._angular(self.turned(angle, multiple, kind)) for kind in (False, True))
            cosine, sine = self._sum_of_angles(cosine, sine, c, s)
        return cosine, sine

    def _angular(self, parts: Iterable[tuple[Any, Any]]) -> Form:
        return {((), part): factor for factor, part in parts}

    def _sum_of_angles(self, c1: Form, s1: Form, c2: Form, s2: Form) -> tuple[Form, Form]:
        """Cosine and sine of x + y from those of x and y."""
        return self.sub(self.mul(c1, c2), self.mul(s1, s2)), self.add(self.mul(s1, c2), self.mul(c1, s2))

    def parts(self, a: Form) -> dict[Any, list[Any]]:
        """The terms in SymPy, without their angular parts, grouped by these."""
        from sympy import Mul, Rational

        found: dict[Any, list[Any]] = {}
        for (powers, part), c in sorted(a.items(), key=lambda item: repr(item[0])):
            number = as_sympy(c) if isinstance(c, float) else Rational(c.numerator, c.denominator)
            term = Mul(number, *(self.symbols[k] ** n for k, n in powers))
            found.setdefault(self.written(part), []).append(term)
        return found

    def expression(self, a: Form) -> Any:
        """The sum in SymPy, term by term."""
        from sympy import Add, Mul

        return Add(*(Mul(term, part) for part, terms in self.parts(a).items() for term in terms))

    def cleaned(self, a: Form) -> Form:
        """The form without terms that only rounding has left after cancellation."""
        largest = max((abs(c) for c in a.values()), default=0)
        return {key: c for key, c in a.items() if not isinstance(c, float) or abs(c) > NOISE * largest}


class Waves(Ring):
    """An angular part is (multiples of angles, is sine); the first of the multiples is positive."""

    one: Any = ((), False)

    def turned(self, angle: int, multiple: int, is_sine: bool) -> tuple[tuple[Any, Any], ...]:
        return tuple(self._oriented(((angle, multiple),) if multiple else (), is_sine, 1))

    def _oriented(self, multiples: Sparse, is_sine: bool, factor: Any) -> Iterator[tuple[Any, Any]]:
        if not multiples and is_sine:
            return
        if multiples and multiples[0][1] < 0:
            multiples, factor = tuple((k, -n) for k, n in multiples), -factor if is_sine else factor
        yield factor, (multiples, is_sine)

    def _times(self, a: Any, b: Any) -> tuple[tuple[Any, Any], ...]:
        """cos x cos y = (cos(x - y) + cos(x + y)) / 2 and so on."""
        (x, sx), (y, sy) = a, b
        if not x or not y:
            return ((1, b if not x else a),)
        is_sine = sx != sy
        minus = -HALF if sy and not sx else HALF  # cos x sin y
        plus = -HALF if sx and sy else HALF
        return (
            *self._oriented(merged(x, y, -1), is_sine, minus),
            *self._oriented(merged(x, y), is_sine, plus),
        )

    def written(self, part: Any) -> Any:
        from sympy import cos, sin

        multiples, is_sine = part
        return (sin if is_sine else cos)(sum(n * self.symbols[k] for k, n in multiples)) if multiples else 1


class Powers(Ring):
    """An angular part holds the powers of cosines (2 k) and sines (2 k + 1); those of sines are at most 1."""

    one: Any = ()

    def turned(self, angle: int, multiple: int, is_sine: bool) -> tuple[tuple[Any, Any], ...]:
        c, s = (self._angular([(1, ((2 * angle + k, 1),))]) for k in (0, 1))
        sign = -1 if multiple < 0 else 1
        cosine, sine = self.number(1), self.number(0)
        for _ in range(abs(multiple)):
            cosine, sine = self._sum_of_angles(cosine, sine, c, s)
        found = {key: sign * x for key, x in sine.items()} if is_sine else cosine
        return tuple((factor, part) for (_, part), factor in found.items())

    def _times(self, a: Any, b: Any) -> tuple[tuple[Any, Any], ...]:
        product = merged(a, b)
        for k, n in product:
            if k % 2 and n > 1:  # s^n = s^(n - 2) - s^(n - 2) c^2
                rest = merged(product, ((k, -2),))
                return (*self.times(rest, ()), *((-f, p) for f, p in self.times(rest, ((k - 1, 2),))))
        return ((1, product),)

    def written(self, part: Any) -> Any:
        from sympy import Mul, cos, sin

        return Mul(*((sin if k % 2 else cos)(self.symbols[k // 2]) ** n for k, n in part))
