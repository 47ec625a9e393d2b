"""What published aggregations tell about single respondents."""
