"""``labeltree compile``: a smaller model that only predicts."""

from __future__ import annotations

from pathlib import Path

from labeltree.estimators import load
from labeltree.estimators.persistence import require_share
from labeltree.runs.notes import notes_of
from labeltree.runs.outputs import require_model_output


def compile_model(
    model: Path, output: Path, *, keep: float = 0.999, overwrite: bool = False
) -> str:
    """Write the form of a model that is for prediction only.

    Parameters
    ----------
    model : Path
        A model file.
    output : Path
        Where to write. What `labeltree train` noted about reading and labels is kept; where the
        run stood is not, as a compiled model does not learn on.
    keep : float
        The share to keep of all that weights matter.
    overwrite : bool
        Whether `output` may be a file that exists and is no model. It is never the model itself,
        which would not learn on.

    Returns
    -------
    str
        The sizes of both files, in a sentence.
    """
    require_share(keep)
    require_model_output(output, [model], overwrite=overwrite)
    clf = load(model)
    notes = {k: v for k, v in notes_of(model).items() if k != "run"}
    before = model.stat().st_size
    clf.compile(keep=keep).save(output, notes=notes)
    after = output.stat().st_size
    compared = f"{before / after:.1f} times smaller" if after < before else "no smaller"
    return f"{output}: {after / 1e6:,.1f} MB, {compared} than {model} ({before / 1e6:,.1f} MB)\n"
