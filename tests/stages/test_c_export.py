"""C that people ship: names, sizes and order in the header, a static library, little stack, no surprises."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import kinetree as kt

FUNCTIONS = [kt.mass_matrix, kt.forward_dynamics, (kt.jacobian, {"frame": "link7"}), kt.coriolis_matrix]
ROBOT = kt.zoo.arm7()
# what a library without a heap may take from elsewhere
MATHS = {"sin", "cos", "sincos", "sqrt", "fma", "fabs", "sinf", "cosf", "sincosf", "sqrtf", "fmaf", "fabsf"}
STRICT = """-std=c99 -O2 -Wall -Wextra -Wconversion -pedantic -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wdouble-promotion -Wundef -Wcast-qual -Wswitch-default -Wvla
    -Wmissing-braces -Werror""".split()

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["float64", "float32"])
def exported(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    kt.export_c(FUNCTIONS, ROBOT, folder, prefix="arm", dtype=request.param, cmake=True)
    return folder


def test_arguments_have_their_names(exported):
    header = (exported / "arm.h").read_text()
    real = "float" if "float32" in exported.name else "double"
    assert f"{real} *ARM_RESTRICT M);" in header and f"{real} *ARM_RESTRICT J);" in header
    assert "output M[49]: 7 x 7, by rows" in header
    assert "input  v[7]: velocities, rad per s or m per s" in header
    assert not re.search(r"\b(input|output)\d", header)


def test_the_header_says_sizes_and_order(exported):
    header = (exported / "arm.h").read_text()
    for line in ("#define ARM_NQ 7", "#define ARM_NV 7", "#define ARM_NB 7", "q[6] v[6]  joint7 (revolute)"):
        assert line in header
    assert "matrices are stored by rows" in header


def test_order_of_wide_and_of_following_joints(tmp_path):
    builder = kt.ModelBuilder("mixed")
    inertia = kt.Inertia(1.0, (0, 0, 0.1), [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])
    builder.add_body("base", "world", kt.Free(), inertia=inertia)
    builder.add_body("a", "base", kt.Revolute((0, 0, 1)), inertia=inertia)
    builder.add_body("b", "a", kt.Revolute((0, 1, 0)), inertia=inertia, mimic=("a", 2.0, 0.0))
    header = kt.export_c([kt.bias_force], builder.build(), tmp_path)[0].read_text()
    assert "q[0..6] v[0..5]  base (free)" in header
    assert "q[7] v[6]  a (revolute)" in header and "none  b follows a" in header


def test_names_that_headers_define_are_not_used(tmp_path):
    @kt.function("q -> I(nv), NAN(nv), T(nv)")
    def odd(model, q):
        return q, 2 * q, 3 * q

    prototype = kt.export_c([odd], kt.zoo.pendulum(), tmp_path)[0].read_text().rpartition("int ")[2]
    assert "output0" in prototype and "output1" in prototype and "RESTRICT T)" in prototype


@needs_gcc
def test_strict_compilers_have_nothing_to_say(exported):
    run(exported, "gcc", *STRICT, "-c", "arm.c", "-o", "strict.o")


def test_bodies_of_loops_and_branches_are_in_braces(exported):
    for line in (exported / "arm.c").read_text().split("\n"):
        if re.match(r"\s*(for|if|while|else|switch)\b", line):
            assert line.rstrip().endswith("{"), line


@needs_gcc
def test_a_static_library_needs_only_the_maths_library(exported):
    run(exported, "gcc", "-std=c99", "-O2", "-c", "arm.c")
    run(exported, "ar", "rcs", "libarm.a", "arm.o")
    run(exported, "gcc", "-std=c99", "arm_selftest.c", "-L.", "-larm", "-lm", "-o", "selftest")
    assert "0 of 4 functions failed" in run(exported, "./selftest")
    undefined = set(re.findall(r" U (\w+)", run(exported, "nm", "-u", "libarm.a")))
    assert undefined <= MATHS | {"_GLOBAL_OFFSET_TABLE_"}


@needs_gcc
def test_stack_use_is_small(exported):
    run(exported, "gcc", "-std=c99", "-O2", "-fstack-usage", "-c", "arm.c", "-o", "stack.o")
    used = {}
    for line in (exported / "stack.su").read_text().split("\n"):
        if line:
            place, amount, kind = line.split("\t")
            used[place.rpartition(":")[2]] = int(amount)
            assert kind == "static", line
    limit = 1024 if "float32" in exported.name else 2048
    assert used and max(used.values()) <= limit, used


def test_memory_can_be_handed_in(tmp_path):
    chain = kt.zoo.chain(40)
    small, *_ = kt.export_c([kt.forward_dynamics], chain, tmp_path / "a", mode="looped")
    handed, *_ = kt.export_c([kt.forward_dynamics], chain, tmp_path / "b", mode="looped", stack=256)
    assert "_WORK" not in small.read_text()
    assert re.search(r"#define CHAIN\w*_WORK \d+", handed.read_text())


def test_cmake_builds_and_tests_it(exported):
    if shutil.which("cmake") is None:
        text = (exported / "CMakeLists.txt").read_text()
        assert "add_library(arm STATIC arm.c)" in text and "add_test(NAME arm_selftest" in text
        return
    run(exported, "cmake", "-S", ".", "-B", "built")
    run(exported, "cmake", "--build", "built")
    assert (exported / "built" / "libarm.a").is_file()
    assert "0 of 4 functions failed" in run(exported, "built/arm_selftest")
