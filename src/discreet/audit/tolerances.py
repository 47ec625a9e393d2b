"""Every tolerance of the audit, in one place. All are relative to the protection level at stake."""

#: A level counts as reached when this share of it may be missing: float noise, not protection.
REACH = 1e-7

#: A table that a solver found counts for a cell only if the cell is known to within this share of its move.
RESIDUAL = 1e-5

#: What is smaller than this share of what it is part of is float noise: an interval may miss its value by so much.
NOISE = 1e-12

#: The numerical error of a cell in such a table is measured, and taken this many times. Verdicts that hinge on less are
#: decided again in exact arithmetic.
DOUBT = 10.0

#: Verdicts closer to the line than this share of the reach are decided again in exact arithmetic, whatever the error.
CLOSE = 1e-9
