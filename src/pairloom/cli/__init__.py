"""The command line. Results go to stdout; messages, warnings and progress go to stderr.

Exit status: 0, 1 (failed), 2 (wrong usage), 3 (`--strict`, and some input was left out), or 128 + the number of the
signal that ended the command.
"""

# The interpreter has loaded both already. Nothing else is imported until signals are handled.
import _signal  # type: ignore[import-not-found]
import os

# Windows has no SIGHUP.
_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, *([_signal.SIGHUP] if hasattr(_signal, "SIGHUP") else []))


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns the exit status. Wrong usage raises SystemExit(2).

    argv: the arguments after the program's name; None takes the process's own.
    """
    if argv is None:
        # The process is ours, so its environment can be set. OpenBLAS would start a thread per processor, and they
        # spin for some 40 ms while the command could use the processors; no command multiplies matrices.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    before = _end_process_on_signals()
    from pairloom.cli.signals import handled

    with handled(before) as interruptions:
        try:
            from pairloom.cli.commands import run
        except ValueError as error:
            # The compiled module refuses to load if PAIRLOOM_DISABLE_CPU_FEATURES names something unknown.
            os.write(2, f"pairloom: {error}\n".encode())
            return 2
        return run(argv, interruptions)


def _end_process_on_signals() -> dict[int, object]:
    """Makes signals end the process without a traceback. Returns the old handlers; none outside the main thread."""
    before: dict[int, object] = {}
    for number in _SIGNALS:
        handler = _signal.getsignal(number)
        # Ignored signals stay ignored: nohup, and background commands of a script.
        if handler in (_signal.SIG_DFL, _signal.default_int_handler):
            try:
                _signal.signal(number, _end)
            except ValueError:
                break
            before[number] = handler
    return before


def _end(number: int, _: object) -> None:
    """Ends the process: there is nothing to clean up yet."""
    os.write(2, b"pairloom: interrupted\n" if number == _signal.SIGINT else b"pairloom: terminated\n")
    os._exit(128 + number)
