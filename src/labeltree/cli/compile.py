"""``labeltree compile``: a smaller model that only predicts."""

from __future__ import annotations

from pathlib import Path

from labeltree import modelfile
from labeltree.cli.checkpoint import require_writable
from labeltree.estimators import load


def compile_model(model: Path, output: Path, *, drop: float = 0.0) -> str:
    """Write the form of a model that is for prediction only.

    Parameters
    ----------
    model : Path
        A model file.
    output : Path
        Where to write. What `labeltree train` noted about reading and labels is kept; where the
        run stood is not, as a compiled model does not learn on.
    drop : float
        Weights of at most this magnitude count as zero.

    Returns
    -------
    str
        The sizes of both files, in a sentence.
    """
    require_writable(output)
    clf = load(model)
    notes = {k: v for k, v in modelfile.read_header(model)["notes"].items() if k != "run"}
    before = model.stat().st_size
    clf.compile(drop=drop).save(output, notes=notes)
    after = output.stat().st_size
    return (
        f"{output}: {after / 1e6:,.1f} MB, {before / max(after, 1):.1f} times smaller than "
        f"{model} ({before / 1e6:,.1f} MB)\n"
    )
