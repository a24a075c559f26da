"""Imports optional dependencies on first use; the ImportError says what to install."""

import importlib
from typing import Any


def import_optional(module: str, purpose: str) -> Any:
    """Imports and returns a module; `purpose` begins the message of the ImportError.

    >>> import_optional("json", "reading JSON").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module if module.startswith("backports.") else module.partition(".")[0]
        package = "'ray[data]'" if library == "ray" else library
        raise ImportError(f"{purpose} needs {library}: pip install {package}") from error


def import_pyarrow(module: str = "pyarrow") -> Any:
    """Imports pyarrow or one of its modules; ImportError as in `import_optional`."""
    return import_optional(module, "reading and writing Arrow and Parquet")
