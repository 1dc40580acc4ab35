"""A cache that is attacked between any two calls: it returns what was stored, or nothing."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from kinetree.compiler.runtime import cache

COUNT = 20_000
BLOCK = 500
LIMIT = 20.0
NAMES = [f"{k:064x}" for k in range(4)]


def _flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size + 1))


def _lengthen(path: Path, chance: random.Random) -> None:
    with path.open("ab") as file:
        file.write(chance.randbytes(chance.randrange(1, 100)))


def _replace(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(chance.randrange(500)))


def _exchange(path: Path, chance: random.Random) -> None:
    other = path.with_name(f"{chance.choice(NAMES)}.kto")
    if other.is_file() and path.is_file():
        first, second = path.read_bytes(), other.read_bytes()
        path.write_bytes(second)
        other.write_bytes(first)


def _link(path: Path, chance: random.Random) -> None:
    aside = path.with_name(f"aside{chance.randrange(10**6)}")
    path.rename(aside)
    path.symlink_to(aside)


def _pipe(path: Path, chance: random.Random) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def _folder(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def _open_to_others(path: Path, chance: random.Random) -> None:
    path.chmod(chance.choice((0o666, 0o620, 0o602, 0o644, 0o400, 0o000)))


def _remove(path: Path, chance: random.Random) -> None:
    path.unlink()


def _open_the_directory(path: Path, chance: random.Random) -> None:
    path.parent.chmod(chance.choice((0o777, 0o770, 0o755, 0o1777)))


def _plant(path: Path, chance: random.Random) -> None:
    """Plant an entry written by someone who knows the format but not the secret."""
    path.write_bytes(cache.FORMAT + chance.randbytes(32) + b"planted")


ATTACKS: list[Callable[[Path, random.Random], None]] = [
    _flip, _flip, _cut, _lengthen, _replace, _exchange, _link, _pipe, _folder, _open_to_others, _remove,
    _open_the_directory, _plant,
]  # fmt: skip


def trial(seed: int) -> str:
    chance = random.Random(seed)
    home = Path(tempfile.mkdtemp(prefix="kinetree-soak-"))
    os.environ["XDG_CACHE_HOME"] = str(home)
    contents = {name: chance.randbytes(chance.randrange(1, 2000)) for name in NAMES}
    lost = 0
    try:
        for _ in range(4):
            for name in NAMES:
                if chance.random() < 0.7:
                    cache.store(name, contents[name])
            for _ in range(chance.randrange(1, 4)):
                files = [p for p in cache.directory().glob("*") if p.is_file() and not p.is_symlink()]
                if files:
                    chance.choice(ATTACKS)(chance.choice(files), chance)
            for name in NAMES:
                found = cache.load(name)
                assert found in (None, contents[name]), f"{found[:20]!r} was not put there"
                lost += found is None
            cache.size()
        shutil.rmtree(cache.directory(), ignore_errors=True)
        cache.store(NAMES[0], contents[NAMES[0]])
        assert cache.load(NAMES[0]) == contents[NAMES[0]], "a new cache does not work"
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return "entries lost" if lost else "nothing lost"
