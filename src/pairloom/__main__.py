"""`python -m pairloom` is the command `pairloom`."""

import sys

from pairloom.cli import main

if __name__ == "__main__":
    sys.exit(main())
