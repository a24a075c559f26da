"""Optional dependencies: imported on first use, or an ImportError that says which extra to install."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["import_optional"]

# The package's extra that installs each library.
_EXTRAS = {
    "regex": "reference",
    "pyarrow": "parquet",
    "backports.zstd": "zstd",
    "fsspec": "remote",
    "huggingface_hub": "huggingface",
    "matplotlib": "plot",
    "dask": "dask",
    "datatrove": "datatrove",
    "pyspark": "spark",
    "ray": "ray",
    "torch": "torch",
    "transformers": "transformers",
}


def import_optional(module: str, purpose: str) -> Any:
    """The module; `purpose` begins the message of the ImportError.

    >>> import_optional("json", "reading JSON").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module if module.startswith("backports.") else module.partition(".")[0]
        remedy = f"pip install 'pairloom[{_EXTRAS[library]}]'" if library in _EXTRAS else f"install {library}"
        raise ImportError(f"{purpose} needs {library}: {remedy}") from error
