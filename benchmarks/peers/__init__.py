"""Other packages on the same tables: audits and suppression. They have an environment of their own; nothing in it is ours."""
