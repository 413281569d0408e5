"""``labeltree serve``: a model that learns and answers over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from labeltree.serve.command import Address, open_service, serve
from labeltree.serve.newmodel import NewModel
from labeltree.serve.security import Tokens
from labeltree.treeview import counted


def serve_model(
    model: Path | None,
    *,
    host: str,
    port: int,
    token: str | None,
    learn_token: str | None,
    insecure: bool,
    read_only: bool,
    log: Path | None,
    snapshot_every: str,
    sync_ms: float,
    grace: float,
    algorithm: str,
    params: dict[str, Any],
    text: bool,
    text_options: dict[str, Any],
    label_sets: bool | None,
) -> None:
    """Serve a model, or a new one; print where it is.

    Parameters
    ----------
    model : Path, optional
        A model file; one that is not there is made.
    host, port, token, learn_token, insecure
        Where to listen, and whom to let in.
    read_only : bool
        Whether nothing is learned.
    log : Path, optional
        The folder of the log; by default beside the model.
    snapshot_every : str
        How often to save the model: 60s, 10m, or 5000, 100k examples.
    sync_ms : float
        How long a request to learn may wait for others, to be written with them.
    grace : float
        Seconds to finish in after SIGTERM.
    algorithm, params, text, text_options, label_sets
        What a new model is.
    """
    address = Address(host, port, Tokens(token, learn_token), insecure)
    listening = address.listen()
    service = open_service(
        model,
        log,
        NewModel(algorithm, params, text, text_options, label_sets),
        read_only=read_only,
        snapshot_every=snapshot_every,
        sync_seconds=sync_ms / 1000,
        tell=_tell,
    )
    facts = service.model.facts()
    row = '{"features": {"name": 1.0}}' if facts["names"] else '{"features": {"3": 1.0}}'
    if facts["text"]:
        row = '{"text": "it purrs"}'
    known = (
        f"{counted(facts['labels'], 'label')}, {counted(facts['examples'], 'example')} learned"
        if facts["examples"]
        else "a new model"
    )
    secret = ' -H "Authorization: Bearer $LABELTREE_TOKEN"' if token else ""

    def started(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        _tell(
            f"http://{shown}:{port} serves {known}{'' if service.log else ', and learns no more'}; "
            "try\n"
            f"  curl http://{shown}:{port}/v1/predict{secret} -d '{row}'"
        )

    serve(service, address, listening, grace=grace, started=started)


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
