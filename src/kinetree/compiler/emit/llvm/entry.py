"""The text of the function behind fast calls (see `kinetree.compiler.runtime.fastcall`).

It reads one context per kernel, an array of 64-bit words; `entry_parts` says what they are.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm import entry_parts as part
from kinetree.compiler.emit.llvm.entry_parts import ALONE, ARRAYS, SPEC, Offsets
from kinetree.compiler.emit.llvm.function import Function

ARGUMENTS = "ptr %self, ptr %args, i64 %nargs, ptr %kwnames"


def define_entry(offset: Offsets) -> str:
    """The module with `@entry(self, args, nargs, kwnames)`."""
    entry = Function(f"ptr @entry({ARGUMENTS})")
    entry.give(f"ptr {entry.call('ptr', '@attempt', ARGUMENTS, 'i1 true')}")
    functions = (
        part.define_check(offset),
        part.define_states(),
        part.define_plain(offset),
        part.define_cast(offset),
        part.define_apart(),
        part.define_drop(),
        _Attempt(offset).text,
        entry.text,
        part.DECLARATIONS,
    )
    return "\n\n".join(functions) + "\n"


class _Attempt:
    """`@attempt`: run the machine code if all arguments suit it; else convert them, if that is still allowed,
    and attempt it again; else hand the call on to the general method.

    `places` and `strides` say where the data of every argument and result begin, and how far its states are
    apart. `outs` are the results that are given, else null; `results` are references that the function owns.
    """

    def __init__(self, offset: Offsets):
        self.offset = offset
        self.f = f = Function(f"internal ptr @attempt({ARGUMENTS}, i1 %convertible)")
        self.outs, self.results, self.converted, self.dims = (
            f.let(f"alloca [{ARRAYS + 1} x i64]") for _ in range(4)
        )
        self.places = f.let(f"alloca [{2 * ARRAYS} x i64]")
        self.strides = f.at(self.places, ARRAYS)
        self.shape = f.let("alloca [2 x i64]")  # of the batch: how many axes, and where their lengths are
        self.variable = f.let("alloca i64")  # changes its meaning from part to part
        self.context = f.member("%self", offset.data)
        self.inputs, self.outputs = f.load(self.context, part.INPUTS), f.load(self.context, part.OUTPUTS)
        self.arrays = f.add(self.inputs, self.outputs)
        self.specs = f.at(self.context, part.SPECS)
        f.unless(f.is_("eq", "%nargs", self.inputs), "slow")
        self.given = self._gather()
        self.batch = self._inspect()
        self.single = f.any_of(*(f.is_("eq", self.batch, count) for count in (ALONE, 1)))
        self._compute()
        self._answer()
        self._convert()
        self._give_up()
        self.text = f.text

    def _object(self, word: int) -> str:
        return self.f.load(self.context, word, "ptr")

    def _spec(self, k: str) -> str:
        return self.f.at(self.specs, self.f.mul(k, SPEC))

    def _gather(self) -> str:
        """Whether there is an `out=`, one array or a tuple of arrays and None, and what is in it."""
        f, offset = self.f, self.offset
        f.store("null", self.variable, kind="ptr")
        f.when(f.is_null("%kwnames"), "gathered")
        name = f.member("%kwnames", offset.items)
        is_one = f.is_("eq", f.member("%kwnames", offset.length, "i64"), 1)
        f.unless(f.all_of(is_one, f.same(name, self._object(part.OUT))), "slow")
        out = f.load("%args", self.inputs, "ptr")
        f.when(f.same(out, self._object(part.NONE)), "gathered")
        f.when(f.same(f.member(out, offset.type), self._object(part.TUPLE_TYPE)), "tuple")
        f.unless(f.is_("eq", self.outputs, 1), "slow")
        f.store(f.at("%args", self.inputs), self.variable, kind="ptr")
        f.jump("gathered")
        f.block("tuple")
        f.unless(f.is_("eq", f.member(out, offset.length, "i64"), self.outputs), "slow")
        f.store(f.at(out, offset.items, "i8"), self.variable, kind="ptr")
        f.jump("gathered")
        f.block("gathered")
        outs = f.load(self.variable, kind="ptr")
        given = f.not_(f.is_null(outs))
        with f.each(0, self.outputs) as k:
            f.store(0, self.outs, k)
            f.store(0, self.places, f.add(self.inputs, k))
            with f.given(given):
                item = f.load(outs, k, "ptr")
                item = f.choose(f.same(item, self._object(part.NONE)), "null", item, "ptr")
                f.store(item, self.outs, k, "ptr")
        return given

    def _inspect(self) -> str:
        """The states of the batch, if all objects suit the code and have its axes or, inputs, none."""
        f = self.f
        f.store(ALONE, self.variable)
        f.store(0, self.shape)
        with f.each(0, self.inputs) as k:
            length = self._check(f.load("%args", k, "ptr"), k, part.ALIGNED)
            f.when(f.is_("eq", length, part.UNFIT), "unfit")
            longer = f.call("i64", "@llvm.smax.i64", f"i64 {length}", f"i64 {f.load(self.variable)}")
            f.store(longer, self.variable)
        batch = f.load(self.variable)
        with f.given(self.given), f.each(0, self.outputs) as k:
            item = f.load(self.outs, k, "ptr")
            with f.given(f.not_(f.is_null(item))):
                length = self._check(item, f.add(self.inputs, k), part.ALIGNED | part.WRITEABLE)
                f.unless(f.is_("eq", length, batch), "slow")
        return batch

    def _check(self, item: str, k: str, needed: int) -> str:
        f = self.f
        wanted = f"ptr {self.context}", f"ptr {self._spec(k)}", f"i32 {needed}"
        return f.call(
            "i64", "@check", f"ptr {item}", *wanted, f"ptr {f.at(self.places, k)}", f"ptr {self.shape}"
        )

    def _compute(self) -> None:
        """Run the code, into arrays that are given or made here."""
        f = self.f
        longest = f.load(self.context, part.LONGEST)
        is_modest = f.all_of(f.is_("sge", self.batch, 2), f.is_("sle", self.batch, longest))
        f.unless(f.any_of(self.single, is_modest), "slow")
        words = f.at(self.context, f.choose(self.single, part.ONE, part.RUN))
        code, tables, workspace = (f.load(words, k, "ptr") for k in range(3))
        f.when(f.any_of(f.is_null(code), f.is_null(workspace)), "slow")
        others = f.choose(self.single, self.inputs, 0)  # one state may be overwritten by its own results
        with f.given(self.given), f.each(self.inputs, self.arrays) as k, f.each(others, k) as other:
            sides = (*self._extent(k), *self._extent(other))
            f.unless(f.call("i1", "@apart", *sides, f"i64 {self.batch}"), "slow")
        with f.each(0, self.outputs) as self.number:
            self._make(self.number)
        places, tables, workspace = f"ptr {self.places}", f"ptr {tables}", f"ptr {workspace}"
        f.unless(self.single, "many")
        f.store(f.call("i64", code, places, tables, workspace), self.variable)
        f.jump("ran")
        f.block("many")
        batch, block = f"i64 {self.batch}", f"i64 {f.add(self.batch, 64)}"
        progress = f"ptr {f.at(self.context, part.PROGRESS)}"
        f.do(f"store ptr null, ptr {f.at(words, 2)}")  # the workspace is in use
        thread = f.call("ptr", "@PyEval_SaveThread")
        bad = f.call("i64", code, places, f"ptr {self.strides}", tables, batch, workspace, progress, block)
        f.store(bad, self.variable)
        f.call("void", "@PyEval_RestoreThread", f"ptr {thread}")
        f.do(f"store {workspace}, ptr {f.at(words, 2)}")
        f.jump("ran")
        f.block("ran")
        f.when(f.is_("sge", f.load(self.variable), 0), "singular")

    def _extent(self, k: str) -> tuple[str, ...]:
        """Where an array is, its stride, and the size of a state; no size if it is not there."""
        f = self.f
        place = f.load(self.places, k)
        size = f.choose(f.is_("eq", place, 0), 0, f.load(self._spec(k), SPEC - 1))
        return f"i64 {place}", f"i64 {f.load(self.strides, k)}", f"i64 {size}"

    def _make(self, k: str) -> None:
        """Take a reference to a result, and make it if it is not given."""
        f = self.f
        place = f.add(self.inputs, k)
        given = f.load(self.outs, k, "ptr")
        f.store(given, self.results, k, "ptr")
        with f.given(f.not_(f.is_null(given))):
            f.call("void", "@Py_IncRef", f"ptr {given}")
        with f.given(f.is_null(given)):
            spec = self._spec(place)
            axes, extra = f.load(spec), f.load(self.shape)
            with f.each(0, extra) as axis:
                f.store(f.load(f.load(self.shape, 1, "ptr"), axis), self.dims, axis)
            with f.each(0, axes) as axis:
                f.store(f.load(spec, f.add(axis, 1)), self.dims, f.add(axis, extra))
            number = f.let(f"trunc i64 {f.load(self.context, part.NUMBER)} to i32")
            nd = f.let(f"trunc i64 {f.add(axes, extra)} to i32")
            made = f.call(
                "ptr", "@PyArray_New",
                f"ptr {self._object(part.ARRAY_TYPE)}", f"i32 {nd}", f"ptr {self.dims}", f"i32 {number}",
                "ptr null", "ptr null", "i32 0", "i32 0", "ptr null",
            )  # fmt: skip
            f.store(made, self.results, k, "ptr")
            f.when(f.is_null(made), "unmade")
            f.store(f.member(made, self.offset.data, "i64"), self.places, place)
            f.store(f.load(spec, SPEC - 1), self.strides, place)

    def _answer(self) -> None:
        """Return the result, or a tuple of results; new arrays without axes become scalars."""
        f = self.f
        with f.each(0, self.outputs) as k, f.given(f.is_null(f.load(self.outs, k, "ptr"))):
            array = f.load(self.results, k, "ptr")
            result = f.call("ptr", "@PyArray_Return", f"ptr {array}")
            f.store(result, self.results, k, "ptr")
            f.when(f.is_null(result), "failed")
        f.unless(f.is_("eq", self.outputs, 1), "several")
        f.give(f"ptr {f.load(self.results, 0, 'ptr')}")
        f.block("several")
        answer = f.call("ptr", "@PyTuple_New", f"i64 {self.outputs}")
        f.when(f.is_null(answer), "failed")
        with f.each(0, self.outputs) as k:
            result = f.load(self.results, k, "ptr")
            f.call("i32", "@PyTuple_SetItem", f"ptr {answer}", f"i64 {k}", f"ptr {result}")
        f.give(f"ptr {answer}")

    def _convert(self) -> None:
        """Try again with arguments that are converted."""
        f = self.f
        f.block("unfit")
        f.unless("%convertible", "slow")
        with f.each(0, self.inputs) as k:
            item = f.load("%args", k, "ptr")
            plain = f.call("ptr", "@plain", f"ptr {item}", f"ptr {self.context}", f"ptr {self._spec(k)}")
            f.store(plain, self.converted, k, "ptr")
            f.when(f.is_null(plain), "impossible")
        with f.given(f.not_(f.is_null("%kwnames"))):
            f.store(f.load("%args", self.inputs), self.converted, self.inputs)
        arguments = ARGUMENTS.replace("%args", self.converted)
        answer = f.call("ptr", "@attempt", arguments, "i1 false")
        f.call("void", "@drop", f"ptr {self.converted}", f"i64 {self.inputs}")
        f.give(f"ptr {answer}")
        f.block("impossible")
        f.call("void", "@drop", f"ptr {self.converted}", f"i64 {k}")
        f.give("ptr null")

    def _give_up(self) -> None:
        """Raise what went wrong, or let the general method do it."""
        f = self.f
        f.block("unmade")
        f.call("void", "@drop", f"ptr {self.results}", f"i64 {self.number}")
        f.give("ptr null")
        f.block("failed")
        f.call("void", "@drop", f"ptr {self.results}", f"i64 {self.outputs}")
        f.give("ptr null")
        f.block("singular")
        f.call("void", "@drop", f"ptr {self.results}", f"i64 {self.outputs}")
        f.jump("slow")
        f.block("slow")
        general = f"ptr {self._object(part.GENERAL)}"
        arguments = ARGUMENTS.replace("ptr %self, ", "")
        f.give(f"ptr {f.call('ptr', '@PyObject_Vectorcall', general, arguments)}")
