"""Several ways to treat cells in one table: published, hidden, in intervals, rounded."""
