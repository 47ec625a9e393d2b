"""Published attacks on tables, run before a release and scored against the true values.

An attack sees a :class:`Public` view and returns a :class:`Finding`; only :func:`score` compares it with the :class:`Truth`.
"""

from discreet.attacks.cycles import Cycle as Cycle
from discreet.attacks.cycles import Cycles as Cycles
from discreet.attacks.cycles import cycles as cycles
from discreet.attacks.difference import difference as difference
from discreet.attacks.difference import join as join
from discreet.attacks.difference import merged as merged
from discreet.attacks.exact import Contradiction as Contradiction
from discreet.attacks.exact import counts as counts
from discreet.attacks.exact import exact as exact
from discreet.attacks.finding import Finding as Finding
from discreet.attacks.finding import Score as Score
from discreet.attacks.finding import Truth as Truth
from discreet.attacks.finding import score as score
from discreet.attacks.fit import fit as fit
from discreet.attacks.percent import PercentBound as PercentBound
from discreet.attacks.percent import bisect_p as bisect_p
from discreet.attacks.percent import bound_p as bound_p
from discreet.attacks.percent import shrink as shrink
from discreet.attacks.public import Public as Public
from discreet.attacks.recipe import Recipe as Recipe
from discreet.attacks.replay import Replayed as Replayed
from discreet.attacks.replay import replay as replay
from discreet.attacks.run import ATTACKS as ATTACKS
from discreet.attacks.run import QUICK as QUICK
from discreet.attacks.run import AttackReport as AttackReport
from discreet.attacks.run import Knowledge as Knowledge
from discreet.attacks.run import run as run
from discreet.attacks.sample import sample as sample
from discreet.attacks.symmetric import recover as recover
from discreet.methods.safe_intervals import draw_bounds as draw_bounds
from discreet.methods.safe_intervals import safe_intervals as safe_intervals
