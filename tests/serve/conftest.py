"""A server on a port of its own, for tests that talk to it."""

import contextlib
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="needs labeltree[serve]")
from labeltree.serve.app import build
from labeltree.serve.command import Server, config_of
from labeltree.serve.newmodel import NewModel
from labeltree.serve.security import Tokens
from labeltree.serve.service import Service

NEW = NewModel("label-tree", {"random_state": 0}, True, {}, False)


@contextlib.contextmanager
def serving(service, tokens=None, local=False):
    guard, api = build(service, tokens or Tokens(), local=local)
    port = []
    listening = threading.Event()

    def started(number):
        port.append(number)
        listening.set()

    config = config_of(guard, grace=2, loop="auto")
    config.port, config.log_level = 0, "critical"
    server = Server(config, api, started)
    thread = threading.Thread(target=server.run)
    thread.start()
    assert listening.wait(20)
    try:
        yield SimpleNamespace(
            url=f"http://127.0.0.1:{port[0]}",
            service=service,
            api=api,
            stop=lambda: setattr(server, "should_exit", True),
        )
    finally:
        api.feed.close()
        server.should_exit = True
        thread.join(20)
        service.close()


@pytest.fixture
def serve(tmp_path):
    """Return a server of a new model, or of another service; all are stopped at the end."""
    with contextlib.ExitStack() as stack:

        def serve(service=None, tokens=None, new=NEW, local=False):
            if service is None:
                service = Service.open(tmp_path / "m.labeltree", tmp_path / "log", new)
            return stack.enter_context(serving(service, tokens, local))

        yield serve


@pytest.fixture(scope="module", params=[None, "secret"], ids=["open", "token"])
def served(request, tmp_path_factory):
    """A server with a model of texts of one label each."""
    folder = tmp_path_factory.mktemp("served")
    service = Service.open(folder / "m.labeltree", folder / "log", NEW)
    with serving(service, Tokens(request.param)) as server:
        server.token = request.param
        yield server
