"""All attacks on the demo survey: protected, nothing is compromised; with a leak planted, something is."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Decision, attacks, suppress
from discreet.jobs.demo import write_demo
from discreet.jobs.job import make_problem, make_table, read_job
from discreet.methods import protect

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    job = read_job(write_demo(tmp_path_factory.mktemp("demo")))
    return protect(make_problem(job, make_table(job)), job.method(), seed=job.protect.seed)


def test_no_attack_discloses_a_cell_of_the_protected_survey(demo):
    report = attacks.run(demo)
    assert set(report.skipped) == {"shrink", "symmetric", "difference", "counts", "replay"}
    assert report.passed
    for one in report.scores:
        assert not (one.exact & one.sensitive).any()
        assert not (one.finding.certain and one.wrong.any())
    assert report["bound-p"].finding.parameters["p_at_most"] > 10


def test_a_published_p_compromises_cells_of_the_survey(demo):
    report = attacks.run(demo, ["exact", "shrink"], knows=attacks.Knowledge(p=10))
    assert not report["exact"].compromised.any()
    assert report["shrink"].compromised.any()
    assert not report["shrink"].wrong.any()


def test_a_removed_secondary_compromises_cells_of_the_survey(demo):
    """Any of them, each on its own, where they protect cells; those that protect respondents tell a reader no cell."""
    rng, pattern = np.random.default_rng(0), protect(demo.problem, "kelly", level="cells")
    for cell in rng.choice(np.flatnonzero(pattern.decision == Decision.SECONDARY), 5, replace=False):
        suppressed = pattern.suppressed.copy()
        suppressed[cell] = False
        report = attacks.run(suppress(pattern.problem, suppressed), ["exact"])
        assert report["exact"].exact.any() or report.compromised
