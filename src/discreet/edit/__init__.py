"""The confidentiality edit: records are changed before tabulation, so that all tables of these records are protected."""

from discreet.edit.impute import blank_and_impute
from discreet.edit.report import EditReport
from discreet.edit.swap import swap
