"""The entry point of the command line, which imports nothing slow.

Imports take most of the time of a short command, so Ctrl-C usually occurs there. The script `sfumato` and
`python -m sfumato` start here with built-in modules only: an interruption prints a word and exits with code 130.
"""

import sys

SELDOM = (100_000, 20, 50)
"""Thresholds of the garbage collector: a command makes few cycles, and collecting took a twentieth of the time."""


def main() -> None:
    """Run the command line, and end quietly if it is interrupted during imports."""
    try:
        import gc

        gc.set_threshold(*SELDOM)
        from sfumato.commands.app import main as run

        run()
    except KeyboardInterrupt:
        print("sfumato: stopped", file=sys.stderr)
        raise SystemExit(130) from None
    except SystemExit as ended:
        _leave(ended.code)
        raise
    finally:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the result is complete: do not interrupt Python's shutdown


def _leave(code: object) -> None:
    """Exit the process after the registered exit functions and flushing; return if the output cannot be flushed.

    Python's own shutdown would free every object: half a second after a long command. A failing flush is left to it,
    which reports the error.
    """
    import atexit
    import os
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):  # the stream does not exist, is full, or closed
        return
    if isinstance(code, int):
        os._exit(code)


if __name__ == "__main__":
    main()
