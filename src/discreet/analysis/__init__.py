"""Protected cross tables of records, with the signatures of pandas, and sessions that collect them for an output checker."""

from discreet.analysis.protected_table import ProtectedTable
from discreet.analysis.session import Session, session
from discreet.analysis.tables import crosstab, pivot_table
