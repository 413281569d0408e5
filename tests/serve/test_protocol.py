"""Connections: whatever a client does with them, each request has its own answer, in its turn."""

import contextlib
import json
import socket
import threading
import time

import pytest

from labeltree.serve import protocol

ANIMALS = [("it purrs", "cat"), ("it barks", "dog"), ("it sings", "bird")] * 4


def request(text, path="/v1/predict", version="1.1", **headers):
    """Return the bytes of a request; its body is JSON."""
    body = json.dumps(text).encode()
    lines = {"Host": "127.0.0.1", "Content-Length": len(body), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"POST {path} HTTP/{version}\r\n{head}\r\n".encode() + body


def answer(file):
    """Read an answer: its status, headers and JSON; None at the end."""
    line = file.readline()
    if not line:
        return None
    headers = {}
    while (one := file.readline()) != b"\r\n":
        name, _, value = one.decode().partition(":")
        headers[name.lower()] = value.strip()
    body = file.read(int(headers["content-length"]))
    return int(line.split()[1]), headers, json.loads(body)


@pytest.fixture
def server(serve):
    server = serve()
    for text, label in ANIMALS:
        with connected(server) as (connection, file):
            connection.sendall(request({"text": text, "labels": [label]}, "/v1/learn"))
            assert answer(file)[0] == 200
    return server


class connected:  # noqa: N801
    def __init__(self, server):
        self._port = int(server.url.rpartition(":")[2])

    def __enter__(self):
        self._connection = socket.create_connection(("127.0.0.1", self._port), timeout=20)
        self._file = self._connection.makefile("rb")
        return self._connection, self._file

    def __exit__(self, *_):
        self._file.close()
        self._connection.close()


def best(found):
    status, _, body = found
    assert status == 200
    return body["labels"][0]["label"]


PURRS, BARKS = {"text": "it purrs"}, {"text": "it barks"}


def test_one_request_after_the_other(server):
    with connected(server) as (connection, file):
        for text, label in ANIMALS:
            connection.sendall(request({"text": text}))
            found = answer(file)
            assert best(found) == label
            assert found[1]["content-type"] == "application/json"
            assert "connection" not in found[1]


def test_requests_in_pieces(server):
    with connected(server) as (connection, file):
        for byte in request(PURRS):
            connection.sendall(bytes([byte]))
        assert best(answer(file)) == "cat"
        connection.sendall(
            b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            b'8\r\n{"text":\r\nb\r\n"it barks"}\r\n0\r\n\r\n'
        )
        assert best(answer(file)) == "dog"


def test_requests_that_do_not_wait_are_answered_in_their_order(server, monkeypatch):
    predict, first = server.service.model.predict, threading.Event()

    def slow(examples, k):
        if not first.is_set():
            first.set()
            time.sleep(0.2)
        return predict(examples, k)

    monkeypatch.setattr(server.service.model, "predict", slow)
    with connected(server) as (connection, file):
        connection.sendall(b"".join(request({"text": text}) for text, _ in ANIMALS * 3))
        assert [best(answer(file)) for _ in ANIMALS * 3] == [label for _, label in ANIMALS * 3]


def test_something_else_behind_a_request_that_was_not_waited_for_is_asked_again(server):
    other = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connected(server) as (connection, file):
        connection.sendall(request(PURRS) + other + request(BARKS))
        found = answer(file)
        assert best(found) == "cat"
        assert found[1]["connection"] == "close"
        assert answer(file) is None
    with connected(server) as (connection, file):
        connection.sendall(other + request(BARKS))
        assert answer(file)[2] == {"status": "alive"}
        assert best(answer(file)) == "dog"


@pytest.mark.parametrize("headers", [{"Connection": "close"}, {"version": "1.0"}])
def test_connections_that_end_with_their_answer(server, headers):
    with connected(server) as (connection, file):
        connection.sendall(request(PURRS, **headers))
        assert best(answer(file)) == "cat"
        assert answer(file) is None


def test_a_client_that_wants_to_be_told_to_go_on(server):
    whole = request(PURRS, Expect="100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    with connected(server) as (connection, file):
        connection.sendall(head + b"\r\n\r\n")
        assert file.readline().startswith(b"HTTP/1.1 100")
        assert file.readline() == b"\r\n"
        connection.sendall(body)
        assert best(answer(file)) == "cat"


def test_a_body_that_does_not_come(server, monkeypatch):
    monkeypatch.setattr(protocol, "BODY_SECONDS", 0.2)
    for path in ("/v1/predict", "/v1/explain"):
        with connected(server) as (connection, file):
            connection.sendall(request(PURRS, path)[:-3])
            found = answer(file)
            assert (found[0], found[2]["type"]) == (408, "too_slow")
            assert answer(file) is None


def test_a_body_whose_length_is_not_told_is_bounded(server, monkeypatch):
    monkeypatch.setattr(protocol, "MOST_BYTES", 1000)
    with connected(server) as (connection, file):
        connection.sendall(
            b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"64\r\n"
            + b" " * 100
            + b"\r\n"
        )
        with contextlib.suppress(OSError):  # it may be refused before all of it is sent
            for _ in range(20):
                connection.sendall(b"64\r\n" + b" " * 100 + b"\r\n")
        assert answer(file)[0] == 413


def test_a_body_in_many_pieces_takes_no_longer_than_its_length(server):
    body = json.dumps({"text": "it barks " * 2000}).encode()
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    with connected(server) as (connection, file):
        started = time.monotonic()
        connection.sendall(
            b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            + pieces
            + b"0\r\n\r\n"
        )
        assert best(answer(file)) == "dog"
        assert time.monotonic() - started < 3


def test_a_client_that_does_not_read_is_answered_no_more(server, monkeypatch):
    asked = []
    predict = server.service.model.predict

    def long(examples, k):
        asked.append(len(examples))
        answers = predict(examples, k)
        return [[("x" * 2_000_000, 1.0)] for _ in answers]

    monkeypatch.setattr(server.service.model, "predict", long)
    with connected(server) as (connection, _):
        connection.sendall(b"".join(request(PURRS) for _ in range(200)))
        time.sleep(1)
        assert 0 < sum(asked) < 20


def test_what_is_no_http_behind_a_request_is_told_after_its_answer(server):
    with connected(server) as (connection, file):
        connection.sendall(request(PURRS) + b"\0garbage\r\n\r\n")
        assert best(answer(file)) == "cat"
        assert answer(file)[0] == 400
        assert answer(file) is None


def test_a_client_that_has_said_all_is_answered(server):
    with connected(server) as (connection, file):
        connection.sendall(request(PURRS))
        connection.shutdown(socket.SHUT_WR)
        assert best(answer(file)) == "cat"
        assert answer(file) is None


def test_a_header_without_an_end(server):
    with connected(server) as (connection, _):
        connection.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nA: ")
        connection.settimeout(5)
        with contextlib.suppress(OSError):  # closed, and told by a reset
            for _ in range(20):
                connection.sendall(b"a" * 10_000)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_line_ends_alone_keep_no_connection(server, monkeypatch):
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.3)
    with connected(server) as (connection, file):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert answer(file)[0] == 200
        connection.sendall(b"\r\n")
        assert answer(file) is None


def test_connections_that_say_no_more_are_closed(server, monkeypatch):
    monkeypatch.setattr(protocol, "IDLE_SECONDS", 0.2)
    with connected(server) as (connection, file):
        connection.sendall(request(PURRS))
        assert best(answer(file)) == "cat"
        assert answer(file) is None


def test_what_was_asked_is_answered_before_the_end(serve):
    server = serve()
    held = threading.Event()
    stuck = server.service._between(held.wait)
    whole = request(PURRS)
    with (
        connected(server) as (connection, file),
        connected(server) as (idle, rest),
        connected(server) as (begun, third),
    ):
        begun.sendall(whole[:-3])
        idle.sendall(request(PURRS))
        assert answer(rest)[0] == 200
        connection.sendall(request({"text": "it purrs", "labels": ["cat"]}, "/v1/learn"))
        while not server.service.waiting:
            time.sleep(0.01)
        server.stop()
        assert answer(rest) is None
        held.set()
        found = answer(file)
        assert (found[0], found[2]["learned"]) == (200, 1)
        assert answer(file) is None
        begun.sendall(whole[-3:])
        assert answer(third)[2]["labels"] is not None
        assert answer(third) is None
    assert stuck.result(10)


def test_errors_are_told_and_the_connection_goes_on(server, monkeypatch):
    with connected(server) as (connection, file):
        connection.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n{")
        assert answer(file)[0] == 400
        monkeypatch.setattr(server.service.model, "predict", lambda *_: 1 / 0)
        connection.sendall(request(PURRS))
        assert answer(file)[0] == 500
        monkeypatch.undo()
        connection.sendall(request(PURRS))
        assert best(answer(file)) == "cat"
