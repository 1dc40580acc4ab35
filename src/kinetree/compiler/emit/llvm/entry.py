"""The text of the functions behind fast calls (see `kinetree.compiler.runtime.fastcall`).

They read contexts, arrays of 64-bit words: one for each kernel, and one for each function of a model, which
refers to those of its kernels. `entry_parts` defines the words.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm import entry_parts as part
from kinetree.compiler.emit.llvm.entry_parts import ALONE, ARRAYS, SPEC, Offsets
from kinetree.compiler.emit.llvm.function import ATTRIBUTES, Function

CALL = "ptr %args, i64 %nargs, ptr %kwnames"
UNTAKEN = "inttoptr (i64 -1 to ptr)"  # returned by `@attempt` if a call does not suit the machine code


def define_entries(offset: Offsets) -> str:
    """The module with `@kernel(self, args, nargs, kwnames)` and `@function(...)`, for built-in functions."""
    functions = (
        part.define_plain(offset),
        part.define_check(),
        part.define_examine(offset),
        part.define_states(),
        part.define_apart(),
        part.define_drop(),
        _Attempt(offset).text,
        _define_usual(offset),
        _define_kernel(offset),
        _define_function(offset),
        part.DECLARATIONS,
    )
    return "\n\n".join(functions) + "\n"


def _define_kernel(offset: Offsets) -> str:
    """`@kernel`: run the machine code of a kernel if the arguments suit it, else its general method."""
    f = Function(f"ptr @kernel(ptr %self, {CALL})")
    context = f.member("%self", offset.data)
    result = f.call("ptr", "@usual", f"ptr {context}", CALL)
    _answer(f, result, f.load(context, part.GENERAL, "ptr"))
    return f.text


def _define_function(offset: Offsets) -> str:
    """`@function`: find the kernel for a call of this form, and pass it its arrays in order."""
    f = Function(f"ptr @function(ptr %self, {CALL})")
    arrays = f.let(f"alloca [{part.CONSTANT + 1} x ptr]")
    named, outs = f.let("alloca i64"), f.let("alloca i64")  # how many arguments are named; 1 with `out=`
    context = f.member("%self", offset.data)
    general = f.load(context, 0, "ptr")
    positional = f.sub("%nargs", 1)
    f.when(f.is_("slt", positional, 0), "general")
    f.store(0, named)
    f.store(0, outs)
    names = f.at("%kwnames", offset.items, "i8")
    with f.given(f.not_(f.is_null("%kwnames"))):
        length = f.member("%kwnames", offset.length, "i64")
        last = f.load(names, f.sub(length, 1), "ptr")
        f.store(length, named)
        f.store(f.choose(f.same(last, f.load(context, part.NAME, "ptr")), 1, 0), outs)
    out = f.load(outs)
    keywords = f.sub(f.load(named), out)
    count = f.add(positional, keywords)
    first = f.load("%args", 0, "ptr")
    with f.each(0, part.KNOWN) as k:
        form = f.at(context, f.add(f.mul(k, part.FORM), part.FORMS))
        numbers = ((part.POSITIONAL, positional), (part.COUNT, count))
        same = (f.is_("eq", f.load(form, word), number) for word, number in numbers)
        with f.given(f.all_of(f.same(f.load(form, part.FIRST, "ptr"), first), *same)):
            given = f.at(form, part.GIVEN)
            with f.each(0, keywords) as j:
                name = f.load(given, f.mul(f.add(positional, j), 3), "ptr")
                f.unless(f.same(f.load(names, j, "ptr"), name), "differs")
            with f.each(0, count) as i:
                item = f.load("%args", f.add(i, 1), "ptr")
                facts = f.at(given, f.mul(i, 3))
                wanted = f.load(facts, 2, "ptr")
                f.unless(f.any_of(f.is_null(wanted), f.same(item, wanted)), "differs")
                f.store(item, arrays, f.load(facts, 1), "ptr")
            f.jump("known")
            f.block("differs")
    f.jump("general")
    f.block("known")
    takes = f.load(form, part.TAKES)
    f.store(f.load("%args", f.add(count, out), "ptr"), arrays, takes, "ptr")
    only = f.choose(f.is_("eq", out, 1), f.load(context, part.NAMES, "ptr"), "null", "ptr")
    kernel = f"ptr {f.load(form, part.KERNEL, 'ptr')}"
    _answer(f, f.call("ptr", "@usual", kernel, f"ptr {arrays}", f"i64 {takes}", f"ptr {only}"), general)
    return f.text


def _define_usual(offset: Offsets) -> str:
    """`@usual`: the fast path for one state with one result, given or new; `@attempt` takes all calls."""
    f = Function(f"internal ptr @usual(ptr %context, {CALL})")
    places, result = f.let(f"alloca [{ARRAYS} x i64]"), f.let("alloca ptr")
    inputs, code = f.load("%context", part.INPUTS), f.load("%context", part.ONE, "ptr")
    counts = (("%nargs", inputs), (f.load("%context", part.OUTPUTS), 1))
    f.unless(f.all_of(*(f.is_("eq", *pair) for pair in counts), f.not_(f.is_null(code))), "other")
    with f.each(0, inputs) as k:
        given = f.load("%args", k, "ptr")
        f.unless(_is_plain(f, given, k, places, part.ALIGNED), "other")
    f.when(f.is_null("%kwnames"), "new")
    is_one = f.is_("eq", f.member("%kwnames", offset.length, "i64"), 1)
    named = f.same(f.member("%kwnames", offset.items), f.load("%context", part.OUT, "ptr"))
    f.unless(f.all_of(is_one, named), "other")
    out = f.load("%args", inputs, "ptr")
    f.unless(_is_plain(f, out, inputs, places, part.ALIGNED | part.WRITEABLE), "other")
    f.call("void", "@Py_IncRef", f"ptr {out}")
    f.store(out, result, kind="ptr")
    f.jump("run")
    f.block("new")
    spec = _spec(f, inputs)
    axes = f.load(spec)
    f.when(f.is_("eq", axes, 0), "other")  # a scalar, not an array
    made = _new_array(f, axes, f.at(spec, 1))
    f.when(f.is_null(made), "unmade")
    f.store(made, result, kind="ptr")
    f.store(f.member(made, offset.data, "i64"), places, inputs)
    f.jump("run")
    f.block("run")
    tables, workspace = (f.load("%context", part.ONE + k, "ptr") for k in (1, 2))
    bad = f.call("i64", code, f"ptr {places}", f"ptr {tables}", f"ptr {workspace}")
    f.when(f.is_("sge", bad, 0), "singular")
    f.give(f"ptr {f.load(result, kind='ptr')}")
    f.block("singular")
    f.call("void", "@Py_DecRef", f"ptr {f.load(result, kind='ptr')}")
    f.give(f"ptr {UNTAKEN}")
    f.block("unmade")
    f.give("ptr null")
    f.block("other")
    f.give(f"ptr {f.call('ptr', '@attempt', 'ptr %context', CALL)}")
    return f.text


def _spec(f: Function, k: str) -> str:
    return f.at("%context", f.add(f.mul(k, SPEC), part.SPECS))


def _is_plain(f: Function, given: str, k: str, places: str, needed: int) -> str:
    wanted = "ptr %context", f"ptr {_spec(f, k)}", f"i32 {needed}"
    return f.call("i1", "@plain", f"ptr {given}", *wanted, f"ptr {f.at(places, k)}")


def _new_array(f: Function, axes: str, lengths: str) -> str:
    number = f.let(f"trunc i64 {f.load('%context', part.NUMBER)} to i32")
    nd = f.let(f"trunc i64 {axes} to i32")
    kind = f.load("%context", part.ARRAY_TYPE, "ptr")
    rest = "ptr null", "ptr null", "i32 0", "i32 0", "ptr null"
    return f.call("ptr", "@PyArray_New", f"ptr {kind}", f"i32 {nd}", f"ptr {lengths}", f"i32 {number}", *rest)


def _answer(f: Function, result: str, general: str) -> None:
    """Return the result of an attempt, or that of a general method for the same arguments."""
    f.when(f.same(result, UNTAKEN), "general")
    f.give(f"ptr {result}")
    f.block("general")
    f.give(f"ptr {f.call('ptr', '@PyObject_Vectorcall', f'ptr {general}', CALL)}")


class _Attempt:
    """`@attempt`: run the machine code of a kernel if all arguments suit it; else `UNTAKEN`.

    `places` and `strides` say where the data of every argument and result begin, and the stride between its
    states. `outs` are the given results, else null; `results` are references that the function owns.
    """

    def __init__(self, offset: Offsets):
        self.offset = offset
        self.context = "%context"
        self.f = f = Function(f"internal ptr @attempt(ptr %context, {CALL})", f"{ATTRIBUTES} optsize")
        self.outs, self.results, self.dims = (f.let(f"alloca [{ARRAYS} x i64]") for _ in range(3))
        self.places = f.let(f"alloca [{2 * ARRAYS} x i64]")
        self.strides = f.at(self.places, ARRAYS)
        self.shape = f.let("alloca [2 x i64]")  # of the batch: number of axes, and where their lengths are
        self.variable = f.let("alloca i64")  # reused with different meanings
        self.inputs, self.outputs = f.load(self.context, part.INPUTS), f.load(self.context, part.OUTPUTS)
        self.arrays = f.add(self.inputs, self.outputs)
        f.unless(f.is_("eq", "%nargs", self.inputs), "untaken")
        self.given = self._gather()
        self.batch = self._inspect()
        self.single = f.any_of(*(f.is_("eq", self.batch, count) for count in (ALONE, 1)))
        self._compute()
        self._answer()
        self._give_up()
        self.text = f.text

    def _object(self, word: int) -> str:
        return self.f.load(self.context, word, "ptr")

    def _gather(self) -> str:
        """Whether there is an `out=`, one array or a tuple of arrays and None, and its contents."""
        f, offset = self.f, self.offset
        f.store("null", self.variable, kind="ptr")
        f.when(f.is_null("%kwnames"), "gathered")
        name = f.member("%kwnames", offset.items)
        is_one = f.is_("eq", f.member("%kwnames", offset.length, "i64"), 1)
        f.unless(f.all_of(is_one, f.same(name, self._object(part.OUT))), "untaken")
        out = f.load("%args", self.inputs, "ptr")
        f.when(f.same(out, self._object(part.NONE)), "gathered")
        f.when(f.same(f.member(out, offset.type), self._object(part.TUPLE_TYPE)), "tuple")
        f.unless(f.is_("eq", self.outputs, 1), "untaken")
        f.store(f.at("%args", self.inputs), self.variable, kind="ptr")
        f.jump("gathered")
        f.block("tuple")
        f.unless(f.is_("eq", f.member(out, offset.length, "i64"), self.outputs), "untaken")
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
        """The number of states, if all objects suit the code and have its batch axes (inputs: or none)."""
        f = self.f
        f.store(ALONE, self.variable)
        f.store(0, self.shape)
        with f.each(0, self.inputs) as k:
            length = self._check(f.load("%args", k, "ptr"), k, part.ALIGNED)
            f.when(f.is_("eq", length, part.UNFIT), "untaken")
            longer = f.call("i64", "@llvm.smax.i64", f"i64 {length}", f"i64 {f.load(self.variable)}")
            f.store(longer, self.variable)
        batch = f.load(self.variable)
        with f.given(self.given), f.each(0, self.outputs) as k:
            item = f.load(self.outs, k, "ptr")
            with f.given(f.not_(f.is_null(item))):
                length = self._check(item, f.add(self.inputs, k), part.ALIGNED | part.WRITEABLE)
                f.unless(f.is_("eq", length, batch), "untaken")
        return batch

    def _check(self, item: str, k: str, needed: int) -> str:
        f = self.f
        wanted = f"ptr {self.context}", f"ptr {_spec(f, k)}", f"i32 {needed}"
        return f.call(
            "i64", "@check", f"ptr {item}", *wanted, f"ptr {f.at(self.places, k)}", f"ptr {self.shape}"
        )

    def _compute(self) -> None:
        """Run the code, into arrays that are given or made here."""
        f = self.f
        longest = f.load(self.context, part.LONGEST)
        is_modest = f.all_of(f.is_("sge", self.batch, 2), f.is_("sle", self.batch, longest))
        f.unless(f.any_of(self.single, is_modest), "untaken")
        words = f.at(self.context, f.choose(self.single, part.ONE, part.RUN))
        code, tables, workspace = (f.load(words, k, "ptr") for k in range(3))
        f.when(f.any_of(f.is_null(code), f.is_null(workspace)), "untaken")
        others = f.choose(self.single, self.inputs, 0)  # one state may overwrite its own inputs
        with f.given(self.given), f.each(self.inputs, self.arrays) as k, f.each(others, k) as other:
            sides = (*self._extent(k), *self._extent(other))
            f.unless(f.call("i1", "@apart", *sides, f"i64 {self.batch}"), "untaken")
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
        """The address of an array, its stride, and the size of a state; size 0 if it is absent."""
        f = self.f
        place = f.load(self.places, k)
        size = f.choose(f.is_("eq", place, 0), 0, f.load(_spec(f, k), SPEC - 1))
        return f"i64 {place}", f"i64 {f.load(self.strides, k)}", f"i64 {size}"

    def _make(self, k: str) -> None:
        """Take a reference to a result, and create it if it is not given."""
        f = self.f
        place = f.add(self.inputs, k)
        given = f.load(self.outs, k, "ptr")
        f.store(given, self.results, k, "ptr")
        with f.given(f.not_(f.is_null(given))):
            f.call("void", "@Py_IncRef", f"ptr {given}")
        with f.given(f.is_null(given)):
            spec = _spec(f, place)
            axes, extra = f.load(spec), f.load(self.shape)
            with f.each(0, extra) as axis:
                f.store(f.load(f.load(self.shape, 1, "ptr"), axis), self.dims, axis)
            with f.each(0, axes) as axis:
                f.store(f.load(spec, f.add(axis, 1)), self.dims, f.add(axis, extra))
            made = _new_array(f, f.add(axes, extra), self.dims)
            f.store(made, self.results, k, "ptr")
            f.when(f.is_null(made), "unmade")
            f.store(f.member(made, self.offset.data, "i64"), self.places, place)
            f.store(f.load(spec, SPEC - 1), self.strides, place)

    def _answer(self) -> None:
        """Return the result, or a tuple of results; new arrays without axes become scalars."""
        f = self.f
        with f.each(0, self.outputs) as k, f.given(f.is_null(f.load(self.outs, k, "ptr"))):
            array = f.load(self.results, k, "ptr")
            with f.given(f.is_("eq", f.member(array, self.offset.nd, "i32"), 0, "i32")):
                result = f.call("ptr", "@PyArray_Return", f"ptr {array}")
                f.store(result, self.results, k, "ptr")
                f.when(f.is_null(result), "failed")
        f.unless(f.is_("eq", self.outputs, 1), "several")
        f.give(f"ptr {f.load(self.results, 0, 'ptr')}")
        f.block("several")
        kind = self._object(part.RESULT)
        answer = f.call("ptr", "@PyType_GenericAlloc", f"ptr {kind}", f"i64 {self.outputs}")
        f.when(f.is_null(answer), "failed")
        items = f.at(answer, self.offset.items, "i8")
        with f.each(0, self.outputs) as k:
            f.store(f.load(self.results, k, "ptr"), items, k, "ptr")
        f.give(f"ptr {answer}")

    def _give_up(self) -> None:
        """Raise the error, or fall back to the general method."""
        f = self.f
        f.block("unmade")
        f.call("void", "@drop", f"ptr {self.results}", f"i64 {self.number}")
        f.give("ptr null")
        f.block("failed")
        f.call("void", "@drop", f"ptr {self.results}", f"i64 {self.outputs}")
        f.give("ptr null")
        f.block("singular")
        f.call("void", "@drop", f"ptr {self.results}", f"i64 {self.outputs}")
        f.jump("untaken")
        f.block("untaken")
        f.give(f"ptr {UNTAKEN}")
