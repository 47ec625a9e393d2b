"""The solver HiGHS."""

from __future__ import annotations

from threading import current_thread, main_thread
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray
from discreet.solvers.base import Basis, ColumnIndices, Model, Outcome, Solution, SolverSettings

_STATUS = {
    highspy.HighsModelStatus.kOptimal: Outcome.OPTIMAL,
    highspy.HighsModelStatus.kModelEmpty: Outcome.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Outcome.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Outcome.UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: Outcome.STOPPED,
    highspy.HighsModelStatus.kIterationLimit: Outcome.STOPPED,
    highspy.HighsModelStatus.kInterrupt: Outcome.STOPPED,
    highspy.HighsModelStatus.kObjectiveBound: Outcome.STOPPED,
    highspy.HighsModelStatus.kObjectiveTarget: Outcome.STOPPED,
    highspy.HighsModelStatus.kSolutionLimit: Outcome.STOPPED,
}

# Primal simplex suits a changing objective (the basis stays feasible), dual simplex changing bounds and rows.
_STRATEGY = {"dual": 1, "primal": 4}
_BASIS_STATUS = {int(status): status for status in highspy.HighsBasisStatus.__members__.values()}
_NO_LIMIT = 2**31 - 1


class HighsModel(Model):
    """One model of HiGHS, on one thread."""

    name = f"HiGHS {highspy.Highs().version()}"  # type: ignore[no-untyped-call]

    def __init__(self, settings: SolverSettings) -> None:
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # its stubs are incomplete
        self._settings = settings
        options: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": 1,
            "simplex_strategy": _STRATEGY[settings.simplex],
            "primal_feasibility_tolerance": settings.tolerance,
            "dual_feasibility_tolerance": settings.tolerance,
            "random_seed": settings.seed,
            "mip_max_improving_sols": _NO_LIMIT if settings.solutions is None else settings.solutions,
        }
        if settings.interior:
            options |= {"solver": "ipm", "run_crossover": "off"}
        for option, setting in options.items():
            self._highs.setOptionValue(option, setting)

    def _load(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self._cost), rows.shape[0]
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = self._cost, self._lower, self._upper
        lp.row_lower_, lp.row_upper_ = lower, upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
        self._is_mip = bool(self._integer.any())
        if self._is_mip:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[int(is_integer)] for is_integer in self._integer]
        # Without columns HiGHS ignores the rows.
        self._is_infeasible = not len(self._cost) and bool(np.any(lower > 0) or np.any(upper < 0))
        self._highs.setOptionValue("presolve", "on" if self._is_mip or self._settings.interior else "off")
        self._check(self._highs.passModel(lp), "load the model")

    def add_rows(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        start, index = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self._is_infeasible |= not self._highs.getNumCol() and bool(np.any(lower > 0) or np.any(upper < 0))
        self._check(self._highs.addRows(rows.shape[0], lower, upper, rows.nnz, start, index, rows.data), "add rows")

    def suggest(self, primal: FloatArray) -> None:
        solution = highspy.HighsSolution()
        solution.col_value = primal.tolist()
        self._highs.setSolution(solution)

    def set_bounds(self, columns: ColumnIndices, lower: FloatArray, upper: FloatArray) -> None:
        super().set_bounds(columns, lower, upper)
        at = np.asarray(columns, dtype=np.int32)
        self._check(self._highs.changeColsBounds(len(at), at, lower, upper), "change bounds")

    def set_cost(self, columns: ColumnIndices, cost: FloatArray) -> None:
        super().set_cost(columns, cost)
        at = np.asarray(columns, dtype=np.int32)
        self._check(self._highs.changeColsCost(len(at), at, cost), "change the objective")

    def maximize(self, yes: bool) -> None:
        super().maximize(yes)
        sense = highspy.ObjSense.kMaximize if yes else highspy.ObjSense.kMinimize
        self._check(self._highs.changeObjectiveSense(sense), "change the direction of the objective")

    def restart(self) -> None:
        self._highs.clearSolver()

    def basis(self) -> Basis:
        basis = self._highs.getBasis()
        columns, rows = (np.fromiter(map(int, part), dtype=np.int8) for part in (basis.col_status, basis.row_status))
        return Basis(columns, rows)

    def correction(self, residual: FloatArray) -> FloatArray | None:
        _, basic = self._highs.getBasicVariables()
        status, solution = self._highs.getBasisSolve(np.asarray(residual, dtype=float))
        if status != highspy.HighsStatus.kOk:
            return None
        basic, solution = np.asarray(basic), np.asarray(solution, dtype=float)
        change = np.zeros(len(self._cost))
        change[basic[basic >= 0]] = solution[basic >= 0]
        return change

    def start_from(self, basis: Basis) -> None:
        start = highspy.HighsBasis()
        start.col_status = [_BASIS_STATUS[code] for code in basis.columns.tolist()]
        start.row_status = [_BASIS_STATUS[code] for code in basis.rows.tolist()]
        start.valid = True
        self._check(self._highs.setBasis(start), "start from a basis")

    def solve(
        self, time_limit: float | None = None, steps: int | None = None, gap: float = 0.0, nodes: int | None = None
    ) -> Solution:
        # The time limit of HiGHS is for all solves of a model together.
        limit = np.inf if time_limit is None else self._highs.getRunTime() + max(time_limit, 0.01)
        self._highs.setOptionValue("time_limit", limit)
        self._highs.setOptionValue("simplex_iteration_limit", _NO_LIMIT if steps is None else steps)
        self._highs.setOptionValue("mip_rel_gap", gap)
        self._highs.setOptionValue("mip_max_nodes", _NO_LIMIT if nodes is None else nodes)
        outcome, ray = self._run()
        if outcome is Outcome.FAILED or (outcome is Outcome.UNBOUNDED and ray is None):
            # Solve again from scratch by the other simplex method: the usual cause is a bad basis. With bounds of 1e7 and more,
            # primal simplex sometimes reports a bounded program as unbounded.
            self._highs.clearSolver()
            self._highs.setOptionValue(
                "simplex_strategy", _STRATEGY["dual" if self._settings.simplex == "primal" else "primal"]
            )
            outcome, ray = self._run()
            self._highs.setOptionValue("simplex_strategy", _STRATEGY[self._settings.simplex])
            if outcome is Outcome.FAILED and not self._is_mip and not self._settings.interior:
                # Costs of very different size: both simplex methods may fail where the interior-point method does not.
                self._highs.clearSolver()
                self._highs.setOptionValue("solver", "ipm")
                outcome, ray = self._run()
                self._highs.setOptionValue("solver", "choose")
            if outcome is Outcome.UNBOUNDED and ray is None:
                outcome = Outcome.FAILED
        solution, info = self._highs.getSolution(), self._highs.getInfo()
        return Solution(
            outcome=outcome,
            objective=float(info.objective_function_value),
            primal=np.array(solution.col_value, dtype=float),
            row_dual=np.array(solution.row_dual, dtype=float),
            bound=float(info.mip_dual_bound if self._is_mip else info.objective_function_value),
            ray=ray,
            iterations=int(info.simplex_iteration_count),
        )

    def _run(self) -> tuple[Outcome, FloatArray | None]:
        """Solve. The second item is a direction that proves an unbounded program unbounded, or None."""
        # Interrupts reach the main thread only, and HiGHS has one background task for all models.
        if self._is_mip and current_thread() is main_thread():
            self._run_in_background()
        else:
            self._highs.run()
        outcome = _STATUS.get(self._highs.getModelStatus(), Outcome.FAILED)
        if self._is_infeasible:
            outcome = Outcome.INFEASIBLE
        if outcome is not Outcome.UNBOUNDED:
            return outcome, None
        _, has_ray, direction = self._highs.getPrimalRay()
        if has_ray:
            ray = np.array(direction, dtype=float)
        else:  # without rows HiGHS returns none: the objective improves in the direction of its coefficients
            ray = -self._sense * np.sign(self._cost)
            ray[np.where(ray > 0, np.isfinite(self._upper), np.isfinite(self._lower))] = 0.0
        small = np.abs(ray) <= 1e-9 * np.abs(ray).max(initial=0.0)
        unbounded = np.where(ray > 0, np.isinf(self._upper), np.isinf(self._lower)) | small
        feasible = self._highs.getNumRow() == 0 or has_ray
        improves = self._sense * float(self._cost @ ray) < 0
        return outcome, ray if unbounded.all() and improves and feasible else None

    def _run_in_background(self) -> None:
        """Solve in such a way that Ctrl-C interrupts the solver."""
        self._highs.HandleUserInterrupt = True
        self._highs.startSolve()
        done = False
        try:
            while not done:
                done, _ = self._highs.wait(0.1)
        except KeyboardInterrupt:
            self._highs.cancelSolve()
            self._highs.wait()
            raise
        finally:
            self._highs.HandleUserInterrupt = False

    def _check(self, status: Any, what: str) -> None:
        if status == highspy.HighsStatus.kError:
            raise RuntimeError(f"HiGHS could not {what}.")
