"""Programs as LLVM text: SIMD lanes over a batch, or scalar code for a single state."""

from kinetree.compiler.emit.llvm.layout import table_bytes
from kinetree.compiler.emit.llvm.module import Module, emit

__all__ = ["Module", "emit", "table_bytes"]
