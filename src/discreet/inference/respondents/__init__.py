"""Aggregations of published cells that disclose contributions of respondents."""
