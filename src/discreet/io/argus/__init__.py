"""The files of τ-ARGUS, one kind per module: metadata, records, code lists, recodes, a priori files and tables."""
