"""Arrow columns of the core as objects of pyarrow, where that is installed."""

from __future__ import annotations

from typing import Any

from pairloom import _core

__all__ = ["as_array", "as_table"]


def as_array(column: _core.ArrowColumn) -> Any:
    """The column as a pyarrow.Array, or as it is: an object with `__arrow_c_array__`, which polars and others take."""
    try:
        import pyarrow
    except ImportError:
        return column
    return pyarrow.array(column)


def as_table(column: _core.ArrowColumn) -> Any:
    """The column, a struct, as a pyarrow.Table, or as it is."""
    try:
        import pyarrow
    except ImportError:
        return column
    return pyarrow.Table.from_batches([pyarrow.record_batch(column)])
