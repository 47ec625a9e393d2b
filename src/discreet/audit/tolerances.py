"""Every tolerance of the audit, in one place. All are relative to the protection level at stake."""

#: A level counts as reached when this share of it may be missing: float noise, not protection.
REACH = 1e-7

#: A congruent table proves a cell safe only if its relations and bounds hold to within this share of the level.
RESIDUAL = 1e-5

#: Cells whose interval is narrower than this share of their magnitude are certain.
CERTAIN = 1e-12

#: A table whose relations hold up to some residual may be off by this many times as much in a single cell. Verdicts that
#: hinge on less are decided again in exact arithmetic.
DOUBT = 100.0

#: Verdicts closer to the line than this share of the reach are decided again in exact arithmetic, whatever the residual.
CLOSE = 1e-9
