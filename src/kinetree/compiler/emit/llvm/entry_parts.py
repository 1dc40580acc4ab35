"""The parts of a fast call: checking an argument, and testing two of them for overlap."""

from __future__ import annotations

from typing import NamedTuple

from kinetree.compiler.emit.llvm.function import ATTRIBUTES, Function

# The words of a kernel's context.
ONE = 0  # code for one state, its tables, its workspace
RUN = 3  # the same for a batch; no workspace while a batch runs, since it releases the GIL
LONGEST = 6  # the longest batch
INPUTS, OUTPUTS = 7, 8  # how many there are
NUMBER, KIND = 9, 10  # NumPy's number of the type, and its descriptor masked by `KIND_MASK`
GENERAL = 11  # the general method
PROGRESS = 12  # three words for a batch
ARRAY_TYPE, TUPLE_TYPE, NONE, OUT = 15, 16, 17, 18  # Python objects: two types, None, and the string "out"
RESULT = 19  # the type of several results together: tuple, or a subclass
SPECS = 20  # per argument and result: number of axes, their lengths and strides, bytes per state

# The words of a function's context: its general method, "out", ("out",), then the known call forms.
NAME, NAMES = 1, 2
FORMS = 3
# The words of a form: the first argument, the number of further positional arguments and of all arguments,
# the context of the kernel, and how many arrays it takes; then for each argument its name (or 0), which array
# it is, and if it is not an array the object that it must be.
FIRST, POSITIONAL, COUNT, KERNEL, TAKES = range(5)
GIVEN = 5
KNOWN = 8  # number of forms
ARGUMENTS = 8  # the most arguments of a form
CONSTANT = ARGUMENTS + 1  # in place of an array number: the argument is not an array
FORM = GIVEN + 3 * ARGUMENTS

AXES = 4  # the most axes of an argument, without those of a batch
BATCH_AXES = 8  # the most batch axes
RESULTS = 8  # the most results
ARRAYS = 32  # the most arguments and results
SPEC = 2 * AXES + 2

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # NumPy's flags
KIND_MASK = ~(0xFF << 24)  # the bytes of a descriptor's word with type and byte order

PLAIN = "ptr %object, ptr %context, ptr %spec, i32 %needed, ptr %place"
CHECKED = f"{PLAIN}, ptr %batch"
ALONE, UNFIT = -1, -2  # results of `@check` other than a number of states

DECLARATIONS = """\
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @PyArray_Return(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)"""


class Offsets(NamedTuple):
    """Offsets of the members of array objects, descriptors and tuples."""

    type: int
    data: int
    nd: int
    dimensions: int
    strides: int
    descr: int
    flags: int
    kind: int
    length: int
    items: int


def define_plain(offset: Offsets) -> str:
    """`@plain`: whether an object is the usual argument, a contiguous array of one state; its data address
    goes to `place`. Short enough to be inlined.
    """
    f = Function(f"internal i1 @plain({PLAIN})", f"{ATTRIBUTES} alwaysinline")
    flags, kind, axes, extra = _facts(f, offset)
    needed = f.let(f"or i32 %needed, {CONTIGUOUS}")
    f.unless(f.all_of(_has(f, flags, needed), kind, f.is_("eq", extra, 0)), "no")
    lengths = f.member("%object", offset.dimensions)
    with f.each(0, axes) as axis:
        f.unless(f.is_("eq", f.load(lengths, axis), f.load("%spec", f.add(axis, 1))), "no")
    f.store(f.member("%object", offset.data, "i64"), "%place")
    f.give("i1 true")
    f.block("no")
    f.give("i1 false")
    return f.text


def define_check() -> str:
    """`@check`: the number of states of an object that the code can use as it is. Its data address goes to
    `place`, its stride along the batch `ARRAYS` words further.
    """
    f = Function(f"internal i64 @check({CHECKED})", f"{ATTRIBUTES} alwaysinline")
    f.unless(f.call("i1", "@plain", PLAIN), "other")
    f.store(0, "%place", ARRAYS)
    f.give(f"i64 {ALONE}")
    f.block("other")
    f.give(f"i64 {f.call('i64', '@examine', CHECKED)}")
    return f.text


def define_examine(offset: Offsets) -> str:
    """`@examine`: the same as `@check`, for any strides and batch axes (`@states`)."""
    f = Function(f"internal i64 @examine({CHECKED})", f"{ATTRIBUTES} noinline")
    flags, kind, axes, extra = _facts(f, offset)
    f.unless(f.all_of(_has(f, flags, "%needed"), kind), "no")
    contiguous = _has(f, flags, str(CONTIGUOUS))
    f.unless(f.is_("ule", extra, BATCH_AXES), "no")
    lengths, steps = f.member("%object", offset.dimensions), f.member("%object", offset.strides)
    with f.each(0, axes) as axis:
        here, there = f.add(axis, extra), f.add(axis, 1)
        length = f.load(lengths, here)
        f.unless(f.is_("eq", length, f.load("%spec", there)), "no")
        even = f.is_("eq", f.load(steps, here), f.load("%spec", f.add(there, AXES)))
        f.unless(f.any_of(contiguous, even, f.is_("eq", length, 1)), "no")
    f.store(f.member("%object", offset.data, "i64"), "%place")
    stride = f.at("%place", ARRAYS)
    f.store(0, stride)
    f.when(f.is_("eq", extra, 0), "alone")
    shape = f"ptr {lengths}", f"ptr {steps}", f"i64 {extra}"
    f.give(f"i64 {f.call('i64', '@states', *shape, f'ptr {stride}', 'ptr %batch')}")
    f.block("alone")
    f.give(f"i64 {ALONE}")
    f.block("no")
    f.give(f"i64 {UNFIT}")
    return f.text


def _facts(f: Function, offset: Offsets) -> tuple[str, str, str, str]:
    """Of an array object: its flags, whether its type is right, the axes of a state, and how many more axes
    it has.
    """
    f.unless(f.same(f.member("%object", offset.type), f.load("%context", ARRAY_TYPE, "ptr")), "no")
    kind = f.member(f.member("%object", offset.descr), offset.kind, "i64")
    right = f.is_("eq", f.let(f"and i64 {kind}, {KIND_MASK}"), f.load("%context", KIND))
    axes = f.load("%spec")
    extra = f.sub(f.let(f"sext i32 {f.member('%object', offset.nd, 'i32')} to i64"), axes)
    return f.member("%object", offset.flags, "i32"), right, axes, extra


def _has(f: Function, flags: str, needed: str) -> str:
    return f.is_("eq", f.let(f"and i32 {flags}, {needed}"), needed, "i32")


def define_states() -> str:
    """`@states`: the number of states along the batch axes of an array, if they are equally spaced.

    `batch` holds the number of batch axes, and where their lengths are. The first array with such axes sets
    it, and the others must match.
    """
    f = Function("internal i64 @states(ptr %lengths, ptr %steps, i64 %axes, ptr %stride, ptr %batch)")
    with f.given(f.is_("eq", f.load("%batch"), 0)):
        f.store("%axes", "%batch")
        f.store("%lengths", "%batch", 1, "ptr")
    f.unless(f.is_("eq", f.load("%batch"), "%axes"), "no")
    count = f.let("alloca i64")
    f.store(1, count)
    with f.each(0, "%axes") as axis:
        length = f.load("%lengths", axis)
        f.unless(f.is_("eq", length, f.load(f.load("%batch", 1, "ptr"), axis)), "no")
        f.store(f.mul(f.load(count), length), count)
    with f.each(1, "%axes") as axis:
        whole = f.mul(f.load("%steps", axis), f.load("%lengths", axis))
        f.unless(f.is_("eq", whole, f.load("%steps", f.sub(axis, 1))), "no")
    f.store(f.load("%steps", f.sub("%axes", 1)), "%stride")
    f.give(f"i64 {f.load(count)}")
    f.block("no")
    f.give(f"i64 {UNFIT}")
    return f.text


def define_apart() -> str:
    """`@apart`: whether two arrays of n states share no memory; an array of size 0 shares none."""
    f = Function(
        "internal i1 @apart(i64 %a, i64 %a.step, i64 %a.size, i64 %b, i64 %b.step, i64 %b.size, i64 %n)"
    )
    last = f.sub(f.call("i64", "@llvm.smax.i64", "i64 %n", "i64 1"), 1)
    first, end = {}, {}
    for name in ("%a", "%b"):
        reach = f"i64 {f.mul(last, f'{name}.step')}"
        first[name] = f.add(name, f.call("i64", "@llvm.smin.i64", reach, "i64 0"))
        upper = f.add(name, f.call("i64", "@llvm.smax.i64", reach, "i64 0"))
        end[name] = f.add(upper, f"{name}.size")
    empty = f.any_of(f.is_("eq", "%a.size", 0), f.is_("eq", "%b.size", 0))
    before, after = f.is_("ule", end["%a"], first["%b"]), f.is_("ule", end["%b"], first["%a"])
    f.give(f"i1 {f.any_of(empty, before, after)}")
    return f.text


def define_drop() -> str:
    """`@drop`: release the first objects of an array, except nulls."""
    f = Function("internal void @drop(ptr %objects, i64 %count)")
    with f.each(0, "%count") as k:
        f.call("void", "@Py_DecRef", f"ptr {f.load('%objects', k, 'ptr')}")
    f.give("void")
    return f.text
