"""Vector instructions that a compiled loop does not find by itself, as functions of it.

The loops of ``kernels.py`` are compiled again after a change here: see ``chainveil.compiled``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped, unused-ignore]
from numba import types
from numba.extending import intrinsic

# Bytes of a bit plane in a group of packed points: one vector.
STRIPE = 64
# Contexts of a report at most; see ``memory_kernels.py``.
CONTEXTS = 16
# Points that ``fill_block`` writes at once.
FILL = 16


def _trailing_zeros_type(_context: Any, _value: Any) -> Any:
    """Number of zero bits below the lowest set bit of a uint64."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


def _reserved_mask_type(_context: Any, symbols: Any, _first: Any, reserved: Any) -> Any:
    """Bit i is set where ``symbols[first + i] < reserved``, for 64 symbols at once.

    Written out, since a loop that collects bits is not turned into vector instructions.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = target.make_array(signature.args[0])(target, builder, arguments[0])
        vector = ir.VectorType(ir.IntType(signature.args[2].bitwidth), 64)
        place = builder.gep(array.data, [arguments[1]])
        loaded = builder.load(builder.bitcast(place, vector.as_pointer()), align=1)
        limit = _splat(builder, vector, arguments[2])
        return builder.bitcast(builder.icmp_unsigned("<", loaded, limit), ir.IntType(64))

    return types.uint64(symbols, types.int64, reserved), generate


def _flip_block_type(
    _context: Any, states: Any, veiled: Any, _place: Any, high0: Any, high1: Any, out: Any
) -> Any:
    """64 points of two states: write the reports; which of them tie, and which are no states.

    ``veiled`` holds symbol XOR state, and may be ``out`` itself.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def at(number: int) -> Any:
            array = target.make_array(signature.args[number])(target, builder, arguments[number])
            place = builder.gep(array.data, [arguments[2]])
            return builder.bitcast(place, vector.as_pointer())

        def constant(value: int) -> Any:
            return ir.Constant(vector, [value] * STRIPE)

        vector = ir.VectorType(ir.IntType(8), STRIPE)
        state = builder.load(at(0), align=1)
        symbol = builder.xor(builder.load(at(1), align=1), state)
        limits = [_splat(builder, vector, arguments[number]) for number in (3, 4)]
        either = builder.and_(builder.xor(*limits), builder.sub(constant(0), state))
        high = builder.xor(limits[0], either)
        below = builder.icmp_unsigned("<", builder.sub(symbol, constant(1)), high)
        builder.store(builder.xor(state, builder.zext(below, vector)), at(5), align=1)
        masks = [
            builder.bitcast(builder.icmp_unsigned("==", symbol, constant(0)), ir.IntType(64)),
            builder.bitcast(builder.icmp_unsigned(">", state, constant(1)), ir.IntType(64)),
        ]
        return target.make_tuple(builder, signature.return_type, masks)

    both: Any = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]
    return both(states, veiled, types.int64, high0, high1, out), generate


def _report_block_type(
    _context: Any, states: Any, symbols: Any, _place: Any, reserved: Any, last: Any, out: Any
) -> Any:
    """64 points of up to 8 states: write the reports; which of them tie and keep their state.

    ``last`` : uint8 (7, 16), the bounds by output and state. They are looked up within
    registers, so that no address depends on a state.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def at(number: int, *steps: Any) -> Any:
            array = target.make_array(signature.args[number])(target, builder, arguments[number])
            return builder.gep(array.data, list(steps))

        def block(number: int) -> Any:
            return builder.bitcast(at(number, arguments[2]), vector.as_pointer())

        vector, row = (ir.VectorType(ir.IntType(8), count) for count in (STRIPE, 16))
        state, symbol = builder.load(block(0), align=1), builder.load(block(1), align=1)
        result = ir.Constant(vector, [0] * STRIPE)
        for output in range(7):
            place = builder.bitcast(at(4, ir.IntType(64)(16 * output)), row.as_pointer())
            bounds = _looked_up(builder, builder.load(place, align=1), state)
            above = builder.icmp_unsigned(">", symbol, bounds)
            result = builder.add(result, builder.zext(above, vector))
        tied = builder.icmp_unsigned("<", symbol, _splat(builder, vector, arguments[3]))
        builder.store(builder.select(tied, state, result), block(5), align=1)
        return builder.bitcast(tied, ir.IntType(64))

    return types.uint64(states, symbols, types.int64, reserved, last, out), generate


def _looked_up(builder: Any, row: Any, places: Any, entries: int = 8) -> Any:
    """``row[places]`` for a vector of 16 bytes and 64 places below ``entries``.

    One instruction where the processor has one that picks bytes within registers; else
    every entry is compared with.
    """
    name, width = _picking()
    if name is None:
        return _selected(builder, row, places, entries)
    lanes = ir.VectorType(ir.IntType(8), width)
    pick = builder.module.declare_intrinsic(name, (), ir.FunctionType(lanes, [lanes, lanes]))
    source = _lanes(builder, row, [i % 16 for i in range(width)])
    parts = [
        builder.call(pick, [source, _lanes(builder, places, range(first, first + width))])
        for first in range(0, STRIPE, width)
    ]
    while len(parts) > 1:
        count = 2 * parts[0].type.count
        parts = [
            builder.shuffle_vector(left, right, _places(range(count)))
            for left, right in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _picking() -> tuple[str | None, int]:
    """The instruction that picks bytes, and how many it takes at once."""
    features = binding.get_host_cpu_features()
    if features.get("avx512bw"):
        return "llvm.x86.avx512.pshuf.b.512", 64
    if features.get("avx2"):
        return "llvm.x86.avx2.pshuf.b", 32
    if features.get("ssse3"):
        return "llvm.x86.ssse3.pshuf.b.128", 16
    return None, 0


def _selected(builder: Any, row: Any, places: Any, entries: int) -> Any:
    result = _lanes(builder, row, [0] * STRIPE)
    for entry in range(1, entries):
        here = builder.icmp_unsigned("==", places, ir.Constant(places.type, [entry] * STRIPE))
        result = builder.select(here, _lanes(builder, row, [entry] * STRIPE), result)
    return result


def _lanes(builder: Any, vector: Any, places: Any) -> Any:
    """The named lanes of a vector."""
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), _places(places))


def _places(places: Any) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))


def _splat(builder: Any, vector: Any, value: Any) -> Any:
    """A vector that holds one value everywhere."""
    unknown = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(unknown, value, ir.IntType(32)(0))
    return _lanes(builder, one, [0] * vector.count)


def _flip_group_type(
    _context: Any,
    states: Any,
    _place: Any,
    symbols: Any,
    _first: Any,
    masks: Any,
    out: Any,
    ties: Any,
) -> Any:
    """A whole group of packed points: ``_flip_few`` for 64 bytes in one vector.

    ``symbol <= high`` is decided bit by bit, the least first: it is the majority of the
    drawn bit's complement, the threshold's bit, and the answer so far.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def at(number: int, *steps: Any) -> Any:
            array = target.make_array(signature.args[number])(target, builder, arguments[number])
            place = builder.gep(array.data, list(steps))
            return builder.bitcast(place, vector.as_pointer()) if number != 4 else place

        vector = ir.VectorType(ir.IntType(8), STRIPE)
        state = builder.load(at(0, arguments[1]), align=1)
        some = ir.Constant(vector, [0] * STRIPE)
        below = [ir.Constant(vector, [255] * STRIPE)] * 2
        for bit in range(8):
            start = builder.add(arguments[3], ir.IntType(64)(bit * STRIPE))
            drawn = builder.load(at(2, start), align=1)
            some = builder.or_(some, drawn)
            clear = builder.not_(drawn)
            for row in range(2):
                bits = builder.load(at(4, ir.IntType(64)(8 * row + bit)))
                mask = _splat(builder, vector, bits)
                either = builder.and_(mask, builder.or_(below[row], clear))
                below[row] = builder.or_(builder.and_(below[row], clear), either)
        chosen = builder.or_(
            builder.and_(below[0], builder.not_(state)), builder.and_(below[1], state)
        )
        flipped = builder.xor(state, builder.and_(some, chosen))
        builder.store(flipped, at(5, arguments[1]), align=1)
        builder.store(builder.not_(some), at(6, arguments[1]), align=1)
        return target.get_dummy_value()

    return types.void(states, types.int64, symbols, types.int64, masks, out, ties), generate


def _turn_block_type(
    _context: Any, contexts: Any, symbols: Any, _place: Any, highs: Any
) -> Any:  # fmt: skip
    """64 points: the report after a 0, the report after a 1, and which points tie, a bit each.

    ``highs`` : uint8 (2, 16), by last report and context. They are looked up within registers.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def at(number: int, *steps: Any) -> Any:
            array = target.make_array(signature.args[number])(target, builder, arguments[number])
            return builder.gep(array.data, list(steps))

        def block(number: int) -> Any:
            return builder.bitcast(at(number, arguments[2]), vector.as_pointer())

        vector, row = (ir.VectorType(ir.IntType(8), count) for count in (STRIPE, 16))
        around, symbol = builder.load(block(0), align=1), builder.load(block(1), align=1)
        below = builder.sub(symbol, ir.Constant(vector, [1] * STRIPE))
        masks = []
        for last in range(2):
            place = builder.bitcast(at(3, ir.IntType(64)(16 * last)), row.as_pointer())
            high = _looked_up(builder, builder.load(place, align=1), around, CONTEXTS)
            masks.append(builder.icmp_unsigned("<", below, high))
        masks.append(builder.icmp_unsigned("==", symbol, ir.Constant(vector, [0] * STRIPE)))
        words = [builder.bitcast(mask, ir.IntType(64)) for mask in masks]
        return target.make_tuple(builder, signature.return_type, words)

    three: Any = types.UniTuple(types.uint64, 3)  # type: ignore[no-untyped-call]
    return three(contexts, symbols, types.int64, highs), generate


def _spread_block_type(_context: Any, _bits: Any, out: Any, _place: Any) -> Any:
    """Write the 64 bits of a word as bytes of 0 and 1, the lowest first."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = target.make_array(signature.args[1])(target, builder, arguments[1])
        vector = ir.VectorType(ir.IntType(8), STRIPE)
        place = builder.gep(array.data, [arguments[2]])
        bits = builder.bitcast(arguments[0], ir.VectorType(ir.IntType(1), STRIPE))
        where = builder.bitcast(place, vector.as_pointer())
        builder.store(builder.zext(bits, vector), where, align=1)
        return target.get_dummy_value()

    return types.void(types.uint64, out, types.int64), generate


def _fill_block_type(_context: Any, value: Any, out: Any, _place: Any) -> Any:
    """Write one value to ``FILL`` places in a row, of the value's own dtype."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = target.make_array(signature.args[1])(target, builder, arguments[1])
        vector = ir.VectorType(ir.IntType(signature.args[0].bitwidth), FILL)
        place = builder.bitcast(builder.gep(array.data, [arguments[2]]), vector.as_pointer())
        builder.store(_splat(builder, vector, arguments[0]), place, align=1)
        return target.get_dummy_value()

    return types.void(value, out, types.int64), generate


# The compiler's own names for them; their true arguments are those after the context.
trailing_zeros: Any = intrinsic(_trailing_zeros_type)
reserved_mask: Any = intrinsic(_reserved_mask_type)
flip_block: Any = intrinsic(_flip_block_type)
flip_group: Any = intrinsic(_flip_group_type)
report_block: Any = intrinsic(_report_block_type)
turn_block: Any = intrinsic(_turn_block_type)
spread_block: Any = intrinsic(_spread_block_type)
fill_block: Any = intrinsic(_fill_block_type)
