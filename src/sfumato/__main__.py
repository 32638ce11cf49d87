"""The threshold: where the command line starts, before anything is imported that takes time.

Most of a short command is spent importing, so Ctrl-C usually falls there. The script `sfumato` and `python -m sfumato`
begin here, with nothing but Python's own modules loaded: an interruption ends in a word and exit code 130.
"""

import sys

SELDOM = (100_000, 20, 50)
"""When Python looks for objects that only hold each other: a command makes few, and looking took a twentieth of it."""


def main() -> None:
    """Run the command line, and end quietly when it is interrupted while it is still being loaded."""
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

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the answer stands: Python's own end is not interrupted any more


def _leave(code: object) -> None:
    """Leave the process once all is done that was registered for its end, and all is said; else return.

    Python would take every module and object apart first: half a second after a long command, for memory that the
    system takes back as a whole. Where output cannot be written, it ends, and says so, in its own way.
    """
    import atexit
    import os
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):  # there is no such stream, it is full, or closed
        return
    if isinstance(code, int):
        os._exit(code)


if __name__ == "__main__":
    main()
