"""The command line, one command or a few related ones per module."""
