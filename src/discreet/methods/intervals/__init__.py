"""Interval publication: every cell gets an interval, as wide as safety asks for and no wider."""
