"""Addresses in few bytes: long straight code runs as fast as the processor can take in its bytes.

On x86-64 an instruction says in one byte how far its number is from the address in a register, but in four
bytes if that is more than 128 bytes. So what a function reads and writes is divided into windows of 256
bytes. Registers point to the middle of the first window of every array; a few more hold distances of windows,
which an instruction can add once, twice, four or eight times. They are chosen to reach what is used most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

DISTANCES = 3  # registers that hold distances
FARTHEST = 64  # windows
TIMES = (1, 2, 4, 8)


class Addresses:
    """The addresses that one function asks for: bytes behind an address that has a name."""

    def __init__(self, window: int):
        self._window = window  # bytes; 0: all addresses are equally short
        self._asked: dict[int, tuple[str, str, int]] = {}  # by line: a new name, a start, bytes behind it
        self._known: dict[str, tuple[str, int]] = {}
        self._reached: dict[int, tuple[int, int]] = {}  # windows, by which distance, and how many times that

    def ask(self, line: int, name: str, start: str, offset: int) -> None:
        """Note that `line` is to give `name` to an address, behind a start or behind what was asked for."""
        start, before = self._known.get(start, (start, 0))
        self._known[name] = start, before + offset
        self._asked[line] = name, start, before + offset

    def sort(self, start: str, size: int) -> None:
        """Let what is used most stand first, of entries of this size behind a start of our own."""
        counts = Counter(offset for _, of, offset in self._asked.values() if of == start)
        places = {offset: k * size for k, (offset, _) in enumerate(counts.most_common())}
        for line, (name, of, offset) in self._asked.items():
            if of == start:
                self._asked[line] = name, of, places[offset]

    def head(self) -> list[str]:
        """What must stand at the beginning of the function. All has been asked for."""
        if not self._window:
            return []
        distances = self._choose()
        lines = []
        for distance in distances:
            opaque = f'call i64 asm "", "=r,0"(i64 {distance * self._window})'  # or else LLVM adds it itself
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
        """The lines that were asked for."""
        for line, (name, start, offset) in self._asked.items():
            base = start
            if self._window:
                window = offset // self._window
                base, offset = f"%middle.{start[1:]}", offset - self._window // 2
                if window in self._reached:
                    base, offset = f"{base}.{window}", offset - window * self._window
            yield line, f"  {name} = getelementptr i8, ptr {base}, i64 {offset}"

    def _choose(self) -> list[int]:
        """The distances that reach most."""
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
