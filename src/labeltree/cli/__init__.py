"""The command line: one command per file; each parses, then calls a function of its name."""
