"""Faults, in short; `tests/faults` tries them for as long as one likes."""

import resource
import signal

import pytest

from tests.faults import killed
from tests.faults.server import ServerProcess

EXAMPLE = {"text": "it purrs", "labels": ["cat"]}


def test_killed_at_random(tmp_path):
    examples, _ = killed.run(3, 0, tmp_path, tell=lambda _: None)
    assert examples > 10


def test_sigterm_saves_and_ends_well(tmp_path):
    with ServerProcess(tmp_path) as server:
        assert server.ask("/v1/learn", EXAMPLE)[0] == 200
        assert server.stop() == 0
    assert (tmp_path / "m.labeltree").exists()
    with ServerProcess(tmp_path, "--read-only") as server:
        status, answer = server.ask("/v1/predict", {"text": "it purrs"})
        assert (status, answer["labels"][0]["label"]) == (200, "cat")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit")
def test_no_room_for_the_log(tmp_path):
    with ServerProcess(tmp_path) as server:
        assert server.ask("/v1/learn", EXAMPLE)[0] == 200
        pid, kind = server.process.pid, resource.RLIMIT_FSIZE
        resource.prlimit(pid, kind, (600, resource.RLIM_INFINITY))
        status, answer = server.ask("/v1/learn", {**EXAMPLE, "text": "it purrs " * 100})
        assert (status, answer["type"]) == (503, "unavailable")
        assert server.ask("/v1/predict", {"text": "it purrs"})[0] == 200
        resource.prlimit(pid, kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert server.ask("/v1/learn", EXAMPLE)[1]["version"] == 2


def test_a_flipped_byte_stops_the_start_with_the_record_named(tmp_path):
    with ServerProcess(tmp_path) as server:
        for _ in range(3):
            server.ask("/v1/learn", EXAMPLE)
        server.kill()
    (path,) = (tmp_path / "m.labeltree.log").glob("0*.log")
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=r"record \d, at byte \d+, is damaged"):
        ServerProcess(tmp_path)
