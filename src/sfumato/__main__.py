"""The threshold: where the command line starts, before anything is imported that takes time.

Most of a short command is spent importing, so Ctrl-C usually falls there. The script `sfumato` and `python -m sfumato`
begin here, with nothing but Python's own modules loaded: an interruption ends in a word and exit code 130.
"""

from __future__ import annotations

import sys

SELDOM = (100_000, 20, 50)
"""When Python looks for objects that only hold each other: a command makes few, and looking took a twentieth of it."""


def main() -> None:
    """Run the command line, and end quietly when it is interrupted while it is still being loaded."""
    try:
        import gc

        gc.set_threshold(*SELDOM)
        from sfumato.cli import main as run

        run()
    except KeyboardInterrupt:
        print("sfumato: stopped", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the answer stands: Python's own end is not interrupted any more


if __name__ == "__main__":
    main()
