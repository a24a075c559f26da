"""`python -m pairloom` runs the command `pairloom`."""

# Until signals are handled, import only modules that the interpreter has loaded already. typeshed has no stub for this.
import _signal  # type: ignore[import-not-found]
import sys

# Ctrl-C during the next import ends the process without a traceback; `main` installs its own handlers.
if __name__ == "__main__" and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from pairloom.cli import main

if __name__ == "__main__":
    sys.exit(main())
