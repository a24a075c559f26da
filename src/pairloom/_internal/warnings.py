"""Issues warnings that point to the caller's line, however deep inside the package they are raised."""

import os
import sys
import warnings

# Without pathlib, which takes long to import.
_PACKAGE = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120


def warn(message: str) -> None:
    """Issues a UserWarning that points to the innermost calling line outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, stacklevel=level)
