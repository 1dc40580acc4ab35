"""Machine code on disk: found again, verified, private, and never in the way."""

from __future__ import annotations

import multiprocessing
import os
import stat
import subprocess
import sys
from collections import deque
from unittest import mock

import numpy as np
import pytest
from tests.compiler_native.conftest import forget
from tests.compiler_native.programs import identity_kernel, kernel_of, program

import kinetree as kt
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.runtime import artifact, cache, native
from kinetree.compiler.runtime.artifact import Artifact
from kinetree.compiler.runtime.description import Description
from kinetree.compiler.runtime.kernel import Kernel

X, Y = np.arange(3.0), np.ones(3)


def files(directory):
    return sorted(directory.glob("*.kto")) if directory.exists() else []


def compiles(monkeypatch) -> list:
    """A list that grows with every run of the compiler."""
    runs: list = []
    build = native.build
    monkeypatch.setattr(native, "build", lambda *a, **k: runs.append(a) or build(*a, **k))
    return runs


def test_compiled_once(empty_cache, monkeypatch) -> None:
    runs = compiles(monkeypatch)
    for _ in range(3):
        np.testing.assert_array_equal(identity_kernel()(X, Y), X + Y)
    assert len(runs) == 1 and len(files(empty_cache)) == 1
    forget(monkeypatch)
    kernel = identity_kernel()
    np.testing.assert_array_equal(kernel(X, Y), X + Y)
    assert len(runs) == 1 and cache.size() == files(empty_cache)[0].stat().st_size
    kernel(X[None], Y[None].repeat(2, 0))
    assert len(runs) == 2 and len(files(empty_cache)) == 2
    cache.clear()
    assert cache.size() == 0 and files(empty_cache) == []


def test_a_key_saves_the_program(empty_cache, monkeypatch) -> None:
    prog = optimize(program({"x": 1}, {"y": lambda x: [x[0] * 2.0]}))
    description = Description.of(prog, [(1,)], [(1,)])
    runs = compiles(monkeypatch)
    assert Artifact.find("a", "float64") is None
    kernel = Kernel(Artifact.of(prog, description, "a"))
    assert kernel(np.array([4.0])) == 8.0 and len(runs) == 1
    assert Artifact.find("a", "float64") is kernel.artifact
    for _ in range(2):
        forget(monkeypatch)
        found = Artifact.find("a", "float64")
        again = Kernel(found)
        assert again(np.array([4.0])) == 8.0 and again(np.array([[4.0], [5.0]])).tolist() == [[8.0], [10.0]]
        assert again.ops == kernel.ops and again.source == kernel.source and repr(again) == repr(kernel)
    assert len(runs) == 2  # the code for a batch was compiled from its text, without the program
    assert Artifact.find("b", "float64") is None and Artifact.find("a", "float32") is None


def test_text_is_printed_when_it_is_needed_and_the_program_made_again(empty_cache, monkeypatch) -> None:
    """A process that finds the code for one state alone makes that for a batch, to the bit."""
    model = kt.zoo.double_pendulum()
    q = np.array([[0.3, -1.0], [2.0, 0.1], [0.0, 1.0]])
    kernel = kt.compile(kt.mass_matrix, model)
    single = kernel(q[0])
    assert list(kernel.artifact.texts) == ["one"]
    expected, text = kernel(q), kernel.source
    np.testing.assert_array_equal(expected[0], single)
    cache.clear()
    for known in (4, 0):  # programs that are kept
        monkeypatch.setattr(artifact, "_recent", deque(maxlen=known))
        forget(monkeypatch)
        first = kt.compile(kt.mass_matrix, kt.zoo.double_pendulum())
        np.testing.assert_array_equal(first(q[0]), single)
        forget(monkeypatch)
        again = kt.compile(kt.mass_matrix, kt.zoo.double_pendulum())
        assert list(again.artifact.texts) == ["one"] and again.artifact is not first.artifact
        np.testing.assert_array_equal(again(q), expected)
        assert again.source == text and first.source == text
        forget(monkeypatch)
        assert list(kt.compile(kt.mass_matrix, kt.zoo.double_pendulum()).artifact.texts) == ["one", "run"]
        cache.clear()


def test_programs_that_differ_in_their_tables_share_code(empty_cache, monkeypatch) -> None:
    runs = compiles(monkeypatch)
    x = np.arange(4.0)
    for factors in ([2.0, 3.0, 5.0, 7.0], [1.0, 0.0, -1.0, 4.0]):
        kernel = kernel_of(scaled(factors))
        np.testing.assert_array_equal(kernel(x), factors * x)
        np.testing.assert_array_equal(kernel(np.tile(x, (9, 1))), np.tile(factors * x, (9, 1)))
        forget(monkeypatch)
    assert len(runs) == 2 and len(files(empty_cache)) == 2


def scaled(factors: list[float]) -> Program:
    """x * factors, in a loop over tables."""
    graph = Graph()
    x, y = graph.array("x", "input", len(factors)), graph.array("y", "output", len(factors))
    table = graph.array("table", "table", len(factors), np.array(factors))
    with graph.loop(len(factors)) as k:
        graph.store(y, k, graph.load(x, k) * graph.load(table, k))
    return Program("scaled", (x,), (y,), (), (table,), graph.root, graph)


def test_different_programs_tables_and_types_do_not_meet(empty_cache) -> None:
    for factor in (2.0, 3.0):
        for dtype in ("float64", "float32"):
            kernel = kernel_of(program({"x": 1}, {"y": lambda x, f=factor: [x[0] * f]}), dtype=dtype)
            assert kernel(np.array([5.0])) == 5.0 * factor
    assert len(files(empty_cache)) == 4


DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "header": lambda data: b"X" + data[1:],
    "longer": lambda data: data + b"\0",
    "other": lambda data: os.urandom(300),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_replaced(empty_cache, monkeypatch, damage) -> None:
    identity_kernel()(X, Y)
    (path,) = files(empty_cache)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    forget(monkeypatch)
    np.testing.assert_array_equal(identity_kernel()(X, Y), X + Y)
    assert path.read_bytes() == good


def test_the_directory_is_private(empty_cache) -> None:
    identity_kernel()(X, Y)
    assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in files(empty_cache))


def test_a_directory_of_somebody_else_is_not_used(empty_cache, monkeypatch) -> None:
    identity_kernel()(X, Y)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    forget(monkeypatch)
    runs = compiles(monkeypatch)
    np.testing.assert_array_equal(identity_kernel()(X, Y), X + Y)
    assert len(runs) == 1 and cache.size() == 0
    cache.clear()
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty_cache.parent))
    assert len(files(empty_cache)) == 1


@pytest.mark.parametrize("obstacle", ["file", "no directory", "full", "home missing"])
def test_no_disk_no_trouble(empty_cache, monkeypatch, obstacle) -> None:
    if obstacle == "file":
        empty_cache.parent.mkdir()
        empty_cache.write_text("in the way")
    elif obstacle == "no directory":
        monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    elif obstacle == "full":

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(
            cache.Path, "home", classmethod(lambda c: (_ for _ in ()).throw(RuntimeError("no home")))
        )
    for _ in range(2):
        forget(monkeypatch)
        np.testing.assert_array_equal(identity_kernel()(X, Y), X + Y)
    assert cache.size() == 0
    cache.clear()
    if obstacle == "full":
        assert [path.name for path in empty_cache.iterdir()] == [cache.SECRET]


def test_the_least_recently_used_go(empty_cache, monkeypatch) -> None:
    entry = b"c" * 1000
    size = len(entry) + len(cache.FORMAT) + 32
    monkeypatch.setattr(cache, "_limit", 5 * size + size // 2)
    for k in range(5):
        cache.store(f"{k:064d}", entry)
        os.utime(empty_cache / f"{k:064d}.kto", (1000 + k, 1000 + k))
    assert cache.load(f"{0:064d}") == entry  # used: the newest now
    cache.store(f"{5:064d}", entry)
    left = {int(p.stem) for p in files(empty_cache)}
    assert left == {0, 2, 3, 4, 5}
    cache.set_limit(2 * size)
    assert len(files(empty_cache)) == 2
    cache.set_limit(0)
    cache.store("x", entry)
    assert files(empty_cache) == []
    with pytest.raises(ValueError, match="number of bytes"):
        cache.set_limit(-1)


def test_a_large_cache_is_not_looked_through_for_every_entry(empty_cache, monkeypatch) -> None:
    """But before it can outgrow its limit; and when it has, room is made for more than one."""
    entry, look = b"c" * 1000, mock.Mock(side_effect=cache._files)
    size = len(entry) + len(cache.FORMAT) + 32
    monkeypatch.setattr(cache, "_limit", 160 * size)
    monkeypatch.setattr(cache, "_files", look)
    for k in range(400):
        cache.store(f"{k:064d}", entry)
        assert len(files(empty_cache)) <= 160
    assert len(files(empty_cache)) >= 140 and look.call_count <= 60
    assert all(cache.load(f"{k:064d}") == entry for k in range(390, 400))


def _write(home: str, seed: int) -> None:
    os.environ["XDG_CACHE_HOME"] = home
    entry = b"c" * 200_000
    for k in range(60):
        cache.store(f"{(k * seed) % 3:064d}", entry)
        found = cache.load(f"{k % 3:064d}")
        assert found is None or found == entry


def test_writers_at_the_same_time(empty_cache) -> None:
    context = multiprocessing.get_context("spawn")
    home = str(empty_cache.parent)
    workers = [context.Process(target=_write, args=(home, seed)) for seed in (1, 2, 4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(worker.exitcode == 0 for worker in workers)
    assert len(files(empty_cache)) == 3 and not list(empty_cache.glob("*.tmp"))


def test_another_process_finds_it(empty_cache, monkeypatch) -> None:
    text = (
        "import sys\n"
        "import numpy as np\n"
        "from kinetree.compiler.runtime import native\n"
        "from tests.compiler_native.programs import mixed_kernel\n"
        "builds, build = [], native.build\n"
        "native.build = lambda *a: builds.append(a) or build(*a)\n"
        "k = mixed_kernel()\n"
        "m, t = k(np.arange(3.0), np.ones(2))\n"
        "b = k(np.ones((4, 3)), np.ones(2))[0]\n"
        "print(m.tobytes().hex(), b.tobytes().hex(), len(native._libraries))\n"
        "print(len(builds), file=sys.stderr)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "."])}
    command = [sys.executable, "-c", text]
    run = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in "ab"]
    assert run[0].stdout == run[1].stdout
    assert [r.stderr.strip() for r in run] == [
        "3",
        "0",
    ]  # one state, a batch, and the function behind fast calls
    assert len(files(empty_cache)) == 3


@pytest.mark.parametrize(("variables", "expected"), [
    ({"XDG_CACHE_HOME": "/x/y"}, "/x/y/kinetree"),
    ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/kinetree"),
    ({"HOME": "/h"}, "/h/.cache/kinetree"),
])  # fmt: skip
@pytest.mark.skipif(sys.platform != "linux", reason="where a cache belongs differs")
def test_where_it_is(monkeypatch, variables, expected) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(cache.directory()) == expected
