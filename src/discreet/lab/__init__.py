"""The intruder's lab: the published attacks on one's own table, before others run them.

An attack sees a :class:`Public` view and returns a :class:`Finding`; only :func:`score` lays the :class:`Truth` beside it.
"""

from discreet.lab.cycles import Cycle, Cycles, cycles
from discreet.lab.difference import Differenced, difference, join, merged
from discreet.lab.exact import Contradiction, ExactIntervals, congruent, exact
from discreet.lab.finding import Finding, Score, Truth, score
from discreet.lab.fit import Fitted, fit
from discreet.lab.intervals import draw_bounds, safe_intervals
from discreet.lab.percent import PercentBound, Shrunk, bisect_p, bound_p, shrink
from discreet.lab.public import Public
from discreet.lab.recipe import Recipe
from discreet.lab.replay import Replayed, replay
from discreet.lab.run import ATTACKS, QUICK, Attack, Knowledge, LabReport, run
from discreet.lab.sample import Posterior, sample
from discreet.lab.symmetric import Recovered, recover
from discreet.lab.whole import Counts, counts

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
