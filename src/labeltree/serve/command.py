"""``labeltree serve``, apart from its options."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import re
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn

from labeltree import modelfile
from labeltree.runs.run import Every
from labeltree.serve.app import Api, build
from labeltree.serve.guard import Guard
from labeltree.serve.model import ServedModel
from labeltree.serve.newmodel import NewModel
from labeltree.serve.protocol import IDLE_SECONDS, Protocol
from labeltree.serve.security import Tokens, is_local
from labeltree.serve.service import Service


@dataclass(frozen=True)
class Address:
    """Where a server listens, and whom it lets in."""

    host: str = "127.0.0.1"
    port: int = 8080
    tokens: Tokens = field(default_factory=Tokens)
    insecure: bool = False

    def check(self) -> None:
        """Raise if others could come in without a token, or a token cannot be sent."""
        for token in (self.tokens.reading, self.tokens.learning):
            if token is not None and not re.fullmatch(r"[!-~]+", token):
                raise ValueError(
                    "a token is empty, or has spaces or other than ASCII characters, which "
                    "requests cannot carry; give another"
                )
        if not is_local(self.host) and not self.tokens.reading and not self.insecure:
            raise ValueError(
                f"--host is {self.host}, which others can reach, and anybody could read; give "
                "--token or LABELTREE_TOKEN, or say --insecure"
            )

    def listen(self) -> socket.socket:
        """Take the port, before anything else is done."""
        self.check()
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=2048)
        except OSError as error:
            raise ValueError(
                f"{self.host}, port {self.port}, cannot be listened on: {error.strerror}; give "
                "another --port or --host"
            ) from error


def open_service(
    model: Path | None,
    log: Path | None,
    new: NewModel | None,
    *,
    read_only: bool = False,
    snapshot_every: str = "10m",
    sync_seconds: float = 0.005,
    tell: Callable[[str], None] = lambda _: None,
) -> Service:
    """Load what is to be served, and recover what was learned since it was saved."""
    if model is not None and not model.parent.is_dir():
        raise NotADirectoryError(f"{model.parent}: there is no such folder for the model")
    exists = model is not None and model.exists()
    compiled = exists and model is not None and _is_compiled(model)
    if read_only or compiled:
        if model is None or not exists:
            raise ValueError("a server that only reads needs a model; give the file of one")
        return Service(ServedModel.load(model))
    if log is None:
        if model is None:
            raise ValueError("give a model file, or --log and what to make a model from")
        target = model.resolve()  # one log, whatever link the model is given by
        log = target.with_name(target.name + ".log")
    return Service.open(
        model,
        log,
        new,
        tell=tell,
        every=Every.parse(snapshot_every, "--snapshot-every"),
        sync_seconds=sync_seconds,
    )


def _is_compiled(model: Path) -> bool:
    try:
        return bool(modelfile.read_header(model).get("compiled"))
    except modelfile.ModelFileError:  # a snapshot may take its place
        return False


class Server(uvicorn.Server):
    """Tells its port once it listens, and lets watchers go before it stops."""

    def __init__(self, config: uvicorn.Config, api: Api, started: Callable[[int], None]) -> None:
        super().__init__(config)
        self._api, self._started = api, started

    async def startup(self, sockets: Any = None) -> None:
        """Listen."""
        await super().startup(sockets)
        if self.started and self.servers:
            self._started(self.servers[0].sockets[0].getsockname()[1])

    async def on_tick(self, counter: int) -> bool:
        """Look after connections, ten times a second."""
        now = asyncio.get_running_loop().time()
        for connection in list(self.server_state.connections):
            if isinstance(connection, Protocol):
                connection.check(now)
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, as SIGTERM or Ctrl-C asks for."""
        self._api.ready = False
        self._api.feed.close()
        super().handle_exit(sig, frame)


def config_of(guard: Guard, *, grace: float = 30.0, loop: str = "uvloop") -> uvicorn.Config:
    """Return how uvicorn is to run an application."""
    return uvicorn.Config(
        guard,
        http=cast(Any, functools.partial(Protocol, guard)),
        loop=loop,
        ws="none",
        proxy_headers=False,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=max(1, round(grace / 2)),
    )


def serve(
    service: Service,
    address: Address,
    listening: socket.socket | None = None,
    *,
    grace: float = 30.0,
    started: Callable[[int], None] = lambda _: None,
) -> None:
    """Answer until SIGTERM or Ctrl-C; then finish what was begun, and write a snapshot."""
    listening = listening or address.listen()
    with contextlib.suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    sys.setswitchinterval(0.0005)  # threads that answer must not wait 5 ms for their turn
    local = is_local(address.host) and not address.tokens.any
    guard, api = build(service, address.tokens, local=local)
    gc.freeze()  # what is there by now stays
    server = Server(config_of(guard, grace=grace), api, started)
    # uvicorn raises the signal that has ended it once more, which must not end this.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run([listening])
    finally:
        signal.signal(signal.SIGTERM, before)
    closing = threading.Thread(target=service.close, daemon=True)
    closing.start()
    closing.join(grace)
    if closing.is_alive():
        sys.exit(f"the last snapshot took longer than {grace:g} s; nothing learned is lost")
