"""The emulated processor: exchanges of the threads of a warp, and runs in which not all of them take part."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.gpu.emulator import Block, Emulated
from tests.gpu.test_twins import apart, some_of_many_turns

import kinetree as kt
from kinetree.compiler.emit.llvm.gpu import NVIDIA
from kinetree.compiler.passes import twins
from kinetree.stages.compile import job_for

HEAD = f"""define ptx_kernel void @states(ptr addrspace(1) %found) {{
entry:
  %tid32 = {NVIDIA.thread}
  %lane = and i32 %tid32, 31
  %odd = trunc i32 %tid32 to i1
  %place = getelementptr i32, ptr addrspace(1) %found, i32 %tid32
"""


def run(code: str) -> np.ndarray:
    """What the 64 threads of a block leave in `%place`."""
    found = np.full(64, -1, np.int32)
    Block(HEAD + code + "\n}\n" + NVIDIA.declarations).run([found.ctypes.data], 1, 64)
    return found


def test_words_of_any_thread_of_the_warp():
    after = "%k = add i32 %lane, 5\n%from = and i32 %k, 31"
    told = NVIDIA.told.format("%tid32", "%from")
    found = run(f"{after}\n%x = {told}\nstore i32 %x, ptr addrspace(1) %place\nret void")
    lanes = np.arange(64)
    assert np.array_equal(found, lanes // 32 * 32 + (lanes + 5) % 32)


def test_votes():
    """Thirty-two threads agree, and the thirty-two others do not."""
    vote = NVIDIA.all.format("%early")
    code = f"%early = icmp slt i32 %tid32, 40\n%all = {vote}\n%x = zext i1 %all to i32"
    found = run(f"{code}\nstore i32 %x, ptr addrspace(1) %place\nret void")
    assert np.array_equal(found, np.arange(64) < 32)


@pytest.mark.parametrize(
    "others", [NVIDIA.told.format("1", "0"), NVIDIA.all.format("true"), NVIDIA.barrier, ""]
)
def test_branches_that_part_of_a_warp_takes(others):
    """The others exchange elsewhere, wait for their block, or end."""
    here = f"%x = {NVIDIA.told.format('%tid32', '0')}\nret void"
    there = f"{'%y = ' * ('void' not in others) + others if others else ''}\nret void"
    with pytest.raises(AssertionError, match="not all threads of a warp come to %"):
        run(f"br i1 %odd, label %here, label %there\nhere:\n{here}\nthere:\n{there}")


def test_loops_that_threads_leave_on_their_own(monkeypatch):
    """Without the vote, threads go on exchanging numbers with those that have left a loop."""
    monkeypatch.setattr(twins, "WORTH", 10.0)
    program = job_for("test", apart, kt.zoo.arm7(), None, {}, "float64").program(0)
    kernel = Emulated(program, "float64", pairs=[(program.inputs[0], 0, 1)])
    given = some_of_many_turns("float64")
    kernel(given)
    vote = re.escape(NVIDIA.all.format("...")).replace(re.escape("..."), "(.*)")
    text, count = re.subn(vote, r"and i1 \1, true", kernel.made.text)
    assert count == 1
    kernel.block = Block(text)
    with pytest.raises(AssertionError, match=r"not all threads of a warp come to %.* = call i32"):
        kernel(given)
