"""Ways to run the same function on a GPU, timed one after the other.

    python -m benchmarks.gpu_variants [--seconds 180] [group ...]

Each line is one way: how many warps a state has, how many blocks a processor shall hold, whether rows arrive
ahead, how many numbers a thread may keep, and how many states a block has.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from benchmarks.gpu import FUNCTIONS, Clock, Prepared, copy_speed, model_of, states_for
from kinetree.compiler.emit.llvm import gpu_plan, gpu_rows
from kinetree.compiler.emit.llvm import reciprocal as rec
from kinetree.compiler.emit.llvm.device import NVIDIA, declarations
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.passes.strands import put_aside, strands
from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.stages.compile import job_for
from kinetree.stages.targets import cuda_code
from kinetree.stages.targets.cuda import Cuda, CudaKernel
from kinetree.stages.targets.limbs import owners

ROBOT = {"arm": "7-axis arm", "quad": "quadruped", "hum": "humanoid"}
DEFAULT = cuda_code.way_of
cuda_code.cache.load = lambda name: None
Cuda.executable = lambda self, job: CudaKernel(job)


def way_of(choice: dict[str, Any]):
    """`way_of` with some of it chosen."""

    def way(job: Any, program: Any, where: Any) -> dict[str, Any]:
        found = DEFAULT(job, program, where)
        own = dict(choice)
        hold, slots = own.pop("hold", 0), own.pop("slots", 1000)
        if "count" in own or "kept" in own or "price" in own:
            owner, weights = owners(job, program)
            count, kept, price = own.pop("count", 1), own.pop("kept", 1 << 30), own.pop("price", 12)
            found["strands"] = strands(program, owner, weights, min(count, len(weights)), kept, price)
        if hold:
            found["strands"] = put_aside(found["strands"], program, hold, slots)
        return found | own

    return way


def prepared(robot: str, name: str, dtype: str, choice: dict[str, Any], count: int = 0) -> Prepared:
    choice = dict(choice)
    tile, once = choice.pop("tile", 0), choice.pop("once", 16)
    gpu_plan.TILES, gpu_plan.LITTLE, gpu_plan.FEW, gpu_plan.MUCH = (
        ((tile,), 0, 227 << 10, 227 << 10) if tile else ((64, 32), 8 << 10, 40 << 10, 100 << 10)
    )
    gpu_rows.AT_ONCE = once
    for key in ("KT_NOPLACE", "KT_SYNC", "KT_CONST"):
        os.environ.pop(key, None)
        if key in choice:
            os.environ[key] = str(choice.pop(key))
    each = choice.pop("each", 0)
    cuda_code.way_of = way_of(choice)
    dtype = {"f32": "float32", "f64": "float64"}[dtype]
    job = job_for("bench", FUNCTIONS[name], model_of(ROBOT[robot]), None, {}, dtype)
    ready = Prepared(job, count or states_for(job))
    if each:
        loaded = ready.kernel.code._loaded
        for key, made in loaded.items():
            loaded[key] = made._replace(blocks=-(-ready.count // (made.tile * each)))
    return ready


def measure(robot: str, name: str, dtype: str, clock: Clock, choice: dict[str, Any]) -> str:
    started = time.perf_counter()
    ready = prepared(robot, name, dtype, choice)
    built = time.perf_counter() - started
    times = []
    for _ in range(3):
        times.append(clock.seconds(ready.start, 6))
    rates = [ready.count / t / 1e9 for t in times]
    f = ready.facts()
    loaded = ready.kernel.code.load(cuda.device(), ready.form.layout)
    resident = loaded.launcher.resident()
    return (
        f"best {max(rates):6.2f} median {sorted(rates)[1]:6.2f} regs {f['registers']:3d} local {f['local_bytes']:4d} "
        f"tile {f['tile']} threads {f['threads']} shared {f['shared']} warps {resident * f['threads'] // 32} "
        f"built {built:.1f}s"
    )


def profile() -> None:
    """For a profiler that is told when to look."""
    for what, choice in LIST["first"][:4]:
        ready = prepared(*what.split(), choice)
        with cuda.device().current():
            cuda.driver().cuProfilerStart()
        ready.start()
        cuda_kernels.wait(cuda.device())
        with cuda.device().current():
            cuda.driver().cuProfilerStop()
        print("profiled", what, choice, ready.facts(), flush=True)


def reciprocals() -> None:
    """Whether a reciprocal without a branch has the bits of the division: all float32, many float64."""
    where = cuda.device()
    for dtype, kind, integer in (("float32", "float", "i32"), ("float64", "double", "i64")):
        number = Number(dtype, 1)
        narrow = "trunc i64 %k to i32" if dtype == "float32" else "add i64 %mixed, 0"
        text = f"""
{rec.define(number, NVIDIA.reciprocal[dtype])}
define ptx_kernel void @states(ptr addrspace(1) %notes, i64 %start, i64 %each, i64 %mode) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %t64 = zext i32 %t to i64
  %b64 = zext i32 %b to i64
  %b256 = mul i64 %b64, 256
  %thread = add i64 %b256, %t64
  %first0 = mul i64 %thread, %each
  %first = add i64 %first0, %start
  %stop = add i64 %first, %each
  br label %loop
loop:
  %k = phi i64 [ %first, %entry ], [ %next, %latch ]
  %x1 = lshr i64 %k, 30
  %x2 = xor i64 %x1, %k
  %x3 = mul i64 %x2, -4658895280553007687
  %x4 = lshr i64 %x3, 27
  %x5 = xor i64 %x4, %x3
  %x6 = mul i64 %x5, -7723592293110705685
  %x7 = lshr i64 %x6, 31
  %hash = xor i64 %x7, %x6
  %near = and i64 %k, 4095
  %high = lshr i64 %k, 12
  %exp = and i64 %high, 2047
  %exps = shl i64 %exp, 52
  %ones = sub i64 4503599627370495, %near
  %special1 = or i64 %exps, %ones
  %special2 = or i64 %exps, %near
  %odd0 = lshr i64 %k, 23
  %odd1 = and i64 %odd0, 1
  %odd2 = icmp eq i64 %odd1, 1
  %special = select i1 %odd2, i64 %special1, i64 %special2
  %isspecial = icmp eq i64 %mode, 1
  %mixed = select i1 %isspecial, i64 %special, i64 %hash
  %raw = {narrow}
  %x = bitcast {integer} %raw to {kind}
  %pair = call {{ {kind}, i1 }} @reciprocal({kind} %x)
  %y = extractvalue {{ {kind}, i1 }} %pair, 0
  %odd = extractvalue {{ {kind}, i1 }} %pair, 1
  %z = fdiv {kind} 1.0, %x
  %yi = bitcast {kind} %y to {integer}
  %zi = bitcast {kind} %z to {integer}
  %differs = icmp ne {integer} %yi, %zi
  %number = fcmp ord {kind} %x, %x
  %fine = xor i1 %odd, true
  %c1 = and i1 %differs, %number
  %bad = and i1 %c1, %fine
  br i1 %bad, label %note, label %latch
note:
  %u = atomicrmw add ptr addrspace(1) %notes, i64 1 monotonic
  %where = getelementptr i64, ptr addrspace(1) %notes, i64 1
  %wide = zext {integer} %raw to i128
  %w64 = trunc i128 %wide to i64
  store i64 %w64, ptr addrspace(1) %where
  br label %latch
latch:
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %stop
  br i1 %more, label %loop, label %done
done:
  ret void
}}
{NVIDIA.declarations}
{declarations()}
attributes #0 = {{ nounwind }}
"""
        launcher = cuda_kernels.Launcher(cuda_kernels.assemble(text, where.architecture), where, 4, 256, 0)
        modes = ((0, 1 << 32),) if dtype == "float32" else ((0, 1 << 34), (1, 1 << 24))
        for mode, total in modes:
            notes = cuda.Memory(where, 16)
            notes.put(np.zeros(2, np.int64))
            started = time.perf_counter()
            blocks = 4096
            with where.current():
                launcher.launch([notes.pointer, 0, total // (blocks * 256), mode], blocks, 0)
            cuda_kernels.wait(where)
            found = cuda.array(np.zeros(2, np.int64))
            data = np.zeros(2, np.int64)
            with where.current():
                cuda.driver().cuMemcpyDtoH_v2(data.ctypes.data_as(__import__("ctypes").c_void_p), notes.pointer, 16)
            del found
            print(f"reciprocal {dtype} mode {mode}: {total} numbers, {data[0]} differ (last {data[1]:x}), {time.perf_counter() - started:.2f} s", flush=True)


def ways(what: str, *choices: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(what, choice) for choice in choices]


LIST: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "first": [
        *ways("hum ID f32", {"tile": 128}, {"arriving": False}, {"each": 2}, {"each": 8}, {"warps": 12}, {"tile": 32}),
        *ways("hum ID f64", {"tile": 128}, {"arriving": False}, {"each": 4}, {"KT_CONST": 1}),
        *ways("arm ID f32", {"arriving": False}, {"each": 2}, {"each": 8}, {"tile": 64}, {"warps": 28}, {"tile": 64, "each": 4}),
        *ways("arm FD f32", {"warps": 0}, {"warps": 20}, {"tile": 64}, {"tile": 128}),
        *ways("arm FD f64", {"KT_CONST": 1}, {"tile": 32}, {"kept": 1000, "hold": 75, "slots": 0}, {"tile": 128}),
        *ways("quad FD f32", {"tile": 128}, {"tile": 32}, {"kept": 1000, "hold": 150, "slots": 60, "warps": 12, "ahead": False}),
        *ways("quad ID f32", {"warps": 0}, {"warps": 20}, {"warps": 24}, {"arriving": False}),
        *ways("quad FD f64", {"kept": 95, "price": 6, "hold": 108, "slots": 60}, {"kept": 95, "price": 3, "hold": 105, "slots": 60}),
        *ways("hum FD f64", {"KT_CONST": 1}, {"arriving": False}),
        *ways("hum FD f32", {"kept": 215, "price": 3, "hold": 222, "slots": 108}, {"arriving": False}),
        *ways("quad ID f64", {"arriving": False}, {"tile": 32}),
        *ways("arm ID f64", {"arriving": False}, {"each": 4}),
    ],
}


def main() -> None:
    words = sys.argv[1:]
    limit = 180.0
    if "--seconds" in words:
        k = words.index("--seconds")
        limit = float(words[k + 1])
        del words[k : k + 2]
    started = time.perf_counter()
    clock = Clock(cuda.device())
    print(f"a copy moves {copy_speed(clock) / 1e12:.2f} TB/s", flush=True)
    for group in words or LIST:
        if group in ("reciprocals", "profile"):
            globals()[group]()
            continue
        for what, choice in LIST[group]:
            if time.perf_counter() - started > limit:
                print("out of time")
                return
            try:
                text = measure(*what.split(), clock, choice)
            except Exception as problem:
                text = f"{type(problem).__name__}: {problem}"[:300]
            print(f"{time.perf_counter() - started:5.0f}s {what} {choice}: {text}", flush=True)


if __name__ == "__main__":
    main()
