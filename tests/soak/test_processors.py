"""Machine code for other processors, run in an emulator: the bits of this one, or a stated difference.

Needs Debian's packages qemu-user, gcc-aarch64-linux-gnu and gcc-arm-linux-gnueabihf.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import kinetree as kt
from kinetree.compiler.runtime import artifact
from kinetree.compiler.runtime.artifact import Artifact
from kinetree.compiler.runtime.description import Description
from kinetree.compiler.runtime.machine import Target, describe, lock

STATES = 11  # not a multiple of any number of lanes
ULP = {"float64": 2.0**-53, "float32": 2.0**-24}
UNFUSED = 2000  # ulps of a result's scale, between rounding each product and not

MODELS = {
    "arm": kt.zoo.arm7,
    "humanoid": kt.zoo.humanoid,
    "looped chain": lambda: kt.zoo.chain(90),
}
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix", "kinetic_energy")


@dataclass(frozen=True)
class Processor:
    """An LLVM target, its linker and its emulator."""

    target: Target
    compiler: str
    emulator: tuple[str, ...]
    fused: bool

    def object_file(self, text: str) -> bytes:
        with lock:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
            module = llvm.parse_assembly(text)
            module.triple = self.target.triple
            target = llvm.Target.from_triple(self.target.triple)
            machine = target.create_target_machine(
                cpu=self.target.cpu, features=self.target.features, opt=1, reloc="pic", codemodel="small"
            )
            return machine.emit_object(module)


PROCESSORS = {
    "aarch64": Processor(
        describe("aarch64-unknown-linux-gnu", "cortex-a72", {}),
        "aarch64-linux-gnu-gcc",
        ("qemu-aarch64", "-cpu", "cortex-a72"),
        True,
    ),
    "x86-64 without AVX and FMA": Processor(
        describe("x86_64-unknown-linux-gnu", "x86-64", {}), "gcc", ("qemu-x86_64", "-cpu", "Nehalem"), False
    ),
}

HARNESS = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int64_t one(void **, const void *, void *);
int64_t run(void **, int64_t *, const void *, int64_t, void *, int64_t *, int64_t);
static void *room(size_t size) { return memset(aligned_alloc(64, (size + 127) / 64 * 64), 0, size); }
int main(void) {
  static const int64_t row[] = {%(rows)s};
  enum { ARRAYS = sizeof row / sizeof *row, INPUTS = %(inputs)d, STATES = %(states)d };
  void *place[ARRAYS], *single[ARRAYS];
  int64_t stride[ARRAYS], progress[3] = {0};
  void *tables = room(%(tables)d), *work = room(%(work)d);
  if (fread(tables, 1, %(tables)d, stdin) != %(tables)d) return 2;
  for (int k = 0; k < ARRAYS; ++k) {
    place[k] = room(row[k] * STATES);
    stride[k] = row[k];
    if (k < INPUTS && fread(place[k], row[k], STATES, stdin) != STATES && row[k]) return 2;
  }
  if (run(place, stride, tables, STATES, work, progress, STATES + 64) != -1) return 3;
  for (int s = 0; s < STATES; ++s) {
    for (int k = 0; k < ARRAYS; ++k)
      single[k] = k < INPUTS ? (char *)place[k] + s * row[k] : room(row[k]);
    if (one(single, tables, work) != -1) return 4;
    for (int k = INPUTS; k < ARRAYS; ++k)
      if (memcmp(single[k], (char *)place[k] + s * row[k], row[k])) return 5;
  }
  for (int k = INPUTS; k < ARRAYS; ++k) fwrite(place[k], row[k], STATES, stdout);
  return 0;
}
"""


def emulated(
    processor: Processor, made: Artifact, inputs: list[np.ndarray], folder: Path
) -> list[np.ndarray]:
    """The results of a batch; each state alone must give the same bits."""
    what = made.description
    itemsize = np.dtype(what.dtype).itemsize
    rows = [int(np.prod(core.shape, dtype=int)) * itemsize for core in (*what.inputs, *what.outputs)]
    facts = {
        "rows": ", ".join(map(str, rows)),
        "inputs": len(what.inputs),
        "states": STATES,
        "tables": len(made.tables),
        "work": max(variant.workspace_bytes for variant in made.variants.values()),
    }
    (folder / "main.c").write_text(HARNESS % facts)
    for name in made.variants:
        (folder / f"{name}.o").write_bytes(processor.object_file(made.text(name)))
    build = [processor.compiler, "-static", "-O1", "main.c", "one.o", "run.o", "-o", "main", "-lm"]
    subprocess.run(build, cwd=folder, check=True)
    given = made.tables + b"".join(np.ascontiguousarray(x, what.dtype).tobytes() for x in inputs)
    done = subprocess.run([*processor.emulator, "./main"], cwd=folder, input=given, capture_output=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    results, start = [], 0
    for core, row in zip(what.outputs, rows[len(what.inputs) :]):
        part = done.stdout[start : start + row * STATES]
        results.append(np.frombuffer(part, what.dtype).reshape(STATES, *core.shape))
        start += row * STATES
    return results


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("robot", MODELS)
@pytest.mark.parametrize("name", PROCESSORS)
def test_the_machine_code_runs(name, robot, function, dtype, tmp_path, monkeypatch):
    processor = PROCESSORS[name]
    for tool in (processor.compiler, processor.emulator[0]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    model = MODELS[robot]()
    here = kt.compile(getattr(kt, function), model, dtype=dtype)
    job = here.job
    program = job.program()
    monkeypatch.setattr(artifact, "host", lambda: processor.target)
    made = Artifact.of(program, Description.of(program, *job.shapes, dtype))
    rng = np.random.default_rng(1)
    state = dict(zip(("q", "v"), model.random_state(rng, batch=(STATES,))))
    inputs = [
        (state[core.name] if core.name in state else rng.normal(size=(STATES, *core.shape))).astype(dtype)
        for core in made.description.inputs
    ]
    expected = here(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for theirs, ours in zip(emulated(processor, made, inputs, tmp_path), expected):
        assert np.isfinite(ours).all()
        if processor.fused:
            np.testing.assert_array_equal(theirs.view(f"u{theirs.itemsize}"), ours.view(f"u{ours.itemsize}"))
        else:
            scale = np.abs(ours).max()
            assert np.abs(theirs - ours).max() <= UNFUSED * ULP[dtype] * scale


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("robot", MODELS)
def test_exported_c_runs_on_32_bits(robot, dtype, tmp_path):
    """The self-test of exported C passes on an ARM with 32-bit pointers and sizes."""
    compiler, emulator = "arm-linux-gnueabihf-gcc", "qemu-arm"
    for tool in (compiler, emulator):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    chosen = [getattr(kt, name) for name in FUNCTIONS]
    files = kt.export_c(chosen, MODELS[robot](), tmp_path, prefix="robot", dtype=dtype)
    sources = [str(file) for file in files if file.suffix == ".c"]
    assert len(sources) == 2
    build = [compiler, "-std=c99", "-O2", "-static", *sources, "-o", "selftest", "-lm"]
    subprocess.run(build, cwd=tmp_path, check=True)
    done = subprocess.run([emulator, "./selftest"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok    ") == len(FUNCTIONS), done.stdout
