"""The seam to linear and integer programming solvers. One solver a file, one line here."""

from discreet.solvers.base import Basis, Model, Outcome, Solution
from discreet.solvers.bound import lagrangian
from discreet.solvers.highs import HighsModel

SOLVERS: dict[str, type[Model]] = {"highs": HighsModel}

__all__ = ["SOLVERS", "Basis", "HighsModel", "Model", "Outcome", "Solution", "lagrangian"]
