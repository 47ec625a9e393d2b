"""Several treatments in one table: cells are published, suppressed, published as intervals or rounded."""
