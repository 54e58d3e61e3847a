"""Vector instructions for noise of several reports: what each last report leads to.

As in ``vectors.py``, what a context names is looked up within registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import types
from numba.core import cgutils as untyped
from numba.extending import intrinsic

from chainveil.mechanism.vectors import CONTEXTS, STRIPE, _looked_up, _places, _splat

cgutils: Any = untyped


def _reached_block_type(
    _context: Any, contexts: Any, symbols: Any, _place: Any, bounds: Any, _last: Any, planes: Any
) -> Any:
    """64 points after one last report: how many bounds each symbol is above, times 8.

    ``bounds`` : uint8 (m, m - 1, groups, 16), by last report, bound and context, of which 16
    lie in a register; ``planes`` : uint8 (reports, 64), of which the last report's is written.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def at(number: int, step: Any) -> Any:
            array = target.make_array(signature.args[number])(target, builder, arguments[number])
            return builder.gep(array.data, [step])

        def block(number: int, step: Any) -> Any:
            return builder.bitcast(at(number, step), vector.as_pointer())

        def constant(value: int) -> Any:
            return ir.Constant(vector, [value] * STRIPE)

        vector, row = (ir.VectorType(ir.IntType(8), count) for count in (STRIPE, CONTEXTS))
        around = builder.load(block(0, arguments[2]), align=1)
        symbol = builder.load(block(1, arguments[2]), align=1)
        place, group = builder.and_(around, constant(15)), builder.lshr(around, constant(4))
        table = target.make_array(signature.args[3])(target, builder, arguments[3])
        _, count, groups, _ = cgutils.unpack_tuple(builder, table.shape)
        reached = cgutils.alloca_once_value(builder, constant(0))
        first = builder.mul(arguments[4], count)
        with cgutils.for_range(builder, count) as over_bounds:
            bound = cgutils.alloca_once_value(builder, constant(0))
            start = builder.mul(builder.add(first, over_bounds.index), groups)
            with cgutils.for_range(builder, groups) as over_groups:
                number = builder.add(start, over_groups.index)
                where = at(3, builder.mul(number, ir.IntType(64)(CONTEXTS)))
                held = builder.load(builder.bitcast(where, row.as_pointer()), align=1)
                own = _splat(builder, vector, builder.trunc(over_groups.index, ir.IntType(8)))
                here = builder.icmp_unsigned("==", group, own)
                found = _looked_up(builder, held, place, CONTEXTS)
                builder.store(builder.select(here, found, builder.load(bound)), bound)
            above = builder.icmp_unsigned(">", symbol, builder.load(bound))
            more = builder.select(above, constant(8), constant(0))
            builder.store(builder.add(builder.load(reached), more), reached)
        plane = block(5, builder.mul(arguments[4], ir.IntType(64)(STRIPE)))
        builder.store(builder.load(reached), plane, align=1)
        return target.get_dummy_value()

    return types.void(contexts, symbols, types.int64, bounds, types.int64, planes), generate


def _pack_block_type(_context: Any, planes: Any, words: Any, _place: Any) -> Any:
    """Write the bytes of 64 points, one of each plane, as words: the first plane's lowest.

    ``planes`` : uint8 (bytes of a word, 64).
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held, goal = (
            target.make_array(signature.args[number])(target, builder, arguments[number])
            for number in range(2)
        )
        count = signature.args[1].dtype.bitwidth // 8
        vector = ir.VectorType(ir.IntType(8), STRIPE)
        start = builder.bitcast(held.data, vector.as_pointer())
        parts = [
            builder.load(builder.gep(start, [ir.IntType(64)(plane)]), align=1)
            for plane in range(count)
        ]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [_interleaved(builder, low, high) for low, high in pairs]
        place = builder.gep(goal.data, [arguments[2]])
        builder.store(parts[0], builder.bitcast(place, parts[0].type.as_pointer()), align=1)
        return target.get_dummy_value()

    return types.void(planes, words, types.int64), generate


def _interleaved(builder: Any, low: Any, high: Any) -> Any:
    """Two vectors as one of the same count, each lane twice as wide."""
    count, width = low.type.count, low.type.element.width
    places = [place for lane in range(count) for place in (lane, count + lane)]
    mixed = builder.shuffle_vector(low, high, _places(places))
    return builder.bitcast(mixed, ir.VectorType(ir.IntType(2 * width), count))


# The compiler's own names for them; their true arguments are those after the context.
reached_block: Any = intrinsic(_reached_block_type)
pack_block: Any = intrinsic(_pack_block_type)
