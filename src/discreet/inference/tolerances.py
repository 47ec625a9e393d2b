"""The tolerances of the audit. Each is relative to a protection level, a value or a deviation."""

#: A protection level counts as reached if the shortfall is at most this share of it, because floats are not exact.
LEVEL_TOLERANCE = 1e-7

#: While a method makes a pattern, a deviation found by a solver counts for a cell only if all relations hold to within this
#: share of the deviation of the cell. Audits require a proof instead.
RESIDUAL_TOLERANCE = 1e-5

#: Rounding error of sums of floats: a published interval may exclude the true value by this share of the magnitude.
ROUNDING_ERROR = 1e-12

#: A verdict that would change if a reach changed by this share is decided again in exact arithmetic.
EXACT_DECISION_MARGIN = 1e-9
