"""Short address encodings: long straight-line code runs only as fast as the processor fetches its bytes.

On x86-64 a displacement from an address register takes one byte up to 128 bytes, and four bytes beyond. So
the memory that a function accesses is divided into windows of 256 bytes. One register per array points to the
middle of its first window; a few more hold distances in windows, which an instruction can add with a scale of
1, 2, 4 or 8. They are chosen to cover the most accesses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

DISTANCES = 3  # registers that hold distances
FARTHEST = 64  # windows
TIMES = (1, 2, 4, 8)


class Addresses:
    """The addresses that one function requests: byte offsets from named addresses."""

    def __init__(self, window: int):
        self._window = window  # bytes; 0: all encodings are equally short
        self._asked: dict[int, tuple[str, str, int]] = {}  # by line: new name, start, byte offset
        self._known: dict[str, tuple[str, int]] = {}
        self._reached: dict[int, tuple[int, int]] = {}  # window: distance register and scale

    def ask(self, line: int, name: str, start: str, offset: int) -> None:
        """Request that `line` defines `name` as an address relative to a start or an earlier request."""
        start, before = self._known.get(start, (start, 0))
        self._known[name] = start, before + offset
        self._asked[line] = name, start, before + offset

    def sort(self, start: str, size: int) -> None:
        """Reorder the entries of this size after a start of our own, the most used first."""
        counts = Counter(offset for _, of, offset in self._asked.values() if of == start)
        places = {offset: k * size for k, (offset, _) in enumerate(counts.most_common())}
        for line, (name, of, offset) in self._asked.items():
            if of == start:
                self._asked[line] = name, of, places[offset]

    def head(self) -> list[str]:
        """The lines at the beginning of the function, once all requests are known."""
        if not self._window:
            return []
        distances = self._choose()
        lines = []
        for distance in distances:
            opaque = f'call i64 asm "", "=r,0"(i64 {distance * self._window})'  # so that LLVM does not add it
            lines.append(f"  %distance{distance} = {opaque}")
            for k, times in enumerate(TIMES):
                lines.append(f"  %distance{distance}.{times} = shl i64 %distance{distance}, {k}")
        for start in dict.fromkeys(start for _, start, _ in self._asked.values()):
            middle = f"%middle.{start[1:]}"
            lines += [
                f"  {middle}.start = getelementptr i8, ptr {start}, i64 {self._window // 2}",
                f'  {middle} = call ptr asm "", "=r,0"(ptr {middle}.start)',
            ]
            for window, (distance, times) in self._reached.items():
                there = f"getelementptr i8, ptr {middle}, i64 %distance{distance}.{times}"
                lines.append(f"  {middle}.{window} = {there}")
        return lines

    def lines(self) -> Iterator[tuple[int, str]]:
        """The requested lines."""
        for line, (name, start, offset) in self._asked.items():
            base = start
            if self._window:
                window = offset // self._window
                base, offset = f"%middle.{start[1:]}", offset - self._window // 2
                if window in self._reached:
                    base, offset = f"{base}.{window}", offset - window * self._window
            yield line, f"  {name} = getelementptr i8, ptr {base}, i64 {offset}"

    def _choose(self) -> list[int]:
        """The distances that cover the most accesses."""
        weights = Counter(offset // self._window for _, _, offset in self._asked.values())
        chosen: list[int] = []
        for _ in range(DISTANCES):
            gains = {
                d: sum(weights[d * t] for t in TIMES if d * t not in self._reached)
                for d in range(1, FARTHEST)
            }
            best = max(gains, key=lambda d: (gains[d], -d))
            if not gains[best]:
                break
            chosen.append(best)
            for t in TIMES:
                self._reached.setdefault(best * t, (best, t))
        return chosen
