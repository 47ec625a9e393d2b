"""The same optimum by another solver of integer programs."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit import audit
from discreet.errors import RuleError
from discreet.methods import FirstModel, Optimal, protect
from discreet.testing import random_problem, random_table

pytest.importorskip("pyscipopt")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("method", "shape"), [(Optimal, (5, 5)), (Optimal, (3, 3, 3)), (FirstModel, (3, 3))])
def test_scip_finds_what_highs_finds(method, shape, seed):
    rng = np.random.default_rng([seed, 7])
    problem = random_problem(rng, random_table(rng, shape, zeros=0.0), must_publish=0.0)
    first, second = (protect(problem, method(solver=solver)) for solver in ("highs", "scip"))
    assert second.report.solver.startswith("SCIP")
    assert audit(problem, second).passed
    assert second.report.cost == pytest.approx(first.report.cost, rel=1e-6)
    assert second.report.status == first.report.status == "optimal"


def test_a_solver_that_does_not_exist_is_refused_at_once():
    with pytest.raises(RuleError, match=r"There is no solver 'abacus'\. Choose from highs, scip"):
        Optimal(solver="abacus")
