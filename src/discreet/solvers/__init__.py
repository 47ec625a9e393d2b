"""Interface to solvers of linear and integer programs. Each solver has its own module; SOLVERS lists them by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Literal

from discreet.errors import RuleError
from discreet.solvers.base import Basis, Model, Outcome, Solution, SolverSettings, lagrangian_bound

# The class of each solver. It is in the module with the name of the solver, which is imported when it is used.
SOLVERS: Mapping[str, str] = {"highs": "HighsModel", "scip": "ScipModel"}
DEFAULT_SOLVER = "highs"


def new_model(
    simplex: Literal["primal", "dual"] = "dual",
    *,
    solver: str = DEFAULT_SOLVER,
    tolerance: float = 1e-9,
    seed: int = 0,
    interior: bool = False,
    solutions: int | None = None,
) -> Model:
    """An empty model of a solver.

    Primal ``simplex`` suits a changing objective (the basis stays feasible), dual simplex changing bounds and rows. With
    ``interior``, linear programs are solved by an interior-point method without crossover: faster for large programs if no
    vertex is needed. Integer programs stop after ``solutions`` improving solutions.
    """
    return _solver(solver)(SolverSettings(simplex, tolerance, seed, interior, solutions))


def solver_name(solver: str = DEFAULT_SOLVER) -> str:
    """The name and version of a solver, for reports."""
    return _solver(solver).name


def check_solver(name: str) -> None:
    """Raise an error if there is no such solver, or if it is not installed."""
    _solver(name)


def _solver(name: str) -> type[Model]:
    if name not in SOLVERS:
        raise RuleError(f"There is no solver {name!r}. Choose from {', '.join(SOLVERS)}.", [name])
    found: type[Model] = getattr(import_module(f"discreet.solvers.{name}"), SOLVERS[name])
    return found
