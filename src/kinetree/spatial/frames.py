"""Frames: which body's axes and origin a spatial quantity is expressed in.

Every spatial value may carry a tag, any object that stands for its frame; None is untagged and fits
everything. Sweeps tag what they hand out, so a sum of a force in body 3's axes and one in its parent's axes
raises at once, eagerly and while tracing, and costs nothing in compiled code.
"""

from __future__ import annotations

from typing import Any

from kinetree.errors import FrameError


def joined(a: Any, b: Any, what: str) -> Any:
    """The common frame of two tags, or FrameError."""
    if a is b or b is None:
        return a
    if a is None:
        return b
    raise FrameError(
        f"{what}: one operand is expressed in the frame of {a}, the other in the frame of {b}. "
        "Transform one of them first: X @ motion takes it to the successor, X.T @ force to the predecessor."
    )
