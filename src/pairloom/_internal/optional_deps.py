"""Optional dependencies: imported on first use, or an ImportError that says what to install."""

import importlib
from typing import Any


def import_optional(module: str, purpose: str) -> Any:
    """The module; `purpose` begins the message of the ImportError.

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
    """pyarrow, or a module of it; an ImportError as `import_optional` raises it."""
    return import_optional(module, "reading and writing Arrow and Parquet")
