"""Other packages' audits on the same patterns. They live in an environment of their own; nothing of theirs is used here."""
