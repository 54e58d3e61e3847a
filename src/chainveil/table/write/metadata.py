"""What a release says of its columns: names and types, written anew.

Whatever else a table carries may hold private values: notes on fields and on the whole schema,
categories that no row has, lists of values that another program left behind.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chainveil.errors import InvalidInput


def plain_field(field: pa.Field, kind: pa.DataType | None = None) -> pa.Field:
    """A field with its name and type alone; ``kind`` is its new type where that changes."""
    if kind is not None:
        return pa.field(field.name, plain_type(kind))
    return pa.field(field.name, plain_type(field.type), field.nullable)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without what its inner fields carry."""
    if pa.types.is_struct(kind):
        return pa.struct([plain_field(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(plain_field(kind.key_field), plain_field(kind.item_field), kind.keys_sorted)
    if pa.types.is_large_list(kind):
        return pa.large_list(plain_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain_field(kind.value_field), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(plain_field(kind.value_field))
    return kind


def plain_column(column: pa.Array, name: str) -> pa.Array:
    """A column whose categories are those that its rows have, in the order they had."""
    if not pa.types.is_dictionary(column.type):
        _check_no_categories_inside(column.type, name)
        return column
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    indices = column.indices
    used = np.unique(indices.drop_null().to_numpy(zero_copy_only=False)).astype(np.int64)
    table = np.zeros(len(column.dictionary), np.int64)
    table[used] = np.arange(len(used))
    absent = indices.is_null().to_numpy(zero_copy_only=False)
    codes = table[indices.fill_null(0).to_numpy(zero_copy_only=False)] if len(table) else absent
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int64), mask=absent).cast(column.type.index_type),
        column.dictionary.take(pa.array(used)),
        ordered=column.type.ordered,
    )


def without_categories(kind: pa.DataType) -> pa.DataType:
    """The type of a category's values; other types as they are."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _check_no_categories_inside(kind: pa.DataType, name: str) -> None:
    """Error for categories inside lists and records: those that no row has would be published."""
    for i in range(kind.num_fields):
        inner = kind.field(i).type
        if pa.types.is_dictionary(inner):
            raise InvalidInput(
                "keep", f"{name!r}, a column of type {kind}", "no categories inside lists or "
                "records", "Turn them into plain values first.",
            )  # fmt: skip
        _check_no_categories_inside(inner, name)
