"""Vector instructions that a compiled loop does not find by itself, as functions of it.

The compiled loops are cached by the time ``kernels.py`` was last changed: touch it after a
change here.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import types
from numba.extending import intrinsic

# Bytes of a bit plane in a group of packed points: one vector.
STRIPE = 64


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
    _context: Any, states: Any, symbols: Any, _place: Any, high0: Any, high1: Any, out: Any
) -> Any:
    """64 points of two states: write the reports; which of them tie, and which are no states."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def at(number: int) -> Any:
            array = target.make_array(signature.args[number])(target, builder, arguments[number])
            place = builder.gep(array.data, [arguments[2]])
            return builder.bitcast(place, vector.as_pointer())

        def constant(value: int) -> Any:
            return ir.Constant(vector, [value] * STRIPE)

        vector = ir.VectorType(ir.IntType(8), STRIPE)
        state, symbol = builder.load(at(0), align=1), builder.load(at(1), align=1)
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
    return both(states, symbols, types.int64, high0, high1, out), generate


def _splat(builder: Any, vector: Any, value: Any) -> Any:
    """A vector that holds one value everywhere."""
    unknown = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(unknown, value, ir.IntType(32)(0))
    lanes = ir.VectorType(ir.IntType(32), vector.count)
    return builder.shuffle_vector(one, unknown, ir.Constant(lanes, [0] * vector.count))


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


# The compiler's own names for them; their true arguments are those after the context.
trailing_zeros: Any = intrinsic(_trailing_zeros_type)
reserved_mask: Any = intrinsic(_reserved_mask_type)
flip_block: Any = intrinsic(_flip_block_type)
flip_group: Any = intrinsic(_flip_group_type)
