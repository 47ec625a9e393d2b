"""Published attacks on tables, run before a release and scored against the true values.

An attack sees a :class:`Public` view and returns a :class:`Finding`; only :func:`score` compares it with the :class:`Truth`.
"""

from discreet.attacks.cycles import Cycle, Cycles, cycles
from discreet.attacks.difference import Differenced, difference, join, merged
from discreet.attacks.exact import Contradiction, Counts, ExactIntervals, congruent, counts, exact
from discreet.attacks.finding import Finding, Score, Truth, score
from discreet.attacks.fit import Fitted, fit
from discreet.attacks.percent import PercentBound, Shrunk, bisect_p, bound_p, shrink
from discreet.attacks.public import Public
from discreet.attacks.recipe import Recipe
from discreet.attacks.replay import Replayed, replay
from discreet.attacks.run import ATTACKS, QUICK, Attack, Knowledge, LabReport, run
from discreet.attacks.sample import Posterior, sample
from discreet.attacks.symmetric import Recovered, recover
from discreet.methods.safe_intervals import draw_bounds, safe_intervals

__all__ = [
    "ATTACKS",
    "QUICK",
    "Attack",
    "Contradiction",
    "Counts",
    "Cycle",
    "Cycles",
    "Differenced",
    "ExactIntervals",
    "Finding",
    "Fitted",
    "Knowledge",
    "LabReport",
    "PercentBound",
    "Posterior",
    "Public",
    "Recipe",
    "Recovered",
    "Replayed",
    "Score",
    "Shrunk",
    "Truth",
    "bisect_p",
    "bound_p",
    "congruent",
    "counts",
    "cycles",
    "difference",
    "draw_bounds",
    "exact",
    "fit",
    "join",
    "merged",
    "recover",
    "replay",
    "run",
    "safe_intervals",
    "sample",
    "score",
    "shrink",
]
