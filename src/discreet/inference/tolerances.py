"""Every tolerance of the audit, in one place. All are relative to the protection level at stake."""

#: A level counts as reached when this share of it may be missing: float noise, not protection.
LEVEL_TOLERANCE = 1e-7

#: While a pattern is made, a table that a solver found counts for a cell only if relations hold to within this share of its
#: move. Audits ask for proof.
RESIDUAL_TOLERANCE = 1e-5

#: What is smaller than this share of what it is part of is float noise: an interval may miss its value by so much.
ROUNDING_ERROR = 1e-12

#: Verdicts closer to the line than this share of the reach are decided again in exact arithmetic, whatever the error.
EXACT_DECISION_MARGIN = 1e-9
