"""`python -m pairloom` is the command `pairloom`."""

# Loaded by the interpreter itself, as all that comes before signals are handled; typeshed has no stub of it.
import _signal  # type: ignore[import-not-found]
import sys

# Ctrl-C while the next line reads files ends the process without a traceback; `main` has handlers of its own.
if __name__ == "__main__" and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from pairloom.cli import main

if __name__ == "__main__":
    sys.exit(main())
