"""Sessions: the outputs of an analysis, collected for an output checker."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from datetime import datetime
from pathlib import Path
from types import MappingProxyType, TracebackType

from discreet.analysis.combination import Verdict, verdicts
from discreet.analysis.linking import Made, related
from discreet.analysis.measures import Measure, Rules
from discreet.analysis.protected_table import ProtectedTable
from discreet.analysis.results import CollectedOutput, check_folder, write_results
from discreet.errors import InputError, some


class Session:
    """The outputs made within ``with discreet.session("project"):``, written to a folder at its end.

    The folder is of the form that the viewer of SACRO and ACRO open. Outputs are also judged together, see :meth:`verdicts`.
    """

    def __init__(self, folder: str | Path, rules: Rules | None = None) -> None:
        self.folder, self.rules = Path(folder), rules
        self._outputs: dict[str, CollectedOutput] = {}
        self._made = 0
        self._written = False
        self._token: Token[Session | None] | None = None
        check_folder(self.folder)

    def __repr__(self) -> str:
        return f"Session({str(self.folder)!r}: {len(self._outputs)} outputs)"

    def __enter__(self) -> Session:
        if _CURRENT.get() is not None:
            raise InputError("Another session is open. Leave it before a new one begins.")
        self._token = _CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._token is not None:
            _CURRENT.reset(self._token)
            self._token = None
        if kind is None and not self._written:
            self.finalise()

    @property
    def outputs(self) -> Mapping[str, ProtectedTable]:
        """The tables by name."""
        return MappingProxyType({name: output.table for name, output in self._outputs.items()})

    def add(self, table: ProtectedTable) -> str:
        """Add a table that was made outside of the ``with`` block; returns its name."""
        if not isinstance(table, ProtectedTable):
            raise InputError(f"A session holds tables of crosstab and pivot_table, not {type(table).__name__}.")
        self._refuse_changes_of_what_is_written()
        name = f"output_{self._made}"
        self._made += 1
        self._outputs[name] = CollectedOutput(table, datetime.now().isoformat())
        return name

    def add_comments(self, output: str, comment: str) -> None:
        """Add a comment for the checker."""
        self._output(output).comments.append(comment)

    def add_exception(self, output: str, reason: str) -> None:
        """Ask the checker for an exception, with the reason why the output should be released."""
        found = self._output(output)
        self._outputs[output] = CollectedOutput(found.table, found.timestamp, found.comments, reason)

    def rename_output(self, old: str, new: str) -> None:
        """Give an output another name, which its files get too."""
        self._output(old)
        if (
            new in self._outputs
            or not new
            or not all(sign.isalnum() or sign in "-_ ." for sign in new)
            or new[0] == "."
        ):
            raise InputError(
                f"An output cannot be called {new!r}: use letters, digits, - and _, and a name of its own."
            )
        self._outputs = {new if name == old else name: output for name, output in self._outputs.items()}

    def remove_output(self, output: str) -> None:
        """Leave an output out."""
        self._output(output)
        del self._outputs[output]

    def verdicts(self) -> dict[str, Verdict]:
        """For each output whether it may be released together with the others: pass, review or fail, and why."""
        return verdicts(self.outputs)

    def finalise(self) -> Path:
        """Judge all outputs together and write the folder; returns the path of ``results.json``."""
        if not self._outputs:
            raise InputError("The session has no outputs to write. Make tables with crosstab or pivot_table within it.")
        check_folder(self.folder)
        written = write_results(self.folder, self._outputs, self.verdicts())
        self._written = True
        return written

    def _refuse_changes_of_what_is_written(self) -> None:
        if self._written:
            raise InputError(f"The session is written to {self.folder} already. Begin a new one for further outputs.")

    def _output(self, name: str) -> CollectedOutput:
        self._refuse_changes_of_what_is_written()
        if name not in self._outputs:
            raise InputError(f"The session has no output {name!r}. Choose from {some(list(self._outputs), 9)}.", [name])
        return self._outputs[name]


_CURRENT: ContextVar[Session | None] = ContextVar("session", default=None)


def session(folder: str | Path, rules: Rules | None = None) -> Session:
    """A session for the project of this name: ``with discreet.session("project", rules="FREQ(10)") as s:``.

    Tables made within it are collected, and written to the folder at its end. ``rules`` holds for tables that name none.
    """
    return Session(folder, rules)


def current_rules() -> Rules | None:
    """The rules of the open session, None without one."""
    found = _CURRENT.get()
    return None if found is None else found.rules


def earlier_measures(made: Made) -> list[Measure]:
    """The measures of the open session beside which a new output must be safe; those with other values are left out."""
    found = _CURRENT.get()
    if found is None or not made.options.suppresses:
        return []
    outputs = [table for table in found.outputs.values() if related(made, table)]
    return [measure for table in outputs for measure in table.measures if measure.exact]


def record(table: ProtectedTable) -> None:
    """Add a table to the open session, if there is one."""
    found = _CURRENT.get()
    if found is not None:
        found.add(table)
