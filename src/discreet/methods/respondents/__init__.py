"""Patterns that are safe for every respondent."""
