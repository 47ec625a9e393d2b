"""Jobs: from records to a release, as described in a job file."""
