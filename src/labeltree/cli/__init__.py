"""The command line. `app` parses; each command is a function of its name in a file of its own."""

import sys


def main() -> None:
    """Run the command line; bad input gets one sentence and exit code 2."""
    from labeltree.cli.app import app

    try:
        app()
    except (ValueError, OSError, ImportError) as error:
        print(f"labeltree: {_sentence(error)}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print("labeltree: memory ran out; try fewer --bits", file=sys.stderr)
        sys.exit(2)


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)
