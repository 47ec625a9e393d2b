"""Published attacks on tables, run before a release and scored against the true values.

An attack sees a :class:`Public` view and returns a :class:`Finding`; only :func:`score` compares it with the :class:`Truth`.
"""

from discreet.attacks.cycles import Cycle, Cycles, cycles
from discreet.attacks.difference import difference, join, merged
from discreet.attacks.exact import Contradiction, counts, exact
from discreet.attacks.finding import Finding, Score, Truth, score
from discreet.attacks.fit import fit
from discreet.attacks.percent import PercentBound, bisect_p, bound_p, shrink
from discreet.attacks.public import Public
from discreet.attacks.recipe import Recipe
from discreet.attacks.replay import Replayed, replay
from discreet.attacks.run import ATTACKS, QUICK, AttackReport, Knowledge, run
from discreet.attacks.sample import sample
from discreet.attacks.symmetric import recover
from discreet.methods.safe_intervals import draw_bounds, safe_intervals
