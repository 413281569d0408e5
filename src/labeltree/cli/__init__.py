"""The command line. `app` parses; each command is a function of its name in a file of its own."""

from __future__ import annotations

import errno
import os
import sys
import threading
import warnings
from typing import Any

_SHOW = warnings.showwarning
_HINTS = {
    errno.ENOENT: "there is no such file; check the name",
    errno.EISDIR: "this is a directory; name the files in it",
    errno.EACCES: "permission denied; change the permissions, or name another",
    errno.ENOSPC: "the disk is full; free some space, or write elsewhere",
    errno.EFBIG: "the file would be larger than is allowed here; write elsewhere",
}


def main() -> None:
    """Run the command line; bad input gets one sentence and exit code 2."""
    arguments = sys.argv[1:]
    warnings.showwarning = _warn
    try:
        from labeltree.cli.app import build, help_text  # here, as Ctrl-C may come at any time

        code = 0
        if "--help" in arguments:
            print(help_text(arguments))
        else:
            code = build(arguments)(standalone_mode=False, prog_name="labeltree") or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # whoever reads has seen enough
        code = 141
    except (ValueError, OSError, ImportError) as error:
        code = _refuse(_sentence(error))
    except MemoryError:
        code = _refuse("memory ran out; try fewer --bits, or a machine with more")
    except Exception as error:
        if type(error).__name__ == "Abort":  # what typer makes of Ctrl-C
            _leave(130)
        if not hasattr(error, "format_message"):  # a wrong option or argument
            raise
        code = _refuse(_usage(error))
    _leave(code)


def _warn(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Show our own warnings as sentences, without the line of source that gave them."""
    if category.__module__.startswith("labeltree."):
        print(f"labeltree: warning: {message}", file=sys.stderr)
    else:
        _SHOW(message, category, *where, **more)


def _refuse(sentence: str) -> int:
    print(f"labeltree: {sentence}", file=sys.stderr)
    return 2


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        hint = _HINTS.get(error.errno or 0, error.strerror)
        return f"{error.filename}: {hint}" if error.filename else hint
    return str(error)


def _usage(error: Exception) -> str:
    """Return what the parser found wrong, and where help is."""
    text = " ".join(str(error.format_message()).split()).rstrip(".")  # type: ignore[attr-defined]
    command = getattr(getattr(error, "ctx", None), "command_path", "labeltree")
    return f"{text[0].lower()}{text[1:]}; see {command} --help"


def _leave(code: int) -> None:
    """Exit; not by Python's way if a reader may still sit in a silent pipe and hold its lock."""
    try:
        sys.stdout.flush()
    except OSError:  # a full disk was reported already, and must not be once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for thread in threading.enumerate():
        if thread.name == "labeltree-reader":
            thread.join(timeout=1)
            if thread.is_alive():
                sys.stderr.flush()
                os._exit(code)
    sys.exit(code)
