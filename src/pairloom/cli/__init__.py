"""The command line. Results go to stdout; messages, warnings and progress go to stderr.

Exit status: 0, 1 (failed), 2 (wrong usage), 3 (`--strict`, and some input was left out), or 128 + the number of the
signal that ended the command.
"""

import os


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns the exit status. Wrong usage raises SystemExit(2).

    argv: the arguments after the program's name; None takes the process's own.
    """
    if argv is None:
        # The process is ours, so its environment can be set. OpenBLAS would start a thread per processor, and they
        # spin for some 40 ms while the command could use the processors; no command multiplies matrices.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Nothing else is imported until signals are handled.
    from pairloom.cli.signals import handled

    with handled() as interruptions:
        try:
            from pairloom.cli.commands import run
        except ValueError as error:
            # The compiled module refuses to load if PAIRLOOM_DISABLE_CPU_FEATURES names something unknown.
            os.write(2, f"pairloom: {error}\n".encode())
            return 2
        return run(argv, interruptions)
