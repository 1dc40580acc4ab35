"""A graphics processor made of threads: kernels run here as they would there, one Python thread for each.

The same LLVM text is compiled for this computer's processor. What a device has built in (the number of a
thread and of its block, the barrier) are functions of Python. Where threads of a warp exchange something, all
32 must come to the same place of the text: a run in which they do not fails. `FakeDriver` is NVIDIA's driver
as far as kinetree calls it, with such a processor behind it: memory is the host's.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import threading
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from kinetree.compiler.emit.llvm.gpu import NVIDIA, emit_gpu
from kinetree.compiler.emit.llvm.layout import table_bytes
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.strands import Strands
from kinetree.compiler.runtime.machine import host, lock

SHARED, FREE = 227 << 10, 48 << 10  # bytes of shared memory of a block; those that need not be asked for
DECLARATIONS = """declare i32 @thread_number()
declare i32 @block_number()
declare i32 @block_width()
declare void @block_barrier()
declare i32 @block_sum(i32)
define internal i32 @block_count(i1 %mine) {
  %told = zext i1 %mine to i32
  %found = call i32 @block_sum(i32 %told)
  ret i32 %found
}
declare i32 @sched_yield()
declare i32 @llvm.vector.reduce.and.v32i32(<32 x i32>)
declare i32 @llvm.vector.reduce.or.v32i32(<32 x i32>)
declare void @warp_wrong(i32)
@warp_arrived = external global [32 x i32]
@warp_away = external global [32 x i32]
@warp.words = internal global [2 x [32 x [32 x i32]]] zeroinitializer
@warp.calls = internal global [2 x [32 x [32 x i32]]] zeroinitializer
define internal ptr @warp_words(i32 %call, i32 %thread, i32 %word) {
  %warp = lshr i32 %thread, 5
  %lane = and i32 %thread, 31
  %arrived = getelementptr i32, ptr @warp_arrived, i32 %warp
  %away = getelementptr i32, ptr @warp_away, i32 %warp
  %before = load atomic i32, ptr %arrived acquire, align 4
  %turn = lshr i32 %before, 5
  %parity = and i32 %turn, 1
  %words = getelementptr [32 x [32 x i32]], ptr @warp.words, i32 %parity, i32 %warp
  %calls = getelementptr [32 x [32 x i32]], ptr @warp.calls, i32 %parity, i32 %warp
  %my.word = getelementptr i32, ptr %words, i32 %lane
  %my.call = getelementptr i32, ptr %calls, i32 %lane
  store i32 %word, ptr %my.word
  store i32 %call, ptr %my.call
  atomicrmw add ptr %arrived, i32 1 acq_rel
  br label %wait
wait:
  %gone = load atomic i32, ptr %away acquire, align 4
  %now = load atomic i32, ptr %arrived acquire, align 4
  %turn.now = lshr i32 %now, 5
  %all = icmp ne i32 %turn.now, %turn
  br i1 %all, label %there, label %missing
missing:
  %yielded = call i32 @sched_yield()
  %some = icmp eq i32 %gone, 0
  br i1 %some, label %wait, label %wrong
there:
  %told = load <32 x i32>, ptr %calls, align 4
  %least = call i32 @llvm.vector.reduce.and.v32i32(<32 x i32> %told)
  %most = call i32 @llvm.vector.reduce.or.v32i32(<32 x i32> %told)
  %same = icmp eq i32 %least, %most
  br i1 %same, label %fine, label %wrong
wrong:
  call void @warp_wrong(i32 %call)
  br label %fine
fine:
  ret ptr %words
}
define internal i32 @warp_told(i32 %call, i32 %thread, i32 %word, i32 %lane, i32 %clamp) {
  %words = call ptr @warp_words(i32 %call, i32 %thread, i32 %word)
  %place = getelementptr i32, ptr %words, i32 %lane
  %found = load i32, ptr %place
  ret i32 %found
}
define internal i1 @warp_all(i32 %call, i32 %thread, i1 %mine) {
  %word = zext i1 %mine to i32
  %words = call ptr @warp_words(i32 %call, i32 %thread, i32 %word)
  %told = load <32 x i32>, ptr %words, align 4
  %all = call i32 @llvm.vector.reduce.and.v32i32(<32 x i32> %told)
  %found = trunc i32 %all to i1
  ret i1 %found
}
define internal i1 @warp.lead() {
  %thread = call i32 @thread_number()
  %lane = and i32 %thread, 31
  %lead = icmp eq i32 %lane, 0
  ret i1 %lead
}
declare void @gate.set(ptr)
declare void @gate.expect(ptr, i32)
declare void @gate.wait(ptr, i32)
declare void @rows.in(ptr, ptr, i32, ptr)
define internal void @rows.fence() { ret void }
define internal void @grid.next() { ret void }
define internal void @grid.before() { ret void }
define internal float @rough.f(float %b) {
  %y = fdiv float 1.0, %b
  ret float %y
}
define internal float @rough.root.f(float %b) {
  %root = call float @llvm.sqrt.f32(float %b)
  %y = fdiv float 1.0, %root
  ret float %y
}
define internal double @rough.d(double %b) {
  %y = fdiv double 1.0, %b
  %bits = bitcast double %y to i64
  %upper = and i64 %bits, -4294967296
  %rough = bitcast i64 %upper to double
  ret double %rough
}
define internal void @arriving.commit.group() { ret void }
define internal void @arriving.wait.group(i32 %n) { ret void }
""" + "\n".join(
    f"define internal void @arriving.{way}.shared.global.{size}(ptr %to, ptr %from) {{\n"
    f"  %x = load {kind}, ptr %from, align {size}\n  store {kind} %x, ptr %to, align {size}\n  ret void\n}}"
    for size, kind, way in ((4, "i32", "ca"), (8, "i64", "ca"), (16, "<2 x i64>", "cg"))
)
BUILT_IN = {
    NVIDIA.thread: "call i32 @thread_number()",
    NVIDIA.block: "call i32 @block_number()",
    NVIDIA.width: "call i32 @block_width()",
    NVIDIA.barrier: "call void @block_barrier()",
    NVIDIA.count.partition("i1 {0}")[0]: "call i32 @block_count(",
    NVIDIA.all.partition("i1 {0}")[0]: "call i1 @warp_all(",
    NVIDIA.told.partition("i32 {0}")[0]: "call i32 @warp_told(",
    NVIDIA.meeting: "call void @block_barrier()",
    NVIDIA.whole: "",
    NVIDIA.declarations: DECLARATIONS,
    "@llvm.nvvm.cp.async.": "@arriving.",
    "@llvm.nvvm.rcp.approx.ftz.": "@rough.",
    "@llvm.nvvm.rsqrt.approx.ftz.": "@rough.root.",
    "@llvm.nvvm.sqrt.approx.ftz.f": "@llvm.sqrt.f32",
    "define ptx_kernel": "define",
    "addrspace(1)": "",
    "addrspace(3)": "",
    "addrspace(4)": "",
    "[2 x i64] poison": "[2 x i64] zeroinitializer",
}
EXCHANGE = r"%.* = call i\d+ @warp_(?:told|all)\("  # each is told its number and who comes to it


GATED = {
    "gate.set": (ctypes.c_int64,),
    "gate.expect": (ctypes.c_int64, ctypes.c_int32),
    "gate.wait": (ctypes.c_int64, ctypes.c_int32),
    "rows.in": (ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.c_int64),
}


class Gates:
    """Where threads wait for rows: each gate has the phase that it is in, and the bytes that are missing."""

    def __init__(self, wrong: list[str]) -> None:
        self.phase: dict[int, int] = {}
        self.missing: dict[int, int] = {}
        self.changed = threading.Condition()
        self.wrong = wrong

    def set(self, gate: int) -> None:
        with self.changed:
            self.phase[gate] = self.missing[gate] = 0

    def expect(self, gate: int, count: int) -> None:
        with self.changed:
            if self.missing[gate]:
                self.wrong.append("rows are asked for while others are under way")
            self.missing[gate] = count

    def wait(self, gate: int, parity: int) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: self.phase[gate] % 2 != parity, 60):
                self.wrong.append("rows never came")

    def in_(self, to: int, source: int, count: int, gate: int) -> None:
        if count % 16 or to % 16 or source % 16:
            self.wrong.append(f"{count} bytes from {source} to {to}: not multiples of 16")
        ctypes.memmove(to, source, count)
        with self.changed:
            self.missing[gate] -= count
            if not self.missing[gate]:
                self.phase[gate] += 1
                self.changed.notify_all()


class Block:
    """A kernel, run block by block; the threads of a block are threads."""

    def __init__(self, text: str):
        self.own = 8 * sum(map(int, re.findall(r"= internal addrspace\(3\) global \[(\d+) x i64\]", text)))
        for there, here in BUILT_IN.items():
            text = text.replace(there, here)
        self._exchanges = re.findall(EXCHANGE + ".*", text)
        numbers = itertools.count()
        text = re.sub(EXCHANGE, lambda found: f"{found[0]}i32 {next(numbers)}, i32 %tid32, ", text)
        self.text = text
        self._me = threading.local()
        self._callbacks = {
            "thread_number": ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: self._me.thread),
            "block_number": ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: self._me.block),
            "block_width": ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: len(self._told)),
            "block_barrier": ctypes.CFUNCTYPE(None)(self._meet),
            "block_sum": ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(self._sum),
            "warp_wrong": ctypes.CFUNCTYPE(None, ctypes.c_int32)(self._apart),
        }
        self.wrong: list[str] = []
        self._gates = Gates(self.wrong)
        for name, types in GATED.items():
            function = getattr(self._gates, {"in": "in_"}.get(name[5:], name[5:]))
            self._callbacks[name] = ctypes.CFUNCTYPE(None, *types)(function)
        self._shared = np.full(SHARED // 8, np.nan)  # nothing may be relied on
        self._arrived = np.zeros(32, np.int32)  # at exchanges, by warp: so many threads, over all exchanges
        self._away = np.zeros(32, np.int32)  # whether threads of a warp have ended, or wait for their block
        with lock:
            for name, callback in self._callbacks.items():
                llvm.add_symbol(name, ctypes.cast(callback, ctypes.c_void_p).value)
            llvm.add_symbol("shared", self._shared.ctypes.data)
            llvm.add_symbol("warp_arrived", self._arrived.ctypes.data)
            llvm.add_symbol("warp_away", self._away.ctypes.data)
            module = llvm.parse_assembly(text)
            module.triple = host().triple
            module.verify()
            self._engine = llvm.create_mcjit_compiler(module, host().machine())
            self._engine.finalize_object()
            self._address = self._engine.get_function_address("states")

    def _meet(self) -> None:
        """Wait for all threads of the block."""
        self._away[self._me.thread // 32] = 1
        try:
            self._wait.wait()
        except threading.BrokenBarrierError:
            self.wrong.append("not all threads of a block come to a barrier")

    def _sum(self, mine: int) -> int:
        """What all threads tell together, when they have come here."""
        self._told[self._me.thread] = mine
        self._meet()
        found = sum(self._told)
        self._meet()  # before the next is told
        return found

    def _apart(self, exchange: int) -> None:
        """Threads of a warp are at different places: nobody waits any longer, so that the run ends."""
        self.wrong.append(f"not all threads of a warp come to {self._exchanges[exchange]}")
        self._away[:] = 1
        self._wait.abort()

    def run(self, arguments: list[int], blocks: int, count: int) -> None:
        self._wait = threading.Barrier(count, lambda: self._away.fill(0), timeout=60)
        self._told = [0] * count
        function = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * len(arguments))(self._address)

        def run(block: int, thread: int) -> None:
            self._me.block, self._me.thread = block, thread
            function(*arguments)
            self._away[thread // 32] = 1

        for block in range(blocks):
            self._arrived[:] = self._away[:] = 0
            threads = [threading.Thread(target=run, args=(block, k)) for k in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not self.wrong, self.wrong[0]


class Emulated:
    """The kernel of a program, for batches of a few states in rows."""

    def __init__(
        self,
        program: Program,
        dtype: str,
        *,
        large: bool = False,
        strands: Strands | None = None,
        shared: int = SHARED,
        ahead: bool = False,
        arriving: str = "",
        together: int = 0,
        pairs: Sequence[Any] = (),
    ):
        self.program, self.dtype, self.large = program, np.dtype(dtype), large
        how = {"ahead": ahead, "arriving": arriving, "together": together, "pairs": pairs}
        self.made = emit_gpu(program, dtype, "rows", large=large, strands=strands, shared=shared, **how)
        self.block = Block(self.made.text)

    def __call__(self, *inputs: np.ndarray, blocks: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
        """The results, and the notes: the first state refused (or -1), and 7 if an angle was too large."""
        count, made = len(inputs[0]), self.made
        arrays = [np.ascontiguousarray(x, self.dtype).reshape(count, -1) for x in inputs]
        results = [np.full((count, a.size), 777.0, self.dtype) for a in self.program.outputs]
        notes = np.array([-1, 7 if self.large else 0], np.int64)
        tables = np.frombuffer(table_bytes(self.program, str(self.dtype)) or bytes(8), np.uint8)
        blocks = blocks or -(-count // made.tile)
        work = np.zeros(max(made.work_numbers * blocks * made.threads, 1), self.dtype)
        arguments: list[int] = []
        for x in (*arrays, *results):
            arguments += [x.ctypes.data, x.shape[1], 1]
        arguments += [tables.ctypes.data, work.ctypes.data, notes.ctypes.data, count, blocks, 7]
        self.block.run(arguments, blocks, made.threads)
        return results, notes


class FakeDriver:
    """`libcuda` with one device and `room` bytes of memory; `fails` names a function and what it returns."""

    def __init__(self, room: int = 1 << 30, version: int = 12040, capability: tuple[int, int] = (9, 0)):
        self.room, self.version, self.devices = room, version, 1
        self.attributes = {75: capability[0], 76: capability[1], 16: 2, 97: SHARED, 36: 1000, 37: 64}
        self.memory: dict[int, np.ndarray] = {}
        self.modules: dict[int, Block] = {}
        self.launches = self.loads = 0
        self.fails: dict[str, int] = {}
        self.homes: dict[int, int] = {}  # the device of a piece of memory, if that is not the first
        self.streams = 16
        self.asked: dict[int, int] = {}  # for so much shared memory, by function
        self.awaited: list[int] = []  # streams that were waited for
        self.late: list[tuple[int, bytes]] = []  # copies that are still on their way on the common stream

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu"):
            fails = object.__getattribute__(self, "fails")
            if name in fails:
                return lambda *_: fails[name]
        return object.__getattribute__(self, name)

    # -- what does nothing here

    def cuInit(self, _: Any) -> int:
        return 0

    cuCtxPushCurrent_v2 = cuCtxPopCurrent_v2 = cuInit

    def _arrive(self, stream: Any) -> None:
        """What is done on a stream comes behind what was begun on it; other streams do not wait for it."""
        while not stream and self.late:
            to, data = self.late.pop(0)
            ctypes.memmove(to, data, len(data))

    def cuStreamSynchronize(self, stream: Any) -> int:
        self._arrive(stream)
        self.awaited.append(stream)
        return 0

    def cuFuncSetAttribute(self, function: Any, which: int, value: int) -> int:
        if which == 8:
            self.asked[function.value] = value
        return 0

    def cuDeviceGet(self, found: Any, number: int) -> int:
        return 0 if number < self.devices else 101

    def cuDevicePrimaryCtxRetain(self, found: Any, _: Any) -> int:
        found._obj.value = 1
        return 0

    def cuStreamCreate(self, found: Any, _: int) -> int:
        self.streams += 1
        found._obj.value = self.streams
        return 0

    # -- facts

    def cuDriverGetVersion(self, found: Any) -> int:
        found._obj.value = self.version
        return 0

    def cuDeviceGetCount(self, found: Any) -> int:
        found._obj.value = self.devices
        return 0

    def cuDeviceGetAttribute(self, found: Any, which: int, _: Any) -> int:
        found._obj.value = self.attributes[which]
        return 0

    def cuFuncGetAttribute(self, found: Any, *_: Any) -> int:
        found._obj.value = 1
        return 0

    cuOccupancyMaxActiveBlocksPerMultiprocessor = cuFuncGetAttribute

    def cuPointerGetAttribute(self, found: Any, _: Any, pointer: int) -> int:
        found._obj.value = self.homes.get(pointer, 0)
        return 0

    def cuGetErrorString(self, status: int, found: Any) -> int:
        known = {1: b"invalid argument", 2: b"out of memory", 700: b"an illegal memory access"}
        found._obj.value = known.get(status, b"unknown")
        return 0

    # -- memory

    def cuMemAlloc_v2(self, found: Any, size: int, *_: Any) -> int:
        if sum(a.nbytes for a in self.memory.values()) + size > self.room:
            return 2
        array = np.full(size, 0xA5, np.uint8)
        found._obj.value = array.ctypes.data
        self.memory[array.ctypes.data] = array
        return 0

    cuMemHostAlloc = cuMemAlloc_v2

    def cuMemFree_v2(self, pointer: int) -> int:
        del self.memory[pointer]
        return 0

    cuMemFreeHost = cuMemFree_v2

    def cuMemcpyHtoD_v2(self, to: int, source: int, size: int) -> int:
        """Returns when it has read the source, as the driver does."""
        self.late.append((to, ctypes.string_at(source, size)))
        return 0

    def cuMemcpyHtoDAsync_v2(self, to: int, source: int, size: int, stream: Any = 0) -> int:
        self._arrive(stream)
        ctypes.memmove(to, source, size)
        return 0

    cuMemcpyDtoH_v2 = cuMemcpyDtoHAsync_v2 = cuMemcpyHtoDAsync_v2

    def cuMemsetD32Async(self, to: int, value: int, count: int, stream: Any) -> int:
        self._arrive(stream)
        np.ctypeslib.as_array((ctypes.c_uint32 * count).from_address(to))[:] = value
        return 0

    def cuMemcpy2DAsync_v2(self, found: Any, stream: Any) -> int:
        self._arrive(stream)
        facts = found._obj
        for k in range(facts.height):
            source, target = facts.source + k * facts.source_pitch, facts.target + k * facts.target_pitch
            ctypes.memmove(target, source, facts.width)
        return 0

    # -- kernels: what is loaded is LLVM text

    def cuModuleLoadDataEx(self, found: Any, text: Any, *_: Any) -> int:
        self.loads += 1
        number = self.loads
        self.modules[number] = Block(text.value.decode())
        found._obj.value = number
        return 0

    def cuModuleGetFunction(self, found: Any, module: Any, _: bytes) -> int:
        found._obj.value = module.value
        return 0

    def cuModuleUnload(self, module: Any) -> int:
        self.modules.pop(module.value)
        return 0

    def cuLaunchKernelEx(self, found: Any, function: Any, arguments: Any, _: Any) -> int:
        facts = found._obj
        sizes = facts.x, facts.y, facts.z, facts.threads, facts.threads_y, facts.threads_z, facts.shared
        return self.cuLaunchKernel(function, *sizes, facts.stream or 0, arguments, None)

    def cuLaunchKernel(self, function: Any, blocks: int, *rest: Any) -> int:
        threads, shared, stream, arguments = rest[2], rest[5], rest[6], rest[7]
        own = self.modules[function.value].own
        if shared > self.asked.get(function.value, FREE - own) or shared + own > SHARED:
            return 1
        self._arrive(stream)
        numbers = [ctypes.c_int64.from_address(p).value for p in arguments]
        self.modules[function.value].run(numbers, blocks, threads)
        self.launches += 1
        return 0
