"""What the compiler makes of a program, in a form that can be kept: machine code, tables, description."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

FORMAT = b"kinetree object 1\n"


@dataclass
class Description:
    """The facts about an object file that calling it needs."""

    name: str
    dtype: str
    inputs: list[tuple[str, list[int]]]
    outputs: list[tuple[str, list[int]]]
    variant: str = ""  # the function to call: "one" state, or "run" over a batch
    lanes: int = 1
    guarded: bool = False
    workspace_bytes: int = 0
    nanoseconds: float = 0.0  # an estimate of the time of one state; decides on threads, nothing else
    ops: dict[str, int] = field(default_factory=dict)


@dataclass
class Entry:
    """An object file with its constant tables and description."""

    description: Description
    code: bytes
    tables: bytes

    def pack(self) -> bytes:
        """All of it as bytes, with a checksum in front."""
        head = asdict(self.description) | {"code_bytes": len(self.code), "table_bytes": len(self.tables)}
        text = json.dumps(head, sort_keys=True).encode()
        body = len(text).to_bytes(8, "little") + text + self.code + self.tables
        return FORMAT + hashlib.sha256(body).digest() + body

    @staticmethod
    def unpack(data: bytes) -> Entry | None:
        """The inverse of `pack`; None if the data are not whole and unchanged."""
        start = len(FORMAT) + 32
        body = data[start:]
        if data[: len(FORMAT)] != FORMAT or hashlib.sha256(body).digest() != data[len(FORMAT) : start]:
            return None
        size = int.from_bytes(body[:8], "little")
        head: dict[str, Any] = json.loads(body[8 : 8 + size])
        middle = 8 + size + head.pop("code_bytes")
        if len(body) != middle + head.pop("table_bytes"):
            return None
        return Entry(Description(**head), body[8 + size : middle], body[middle:])
