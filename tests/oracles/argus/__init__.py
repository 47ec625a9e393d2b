"""A judge of jobs of τ-ARGUS that shares no code with the package: it knows the records, and reads what a job writes."""
