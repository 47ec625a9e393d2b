"""Methods for tables of counts, which publish values close to the true ones."""
