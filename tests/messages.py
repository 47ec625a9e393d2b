"""Lists the messages in the source that no test shows: ``python -m tests.messages [arguments of pytest]`` or ``make messages``.

A message is a place in ``src`` that makes an error of the package. Errors note where they are made while tests run. Tests that
start a process of their own are not seen.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import discreet
from discreet import errors

SOURCE = Path(discreet.__file__).parent
KINDS = {
    name for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, errors.DiscreetError)
}
Site = tuple[str, int]  # the file and the line in which the call begins


def sites() -> Iterator[tuple[Path, ast.Call]]:
    """The calls that make errors."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
                yield path, node


# -- a plugin of pytest: -p tests.messages -------------------------------------------------------------------------

SEEN: set[Site] = set()  # where errors were made, in this process and in the workers of pytest-xdist


def pytest_configure() -> None:
    original = errors.DiscreetError.__init__

    def noting(error: errors.DiscreetError, *given: Any, **named: Any) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith(str(SOURCE)):
            frame = frame.f_back
        if frame is not None:
            SEEN.add((frame.f_code.co_filename, frame.f_lineno))
        original(error, *given, **named)

    errors.DiscreetError.__init__ = noting  # type: ignore[method-assign]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["seen"] = sorted(SEEN)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    SEEN.update((str(file), int(line)) for file, line in getattr(node, "workeroutput", {}).get("seen", []))


# -- the list ------------------------------------------------------------------------------------------------------


def unseen(lines: set[Site]) -> list[str]:
    """The messages that no test showed: where they are, and the source that makes them."""
    return [
        f"{path.relative_to(SOURCE)}:{call.lineno}: {ast.unparse(call)}"
        for path, call in sites()
        if not any((str(path), line) in lines for line in range(call.lineno, (call.end_lineno or call.lineno) + 1))
    ]


def main() -> int:
    from tests import messages  # the plugin, which is another module than __main__

    code = pytest.main(["-p", "tests.messages", *sys.argv[1:]])
    left = unseen(messages.SEEN)
    print("\n".join(left), f"{len(left)} of {len(list(sites()))} messages are shown by no test.", sep="\n")
    return int(code) or bool(left)


if __name__ == "__main__":
    raise SystemExit(main())
