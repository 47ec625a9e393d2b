"""Methods for tables of counts: other values are published, near the true ones."""
