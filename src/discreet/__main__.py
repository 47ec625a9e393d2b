"""The program ``discreet``, also ``python -m discreet``. Signal handlers are set first because the other imports take time."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

STOPPED_MESSAGE = "discreet: stopped; no result was written."


def main() -> NoReturn:
    """Run the command line. Ctrl-C and SIGTERM have the same effect at any time."""
    # Signals that are ignored stay ignored, as under nohup.
    handled = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _leave)
    from discreet.cli.main import load
    from discreet.cli.main import main as run

    load(sys.argv[1:])
    code = 1
    try:
        for number in handled:
            signal.signal(number, signal.default_int_handler)
        run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt:  # a second signal while the first one was handled
        print(STOPPED_MESSAGE, file=sys.stderr)
    # All output is written: a signal during shutdown ends the process with the same exit code.
    for number in handled:
        signal.signal(number, lambda *_: os._exit(code))
    sys.exit(code)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End at once with the usual message: no work has started."""
    os.write(2, f"{STOPPED_MESSAGE}\n".encode())
    os._exit(1)


if __name__ == "__main__":
    main()
