"""Ray: the results of a function over the blocks of a Dataset, with its errors unchanged."""

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from pairloom.errors import PairloomError


def block_results(ds: Any, work: Callable[[Any], Any], in_order: bool = False) -> Iterator[Any]:
    """Yields what `work` returns for each block, as results come or in the order of the blocks.

    Raises its PairloomErrors themselves, not Ray's text about them, and ValueError if Ray may drop blocks.
    """
    if n := ds.context.max_errored_blocks:
        raise ValueError(
            f"max_errored_blocks of the DataContext is {n}: Ray would silently drop the documents of blocks that "
            "fail; set it to 0"
        )

    def run(table: Any) -> Any:
        try:
            result = work(table)
        except PairloomError as error:
            result = error
        # As a row, since the metadata of a schema do not survive Ray's blocks.
        return {"result": [pickle.dumps(result)]}

    results = ds.map_batches(run, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
    # Datasets made from one another share this object, so restore it.
    options = results.context.execution_options
    before, options.preserve_order = options.preserve_order, in_order or options.preserve_order
    try:
        for row in results.iter_rows():
            result = pickle.loads(row["result"])
            if isinstance(result, PairloomError):
                raise result
            yield result
    finally:
        options.preserve_order = before
