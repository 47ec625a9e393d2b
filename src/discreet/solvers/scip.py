"""The solver SCIP, for integer programs, by PySCIPOpt (the extra ``scip``). Every solve starts from scratch."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray
from discreet.errors import InputError
from discreet.solvers.base import Basis, Model, Outcome, Solution, SolverSettings

try:
    import pyscipopt
    from pyscipopt.scip import PY_SCIP_PARAMSETTING as SETTING
except ImportError:
    raise InputError("The solver 'scip' needs PySCIPOpt: pip install 'discreet[scip]'.") from None

_STATUS = {
    "optimal": Outcome.OPTIMAL,
    "gaplimit": Outcome.OPTIMAL,
    "infeasible": Outcome.INFEASIBLE,
    "unbounded": Outcome.UNBOUNDED,
    **dict.fromkeys(("timelimit", "nodelimit", "totalnodelimit", "bestsollimit", "sollimit"), Outcome.STOPPED),
}
_BOUND_TOLERANCE = 1e-7  # a value at this distance from a bound is not at the bound; above the tolerance of the solver
_NO_LIMIT = 1e20  # infinity for SCIP
_SEED_MODULUS = 2**31 - 1


class ScipModel(Model):
    """One model of SCIP. It is built anew for each solve, since SCIP transforms the model that it solves."""

    name = f"SCIP {pyscipopt.Model().version()}"

    def __init__(self, settings: SolverSettings) -> None:
        self._settings: dict[str, Any] = {
            "randomization/randomseedshift": settings.seed % _SEED_MODULUS,
            "lp/initalgorithm": "b" if settings.interior else settings.simplex[0],
            "numerics/feastol": max(settings.tolerance, 1e-9),
            "numerics/dualfeastol": max(settings.tolerance, 1e-9),
            "parallel/maxnthreads": 1,
        }
        if settings.solutions is not None:
            self._settings["limits/bestsol"] = settings.solutions
        self._start: FloatArray | None = None

    def _load(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        self._rows = sparse.csr_array(rows, copy=True)
        self._row_lower, self._row_upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        self._start = None

    def add_rows(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        self._rows = sparse.csr_array(sparse.vstack([self._rows, rows], format="csr"))
        self._row_lower, self._row_upper = np.r_[self._row_lower, lower], np.r_[self._row_upper, upper]

    def suggest(self, primal: FloatArray) -> None:
        self._start = np.array(primal, dtype=float)

    def restart(self) -> None:
        """Every solve starts from scratch."""

    def basis(self) -> Basis:
        _no_basis()

    def correction(self, residual: FloatArray) -> FloatArray | None:
        _no_basis()

    def start_from(self, basis: Basis) -> None:
        _no_basis()

    def solve(
        self, time_limit: float | None = None, steps: int | None = None, gap: float = 0.0, nodes: int | None = None
    ) -> Solution:
        if np.any(self._lower > self._upper) or np.any(self._row_lower > self._row_upper):
            return self._without_solution(Outcome.INFEASIBLE)
        model, columns, rows = self._built()
        limits = {"limits/time": time_limit, "limits/nodes": nodes, "lp/iterlim": steps, "limits/gap": gap or None}
        for name, limit in limits.items():
            if limit is not None and limit < _NO_LIMIT:
                model.setParam(name, limit)
        if not self._integer.any():  # so that duals are those of the original program
            model.setPresolve(SETTING.OFF)
            model.setHeuristics(SETTING.OFF)
            model.disablePropagation()
        if self._start is not None:
            first = model.createSol()
            for column, value in zip(columns, self._start.tolist(), strict=True):
                model.setSolVal(first, column, value)
            model.addSol(first)
        model.optimize()
        status = model.getStatus()
        if status == "userinterrupt":
            raise KeyboardInterrupt
        outcome = _STATUS.get(status, Outcome.FAILED)
        if status == "inforunbd":
            outcome = self._infeasible_or_unbounded(time_limit)
        if outcome is Outcome.UNBOUNDED:
            ray = np.array(model.getPrimalRay(), dtype=float) if model.hasPrimalRay() else None
            return self._without_solution(outcome if ray is not None else Outcome.FAILED, ray)
        if model.getNSols() == 0:
            return self._without_solution(outcome)
        best = model.getBestSol()
        primal = np.array([model.getSolVal(best, column) for column in columns], dtype=float)
        linear = outcome is Outcome.OPTIMAL and not self._integer.any()
        dual = np.array([model.getDualsolLinear(row) for row in rows]) if linear else np.zeros(len(rows))
        if linear:
            dual = self._with_duals_of_bounds(self._sense * dual, primal)
        return Solution(
            outcome=outcome,
            objective=float(model.getSolObjVal(best)),
            primal=primal,
            row_dual=dual,
            bound=float(model.getDualbound()),
            ray=None,
            iterations=int(model.getNLPIterations()),
        )

    def _built(self) -> tuple[Any, list[Any], list[Any]]:
        model = pyscipopt.Model()
        model.hideOutput()
        for name, setting in self._settings.items():
            model.setParam(name, setting)
        columns = [
            model.addVar(
                lb=None if np.isneginf(low) else low,
                ub=None if np.isposinf(high) else high,
                vtype="I" if is_integer else "C",
            )
            for low, high, is_integer in zip(
                self._lower.tolist(), self._upper.tolist(), self._integer.tolist(), strict=True
            )
        ]
        objective = pyscipopt.quicksum(c * x for c, x in zip(self._cost.tolist(), columns, strict=True) if c)
        model.setObjective(objective, "minimize" if self._sense > 0 else "maximize")
        rows, pointer = [], self._rows.indptr.tolist()
        index, weight = self._rows.indices.tolist(), self._rows.data.tolist()
        for k, (low, high) in enumerate(zip(self._row_lower.tolist(), self._row_upper.tolist(), strict=True)):
            terms = pyscipopt.quicksum(weight[i] * columns[index[i]] for i in range(pointer[k], pointer[k + 1]))
            bounded = pyscipopt.scip.ExprCons(
                terms, lhs=None if np.isneginf(low) else low, rhs=None if np.isposinf(high) else high
            )
            rows.append(model.addCons(bounded))
        return model, columns, rows

    def _with_duals_of_bounds(self, dual: FloatArray, primal: FloatArray) -> FloatArray:
        """SCIP turns rows with one column into bounds, without a dual: such a row gets the reduced cost of its column."""
        reduced = self._cost - self._rows.T @ dual
        for k in np.flatnonzero(np.diff(self._rows.indptr) == 1).tolist():
            at = self._rows.indptr[k]
            j, weight = int(self._rows.indices[at]), float(self._rows.data[at])
            end = self._lower[j] if self._sense * reduced[j] > 0 else self._upper[j]
            multiplier = reduced[j] / weight
            side = self._row_lower[k] if self._sense * multiplier > 0 else self._row_upper[k]
            at_bound = abs(primal[j] - end) <= _BOUND_TOLERANCE
            if reduced[j] and not at_bound and abs(weight * primal[j] - side) <= _BOUND_TOLERANCE:
                dual[k] += multiplier
                reduced[j] = 0.0
        return dual

    def _infeasible_or_unbounded(self, time_limit: float | None) -> Outcome:
        """The outcome if SCIP reports "infeasible or unbounded": unbounded if there is a feasible solution."""
        cost, self._cost = self._cost, np.zeros(len(self._cost))
        try:
            return Outcome.UNBOUNDED if self.solve(time_limit).optimal else Outcome.INFEASIBLE
        finally:
            self._cost = cost

    def _without_solution(self, outcome: Outcome, ray: FloatArray | None = None) -> Solution:
        n, m = len(self._cost), len(self._row_lower)
        return Solution(outcome, np.nan, np.zeros(n), np.zeros(m), np.nan, ray, 0)


def _no_basis() -> NoReturn:
    raise NotImplementedError("SCIP keeps no basis: use another solver for series of linear programs.")
