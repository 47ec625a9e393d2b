"""A judge of releases that shares no code with the package: it reads files and solves its own programs."""
