"""Jobs: the whole way from records to release, as one file says."""
