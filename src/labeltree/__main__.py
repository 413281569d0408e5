"""``python -m labeltree`` is the command line."""

from labeltree.cli import main

main()
