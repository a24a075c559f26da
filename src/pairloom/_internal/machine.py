"""Asks the system about this machine."""

import os


def machine_memory() -> int:
    """Returns the bytes of memory of this machine; 1 TiB if the system does not say.

    >>> machine_memory() > 0
    True
    """
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 40
