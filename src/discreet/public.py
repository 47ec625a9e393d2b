"""The public names of ``from discreet import …``."""

from discreet.analysis import ProtectedTable, Session, crosstab, pivot_table, session
from discreet.assess import assess
from discreet.attackers import Attacker
from discreet.audit import Audit, audit
from discreet.audit.respondents import audit_respondents
from discreet.data.cross_table import CrossTable, read_cross_table
from discreet.data.finished_table import read_table
from discreet.data.hierarchy import Hierarchy
from discreet.data.link import link
from discreet.data.reading import Reading
from discreet.data.record_keys import record_keys
from discreet.data.separate import separate
from discreet.data.spelling import Spelling
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import DiscreetError, InputError, NoSafePatternError, NotSafeError
from discreet.io import read_problem, write_problem, write_release, write_transmission
from discreet.methods import METHODS, protect
from discreet.presentation import Layout, Presentation, ReleaseMetadata, Sdmx
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection, SolveReport, suppress
from discreet.release import Release, publish
from discreet.rules import RULES, Dominance, Percent, PriorPosterior, Request, Threshold
