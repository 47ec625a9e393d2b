"""A growing pattern, with the deviations that show which cells it protects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.errors import NoSafePatternError, some
from discreet.inference.deviations import Deviation
from discreet.methods.check import safe_cells
from discreet.methods.context import Run
from discreet.methods.suppress.deviation_search import DeviationSearch, deviation_searches
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import KnownDeviations, find_deviations
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress

DeviationsByAttacker = Sequence[Sequence[Deviation]]


@dataclass(frozen=True, eq=False)
class _Defence:
    """The known deviations against one attacker, and the search for further ones."""

    attacker: Attacker
    search: DeviationSearch
    evidence: KnownDeviations


class Pattern:
    """The cells suppressed so far: at first the cells that must be suppressed, and those of ``start``.

    ``price`` is what suppressing a cell costs, by default its cost in the problem; ``among`` are the cells that may be
    suppressed, by default all that the problem allows. ``deviations`` are known deviations of the starting pattern, per attacker.
    If ``lenient``, sensitive cells that cannot be protected stay unprotected, and no error is raised. Unless there are
    ``few_targets``, an audit first finds the cells for which no deviation needs to be searched.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int,
        price: FloatArray | None = None,
        among: BoolArray | None = None,
        start: BoolArray | None = None,
        *,
        deviations: DeviationsByAttacker = (),
        lenient: bool = False,
        few_targets: bool = False,
    ) -> None:
        self.problem = problem
        self.seed = seed
        # Random factors of the seed break ties between equally cheap patterns; they are far smaller than differences in cost.
        price = problem.cost if price is None else price
        lowest = float(price[price > 0].min()) if np.any(price > 0) else 1.0
        self.price = np.maximum(price, lowest * 1e-3) * np.random.default_rng(seed).uniform(1.0, 1.0 + 1e-6, len(price))
        self.among = problem.status != Status.PUBLISHED if among is None else among.copy()
        self.start = np.zeros(len(problem), dtype=bool) if start is None else start
        self.known = deviations
        self.lenient = lenient
        self.few_targets = few_targets
        self.unprotectable: list[int] = []  # cells that cannot be protected once they are suppressed
        self._begin()

    def _begin(self) -> None:
        problem = self.problem
        self.forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        self.suppressed = self.forced | (self.start & self.among & (problem.status == Status.FREE))
        self.size = int(self.suppressed.sum())
        self.defences = self._defences(self.among)
        self.solver = self.defences[0].search.solver

    def _defences(self, among: BoolArray) -> list[_Defence]:
        problem = self.problem
        found = deviation_searches(problem, among, np.where(self.suppressed, 0.0, self.price), self.seed)
        return [
            _Defence(attacker, search, KnownDeviations(problem, attacker))
            for attacker, search in zip(problem.attackers(), found, strict=True)
        ]

    def grow(self, run: Run) -> None:
        """Suppress cells until every cell that needs protection is protected, the largest requirement first."""
        while not self._grown(run):
            pass

    def _grown(self, run: Run) -> bool:
        """One attempt to grow. False if a secondary cannot be protected: the pattern starts again without that cell."""
        problem = self.problem
        if not self.few_targets:  # primaries that protect each other need no secondaries
            for defence, cells in zip(self.defences, safe_cells(problem, self.forced), strict=True):
                defence.evidence.settle(cells)
        done = np.zeros(len(problem), dtype=bool)
        for defence, deviations in zip(self.defences, self.known, strict=False):
            for deviation in deviations:
                if self.suppressed[deviation.cells].all():  # false if one of the cells was found unprotectable
                    defence.evidence.add(deviation)
        if self.start.any() and not any(self.known):
            safe = safe_cells(problem, self.suppressed)
            done[safe[0]] = True
            for cells in safe[1:]:
                done &= np.isin(np.arange(len(done)), cells)
        count = int(done.sum())
        run.progress.stage("protect", len(problem.primaries))
        while True:  # secondaries may need protection, too
            left = np.flatnonzero(self._cells_to_protect() & ~done)
            if not len(left):
                return True
            need = np.max([np.maximum(d.evidence.lower, d.evidence.upper)[left] for d in self.defences], axis=0)
            for p in left[np.argsort(-need, kind="stable")].tolist():
                if run.budget.over:
                    raise NoSafePatternError(
                        f"The time limit ended with {count:,} of {int(self._cells_to_protect().sum()):,} cells "
                        "protected: there is no safe pattern yet. Allow more time."
                    )
                if not all(self._protect(p, defence) for defence in self.defences):
                    self.unprotectable.append(p)
                    self.among[p] = False
                    self._begin()
                    return False
                done[p] = True
                count += 1
                run.progress.update(min(count, len(problem.primaries)), f"{self.size:,} suppressed")
                run.keep(self.suppressed)

    def trim(self, run: Run) -> tuple[BoolArray, str]:
        """The pattern after the clean-up, and the status of the clean-up."""
        evidence = [defence.evidence for defence in self.defences]
        return eliminate(self.problem, self.suppressed, evidence, replace(run, seed=self.seed))

    def deviations(self, suppressed: BoolArray) -> list[list[Deviation]]:
        """Per attacker the deviations that show cells of a pattern to be safe."""
        return [defence.evidence.in_use(suppressed) for defence in self.defences]

    def unprotected(self) -> IntArray:
        """Sensitive cells that no known deviations show to be safe."""
        primaries = self.problem.primaries.tolist()
        return np.array(
            [p for p in primaries if not all(d.evidence.suffices(p) for d in self.defences)], dtype=np.int64
        )

    def _cells_to_protect(self) -> BoolArray:
        """Which cells must be protected from at least one attacker."""
        return np.asarray(np.any([self.problem.protected(d.attacker, self.suppressed) for d in self.defences], axis=0))

    def _protect(self, p: int, defence: _Defence) -> bool:
        """Suppress cells until ``p`` is protected from one attacker; False if it cannot be protected and may be published."""
        if defence.evidence.suffices(p):
            return True
        n_known = len(defence.evidence.deviations)
        found = find_deviations(defence.search, defence.evidence, p)
        if found is None and self.problem.status[p] == Status.FREE:
            return False
        if found is None and self.lenient:
            # It cannot be protected, so the clean-up ignores its requirements.
            defence.evidence.needs_protection[p] = False
            # Deviations for some of its levels were found. Other cells may rely on them, so cells that deviate are suppressed.
            found = defence.evidence.deviations[n_known:]
        if found is None:
            raise self._error(p, defence.attacker)
        for deviation in found:
            new = deviation.cells[~self.suppressed[deviation.cells]]
            self.suppressed[new] = True
            self.size += len(new)
            for one in self.defences:
                one.search.release(new)
        return True

    def _error(self, p: int, attacker: Attacker) -> NoSafePatternError:
        label = self.problem.table.label(p)
        against = "" if len(self.defences) == 1 else f" from attacker {attacker.name!r}"
        others = self.problem.table.labels(self._unprotectable_cells_that_protect(p, attacker))
        if others:
            return NoSafePatternError(
                f"No pattern protects {some([label])}{against}: it needs cells that cannot be protected themselves once they "
                f"are suppressed, {some(others)}. Lower their protection levels or that of {label!r}, let more cells be "
                "suppressed, or widen the prior bounds of attackers.",
                [label, *others],
            )
        return NoSafePatternError(
            f"No pattern protects {some([label])}{against}: even if all cells that may be suppressed are, it does not have "
            "enough slack. Let more cells be suppressed, widen the prior bounds of attackers, or lower its protection level.",
            [label],
        )

    def _unprotectable_cells_that_protect(self, p: int, attacker: Attacker) -> list[int]:
        """The unprotectable cells that the protection of a cell needs; none if even they do not protect it."""
        if not self.unprotectable:
            return []
        among = self.among.copy()
        among[self.unprotectable] = True
        defence = next(d for d in self._defences(among) if d.attacker.name == attacker.name)
        found = find_deviations(defence.search, defence.evidence, p) or []
        deviating = {i for deviation in found for i in deviation.cells.tolist()}
        return [i for i in self.unprotectable if i in deviating]


def completed(problem: Problem, method: str, run: Run, deviations: DeviationsByAttacker = ()) -> Protection:
    """The starting pattern of a run, made safe by further secondaries and cleaned up."""
    pattern = Pattern(problem, run.seed, start=run.start, deviations=deviations)
    pattern.grow(run)
    suppressed, status = pattern.trim(run)
    return suppress(problem, suppressed, **run.report(method, status, solver=pattern.solver))
