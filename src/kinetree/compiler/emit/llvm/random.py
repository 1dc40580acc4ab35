"""Auxiliary GPU kernels: counter-based random numbers, and clipped rows of numbers.

Each thread has one row. The random numbers are those of `scale/philox.py`: Philox 4x64-10 of Salmon and
others (2011), whose upper bits make a number between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kinetree.compiler.emit.llvm.device import NVIDIA, Device, attributes
from kinetree.compiler.emit.llvm.types import Number

THREADS = 128  # per block


class Generator:
    """The constants of a random number generator.

    Args:
        multipliers, weyl: its constants, two each.
        rounds: how often they are applied.
        bits: of a number between 0 and 1.
    """

    def __init__(self, multipliers: Sequence[int], weyl: Sequence[int], rounds: int, bits: int):
        self.multipliers, self.weyl = [_signed(x) for x in multipliers], [_signed(x) for x in weyl]
        self.rounds, self.bits = rounds, bits

    def lines(self) -> Iterator[str]:
        """From the counters %block and %run and the key %k0, %k1 to the words %w0 to %w3."""
        a, b, c, d, k0, k1 = "%block", "%run", "0", "0", "%k0", "%k1"
        for r in range(self.rounds):
            for word, factor, name in ((a, self.multipliers[0], "p"), (c, self.multipliers[1], "s")):
                yield f"%{name}x{r} = zext i64 {word} to i128"
                yield f"%{name}y{r} = zext i64 {factor} to i128"
                yield f"%{name}xy{r} = mul i128 %{name}x{r}, %{name}y{r}"
                yield f"%{name}up{r} = lshr i128 %{name}xy{r}, 64"
                yield f"%{name}high{r} = trunc i128 %{name}up{r} to i64"
                yield f"%{name}low{r} = mul i64 {word}, {factor}"
            yield f"%m{r} = xor i64 %shigh{r}, {b}"
            yield f"%a{r} = xor i64 %m{r}, {k0}"
            yield f"%n{r} = xor i64 %phigh{r}, {d}"
            yield f"%c{r} = xor i64 %n{r}, {k1}"
            yield f"%ka{r} = add i64 {k0}, {self.weyl[0]}"
            yield f"%kb{r} = add i64 {k1}, {self.weyl[1]}"
            a, b, c, d, k0, k1 = f"%a{r}", f"%slow{r}", f"%c{r}", f"%plow{r}", f"%ka{r}", f"%kb{r}"
        for k, word in enumerate((a, b, c, d)):
            yield f"%w{k} = or i64 {word}, 0"


def random_rows(generator: Generator, dtype: str, masked: bool, device: Device = NVIDIA) -> str:
    """A kernel that fills rows with random numbers, four for each slot (key, key, counter) of a table.

    Arguments: rows, table, slots, mask, numbers, number, count. `number` is how often numbers were drawn for
    a row before; if `masked`, that is in `numbers` (which is incremented), and rows are unchanged where the
    mask is not above a half.
    """
    number = Number(dtype, 1)
    scalar, size = number.scalar, number.bytes
    lines = [
        "%table = inttoptr i64 %table.a to ptr addrspace(1)",
        "%numbers = inttoptr i64 %numbers.a to ptr addrspace(1)",
        "%rows = inttoptr i64 %rows.a to ptr addrspace(1)",
    ]
    if masked:
        lines += [
            "%mask = inttoptr i64 %mask.a to ptr addrspace(1)",
            f"%flag.p = getelementptr {scalar}, ptr addrspace(1) %mask, i64 %i",
            f"%flag = load {scalar}, ptr addrspace(1) %flag.p, align {size}",
            f"%meant = fcmp ogt {scalar} %flag, {number.constant(0.5)}",
            "br i1 %meant, label %draw, label %end",
            "draw:",
            "%drawn.p = getelementptr i64, ptr addrspace(1) %numbers, i64 %i",
            "%drawn = load i64, ptr addrspace(1) %drawn.p, align 8",
            "%more = add i64 %drawn, 1",
            "store i64 %more, ptr addrspace(1) %drawn.p, align 8",
        ]
    else:
        lines += ["br label %draw", "draw:", "%drawn = or i64 %number, 0"]
    lines += [
        "%shifted = shl i64 %drawn, 32",
        "%run = or i64 %shifted, %i",
        "%some = icmp ugt i64 %slots, 0",
        "br i1 %some, label %slot, label %end",
        "slot:",
        "%s = phi i64 [ 0, %draw ], [ %next, %slot ]",
        "%entry = mul i64 %s, 3",
    ]
    for k, name in enumerate(("k0", "k1", "block")):
        lines += [
            f"%{name}.i = add i64 %entry, {k}",
            f"%{name}.p = getelementptr i64, ptr addrspace(1) %table, i64 %{name}.i",
            f"%{name} = load i64, ptr addrspace(1) %{name}.p, align 8",
        ]
    lines += generator.lines()
    lines += ["%before = mul i64 %i, %slots", "%place = add i64 %before, %s", "%first = mul i64 %place, 4"]
    for k in range(4):
        lines += [
            f"%top{k} = lshr i64 %w{k}, {64 - generator.bits}",
            f"%x{k} = uitofp i64 %top{k} to {scalar}",
            f"%y{k} = fadd {scalar} %x{k}, {number.constant(0.5)}",
            f"%u{k} = fmul {scalar} %y{k}, {number.constant(2.0**-generator.bits)}",
            f"%at{k} = add i64 %first, {k}",
            f"%u{k}.p = getelementptr {scalar}, ptr addrspace(1) %rows, i64 %at{k}",
            f"store {scalar} %u{k}, ptr addrspace(1) %u{k}.p, align {size}",
        ]
    lines += ["%next = add i64 %s, 1", "%on = icmp ult i64 %next, %slots"]
    lines += ["br i1 %on, label %slot, label %end"]
    arguments = ("rows.a", "table.a", "slots", "mask.a", "numbers.a", "number", "count")
    return _kernel(arguments, lines, device)


def cut_rows(dtype: str, device: Device = NVIDIA) -> str:
    """A kernel that copies rows clipped to [-1, 1]; non-finite numbers become 0, and are reported.

    Arguments: source, state stride, element stride, rows, bad, width, count. `bad` is 1 for each row with a
    non-finite number, else 0.
    """
    number = Number(dtype, 1)
    scalar, size = number.scalar, number.bytes
    one, zero, low = (number.constant(x) for x in (1.0, 0.0, -1.0))
    lines = [
        "%source = inttoptr i64 %source.a to ptr addrspace(1)",
        "%rows = inttoptr i64 %rows.a to ptr addrspace(1)",
        "%bad = inttoptr i64 %bad.a to ptr addrspace(1)",
        "%start = mul i64 %i, %state",
        "%first = mul i64 %i, %width",
        "br label %turn",
        "turn:",
        "%k = phi i64 [ 0, %work ], [ %next, %turn ]",
        f"%worst = phi {scalar} [ {zero}, %work ], [ %worse, %turn ]",
        "%away = mul i64 %k, %element",
        "%there = add i64 %start, %away",
        f"%x.p = getelementptr {scalar}, ptr addrspace(1) %source, i64 %there",
        f"%x = load {scalar}, ptr addrspace(1) %x.p, align {size}",
        f"%zero = fsub {scalar} %x, %x",
        f"%fine = fcmp oeq {scalar} %zero, {zero}",
        f"%worse = select i1 %fine, {scalar} %worst, {scalar} {one}",
        f"%sane = select i1 %fine, {scalar} %x, {scalar} {zero}",
        f"%over = fcmp ogt {scalar} %sane, {one}",
        f"%upper = select i1 %over, {scalar} {one}, {scalar} %sane",
        f"%under = fcmp olt {scalar} %upper, {low}",
        f"%y = select i1 %under, {scalar} {low}, {scalar} %upper",
        "%here = add i64 %first, %k",
        f"%y.p = getelementptr {scalar}, ptr addrspace(1) %rows, i64 %here",
        f"store {scalar} %y, ptr addrspace(1) %y.p, align {size}",
        "%next = add i64 %k, 1",
        "%on = icmp ult i64 %next, %width",
        "br i1 %on, label %turn, label %told",
        "told:",
        f"%bad.p = getelementptr {scalar}, ptr addrspace(1) %bad, i64 %i",
        f"store {scalar} %worse, ptr addrspace(1) %bad.p, align {size}",
        "br label %end",
    ]
    return _kernel(("source.a", "state", "element", "rows.a", "bad.a", "width", "count"), lines, device)


def _kernel(arguments: Sequence[str], lines: Sequence[str], device: Device) -> str:
    """A kernel whose threads each process a row %i; `count` is the last argument."""
    head = [
        f"%thread = {device.thread}",
        f"%group = {device.block}",
        "%t = zext i32 %thread to i64",
        "%g = zext i32 %group to i64",
        f"%base = mul i64 %g, {THREADS}",
        "%i = add i64 %base, %t",
        "%inside = icmp ult i64 %i, %count",
        "br i1 %inside, label %work, label %end",
        "work:",
    ]
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in (*head, *lines))
    parameters = ", ".join(f"i64 %{name}" for name in arguments)
    return (
        f"{device.declarations}\ndefine {device.kernel} void @states({parameters}) #0 {{\n{body}\n"
        f"end:\n  ret void\n}}\n{attributes(device, THREADS)}\n"
    )


def _signed(word: int) -> int:
    """A 64-bit word as LLVM writes it."""
    return word - (1 << 64) if word >> 63 else word


__all__ = ["THREADS", "Generator", "cut_rows", "random_rows"]
