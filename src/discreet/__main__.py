"""The program: ``discreet``, or ``python -m discreet``. Signals are taken care of first, as all else takes time to load."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM)
STOPPED = "discreet: stopped; no result was written."


def main() -> NoReturn:
    """Run the command line. Ctrl-C and SIGTERM end it in the same way, whenever they come."""
    heard = [number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN]  # not what nohup ignores
    for number in heard:
        signal.signal(number, _leave)
    from discreet.cli.main import load
    from discreet.cli.main import main as run

    load(sys.argv[1:])
    code = 1
    try:
        for number in heard:
            signal.signal(number, signal.default_int_handler)
        run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt:  # once more, while the first one was being answered
        print(STOPPED, file=sys.stderr)
    # What there is to tell has been told. Who does not want to wait for the end still gets the same answer.
    for number in heard:
        signal.signal(number, lambda *_: os._exit(code))
    sys.exit(code)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End at once, with the usual words: nothing has been begun."""
    os.write(2, f"{STOPPED}\n".encode())
    os._exit(1)


if __name__ == "__main__":
    main()
