"""The confidentiality edit: records are changed before they are tabulated, so that every table made from them is protected."""

from discreet.edit.impute import blank_and_impute as blank_and_impute
from discreet.edit.report import EditReport as EditReport
from discreet.edit.swap import swap as swap
