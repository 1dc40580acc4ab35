"""The signature of a compiled program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from kinetree.compiler.ir.program import Program

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Core:
    """One argument or result of a kernel: its name and its shape for one state."""

    name: str
    shape: Shape

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Description:
    """A kernel's name, number type, arguments and results."""

    name: str
    dtype: str
    inputs: tuple[Core, ...]
    outputs: tuple[Core, ...]

    @staticmethod
    def of(
        program: Program,
        input_shapes: Sequence[Shape],
        output_shapes: Sequence[Shape],
        dtype: str = "float64",
    ) -> Description:
        """The description of a program whose arrays have these shapes for one state."""
        inputs, outputs = (
            tuple(Core(array.name, tuple(shape)) for array, shape in zip(arrays, shapes, strict=True))
            for arrays, shapes in ((program.inputs, input_shapes), (program.outputs, output_shapes))
        )
        return Description(program.name, dtype, inputs, outputs)

    def __str__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{core.name}{list(core.shape)}" for core in cores)
            for cores in (self.inputs, self.outputs)
        )
        return f"{self.name}: {inputs} -> {outputs}, {self.dtype}"
