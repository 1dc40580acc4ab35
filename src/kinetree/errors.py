"""The errors that kinetree raises, so that callers can tell them apart.

Every message says what was given, what was expected, which named part it concerns and what to do.
"""

from __future__ import annotations

from typing import Any


class KinetreeError(Exception):
    """Base class of all kinetree errors."""


class ModelError(KinetreeError, ValueError):
    """A model, or the file it comes from, is not a valid mechanism."""


class FileError(ModelError):
    """A robot file cannot become a model; `finding` says which rule it breaks, where, and what to do."""

    def __init__(self, finding: Any, more: int = 0) -> None:
        others = f" ({more} more of this kind: kinetree check lists them.)" if more else ""
        super().__init__(str(finding) + others)
        self.finding = finding

    def __reduce__(self) -> tuple[Any, ...]:
        return FileError, (self.finding,)


class FileWarning(UserWarning):
    """A robot file became a model that moves differently from the file; `model.report` has the details."""


class ShapeError(KinetreeError, ValueError):
    """An array has the wrong shape or type for the model it is used with."""


class ArgumentError(ShapeError, TypeError):
    """An argument is missing, unknown, given twice, or of the wrong kind."""


class StateError(KinetreeError, ValueError):
    """A configuration is not valid for the model: a quaternion in it is far from unit length."""


class AssemblyError(StateError, ModelError):
    """A loop is open, or cannot be closed: the message says which, and by how much."""


class FrameError(KinetreeError, ValueError):
    """Two quantities were combined although they are expressed in different frames."""


class TraceError(KinetreeError, TypeError):
    """The body of a function or algorithm cannot be traced."""


class CompileError(KinetreeError, RuntimeError):
    """A program could not be turned into machine code or source text."""


class SingularError(KinetreeError, ArithmeticError):
    """A mechanism has no inertia along one of its motions, so its acceleration is not defined."""


class SimulationError(KinetreeError, RuntimeError):
    """A simulation cannot go on; `trajectory` has what was computed before, if anything was."""

    trajectory: object = None


class MissingPackageError(KinetreeError, ImportError):
    """A required optional package is not installed; the message says how to install it."""
