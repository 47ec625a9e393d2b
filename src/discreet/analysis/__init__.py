"""Protected cross tables of records, with the signatures of pandas, and sessions that collect them for an output checker."""

from discreet.analysis.protected_table import ProtectedTable as ProtectedTable
from discreet.analysis.session import Session as Session
from discreet.analysis.session import session as session
from discreet.analysis.tables import crosstab as crosstab
from discreet.analysis.tables import pivot_table as pivot_table
