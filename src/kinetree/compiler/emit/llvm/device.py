"""GPU makes: how each spells what LLVM has no common word for."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.compiler.emit.llvm.types import Number


@dataclass(frozen=True)
class Device:
    """How one make of GPU spells what LLVM has no common word for."""

    triple: str
    kernel: str  # marks a kernel
    shared: str  # address space of shared memory
    own: str  # address space of thread-local memory; empty if it is the common one
    thread: str  # index of the thread in its block, i32
    block: str  # index of the block, i32
    width: str  # threads in a block, i32; empty if that is fixed
    barrier: str
    meeting: str  # the same, where warps arrive from different code
    count: str  # a barrier that counts the threads of the block for which {0} holds, i32
    all: str  # whether {0} holds in all threads of the warp
    told: str  # the i32 that thread {1} of the warp has as {0}; empty if threads cannot exchange numbers
    bounds: str  # the attribute for the number of threads in a block
    resident: str  # the attribute for the number of resident blocks per multiprocessor
    arrive: dict[int, str]  # asynchronous copies to shared memory, by size: destination, source
    commit: str  # commits the copies started so far as one group
    wait: str  # waits until all but the last {0} groups have arrived
    opaque: str  # a 64-bit integer equal to {0} that the compiler cannot see through
    reciprocal: dict[str, str]  # approximately 1 / {0}, by number type
    root: dict[str, str]  # approximately 1 / sqrt({0})
    roughly: str  # approximately sqrt({0}) of float32; empty if there is none
    whole: str  # functions that copy the rows of a whole tile asynchronously; empty if there are none
    declarations: str


NVIDIA_WHOLE = r"""
define internal i1 @warp.lead() alwaysinline convergent nounwind {
  %one = call i32 asm sideeffect "{\0A.reg .pred one;\0Aelect.sync _|one, -1;\0Aselp.b32 $0, 1, 0, one;\0A}",
    "=r"() convergent nounwind
  %lead = icmp ne i32 %one, 0
  ret i1 %lead
}
define internal void @gate.set(ptr addrspace(3) %gate) alwaysinline nounwind {
  %g = ptrtoint ptr addrspace(3) %gate to i32
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], 1;", "r,~{memory}"(i32 %g)
  ret void
}
define internal void @gate.expect(ptr addrspace(3) %gate, i32 %bytes) alwaysinline nounwind {
  %g = ptrtoint ptr addrspace(3) %gate to i32
  call void asm sideeffect "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
    "r,r,~{memory}"(i32 %g, i32 %bytes)
  ret void
}
define internal void @gate.wait(ptr addrspace(3) %gate, i32 %parity) alwaysinline nounwind {
  %g = ptrtoint ptr addrspace(3) %gate to i32
  call void asm sideeffect "{\0A.reg .pred there;\0Aagain:
    mbarrier.try_wait.parity.shared::cta.b64 there, [$0], $1;\0A@!there bra again;\0A}",
    "r,r,~{memory}"(i32 %g, i32 %parity)
  ret void
}
define internal void @rows.in(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 %bytes,
    ptr addrspace(3) %gate) alwaysinline nounwind {
  %t = ptrtoint ptr addrspace(3) %to to i32
  %g = ptrtoint ptr addrspace(3) %gate to i32
  call void asm sideeffect
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];",
    "r,l,r,r,~{memory}"(i32 %t, ptr addrspace(1) %from, i32 %bytes, i32 %g)
  ret void
}
define internal void @grid.next() alwaysinline nounwind {
  call void asm sideeffect "griddepcontrol.launch_dependents;", "~{memory}"()
  ret void
}
define internal void @grid.before() alwaysinline nounwind {
  call void asm sideeffect "griddepcontrol.wait;", "~{memory}"()
  ret void
}
define internal void @rows.fence() alwaysinline nounwind {
  call void asm sideeffect "fence.proxy.async.shared::cta;", "~{memory}"()
  ret void
}
"""
NVIDIA = Device(
    "nvptx64-nvidia-cuda",
    "ptx_kernel",
    "addrspace(3)",
    "",
    "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
    "call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
    "call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()",
    "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
    "call void @llvm.nvvm.barrier.cta.sync.all(i32 1)",
    "call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 {0})",
    "call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 {0})",
    "call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 {0}, i32 {1}, i32 31)",
    '"nvvm.maxntid"="{0}"',
    '"nvvm.minctasm"="{0}"',
    {
        size: f"call void @llvm.nvvm.cp.async.{way}.shared.global.{size}"
        "(ptr addrspace(3) {0}, ptr addrspace(1) {1})"
        for size, way in ((4, "ca"), (8, "ca"), (16, "cg"))
    },
    "call void @llvm.nvvm.cp.async.commit.group()",
    "call void @llvm.nvvm.cp.async.wait.group(i32 {0})",
    'call i64 asm sideeffect "", "=l,0"(i64 {0})',
    {
        "float32": "call float @llvm.nvvm.rcp.approx.ftz.f(float {0})",
        "float64": "call double @llvm.nvvm.rcp.approx.ftz.d(double {0})",
    },
    {"float32": "call float @llvm.nvvm.rsqrt.approx.ftz.f(float {0})"},
    "call float @llvm.nvvm.sqrt.approx.ftz.f(float {0})",
    NVIDIA_WHOLE,
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"
    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n"
    "declare void @llvm.nvvm.barrier.cta.sync.all(i32)\n"
    "declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)\n"
    "declare i1 @llvm.nvvm.vote.all.sync(i32, i1)\n"
    "declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))\n"
    "declare void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3), ptr addrspace(1))\n"
    "declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))\n"
    "declare void @llvm.nvvm.cp.async.commit.group()\n"
    "declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)\n"
    "declare float @llvm.nvvm.rcp.approx.ftz.f(float)\n"
    "declare float @llvm.nvvm.rsqrt.approx.ftz.f(float)\n"
    "declare float @llvm.nvvm.sqrt.approx.ftz.f(float)\n"
    "declare double @llvm.nvvm.rcp.approx.ftz.d(double)",
)
AMD = Device(
    "amdgcn-amd-amdhsa",
    "amdgpu_kernel",
    "addrspace(3)",
    "addrspace(5)",
    "call i32 @llvm.amdgcn.workitem.id.x()",
    "call i32 @llvm.amdgcn.workgroup.id.x()",
    "",
    "call void @llvm.amdgcn.s.barrier()",
    "call void @llvm.amdgcn.s.barrier()",
    "",
    "",
    "",
    '"amdgpu-flat-work-group-size"="{0},{0}"',
    "",
    {},
    "",
    "",
    "add i64 {0}, 0",
    {},
    {},
    "",
    "",
    "declare i32 @llvm.amdgcn.workitem.id.x()\n"
    "declare i32 @llvm.amdgcn.workgroup.id.x()\n"
    "declare void @llvm.amdgcn.s.barrier()",
)


def declarations() -> str:
    """The intrinsic functions that kernels use."""
    lines = []
    for kind in (Number("float32", 1), Number("float64", 1)):
        v, suffix = kind.vector, kind.suffix
        lines.append(f"declare {v} @llvm.fma.{suffix}({v}, {v}, {v})")
        lines += [f"declare {v} @llvm.{name}.{suffix}({v})" for name in ("sqrt", "fabs", "floor")]
    return "\n".join(lines)


def attributes(device: Device, threads: int, resident: int = 0) -> str:
    """The attributes of the kernel, and the metadata of branches and loads."""
    held = device.resident.format(resident) if resident else ""
    return f"""attributes #0 = {{ nounwind {device.bounds.format(threads)} {held} }}
!0 = !{{!"branch_weights", i32 1, i32 100000}}
!1 = !{{}}
!2 = distinct !{{!2, !3}}
!3 = !{{!"llvm.loop.unroll.disable"}}"""
