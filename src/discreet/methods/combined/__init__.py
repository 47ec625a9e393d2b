"""Several ways to treat cells in one table: published, suppressed, in intervals, rounded."""
