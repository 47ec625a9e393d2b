"""Measurements: instances × phases, written as CSV with machine, commit and seed. Run `python -m benchmarks --help`."""
