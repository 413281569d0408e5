"""A server under load that is killed at random moments: nothing acknowledged may be lost.

    python -m tests.faults.killed [--kills 200] [--seed 0]

Clients learn examples with ids, and send again what was not acknowledged. After each kill all
acknowledged ids must be in the log, each once, and the model must have learned as many examples as
the log has. At the end the model must be, bit for bit, the one that the log alone makes.
"""

import argparse
import json
import pathlib
import random
import tempfile
import threading
import time

import numpy as np

from labeltree import load
from labeltree.eventlog import EventLog, read_records
from labeltree.serve.service import Service
from tests.faults.server import ServerProcess

CLIENTS = 4
WORDS = [f"word{i}" for i in range(300)]


class Client(threading.Thread):
    """Learns as fast as it can; remembers what was acknowledged."""

    def __init__(self, number, server, acknowledged, pending):
        super().__init__(daemon=True)
        self.number, self.server = number, server
        self.acknowledged, self.pending = acknowledged, pending
        self.stopping = False
        self.random = random.Random(f"{number} {time.time_ns()}")

    def run(self):
        while not self.stopping:
            if not self.pending:
                count = self.random.choice([1, 1, 1, 5])
                self.pending += [self.example() for _ in range(count)]
            try:
                status, _ = self.server.ask("/v1/learn", {"examples": list(self.pending)})
            except OSError:  # killed
                return
            if status == 200:
                self.acknowledged += [one["id"] for one in self.pending]
                self.pending.clear()

    def example(self):
        words = self.random.choices(WORDS, k=6)
        label = f"label {WORDS.index(words[0]) % 40}"
        return {"text": " ".join(words), "labels": [label], "id": f"{self.random.getrandbits(64)}"}


def check(folder, acknowledged, version):
    """Compare the log with what was acknowledged, and with what the model has learned."""
    log = folder / "m.labeltree.log"
    first = min(int(path.stem) for path in log.glob("*.log"))
    records = [json.loads(record) for record in read_records(log, first)]
    ids = [record["id"] for record in records if "id" in record]
    assert len(ids) == len(set(ids)), "an example is in the log twice"
    assert first == 0, "the check needs the whole log"
    lost = set(acknowledged) - set(ids)
    assert not lost, f"{len(lost)} acknowledged examples are lost"
    assert version == len(ids), f"{len(ids)} examples in the log, {version} learned"


def run(kills, seed, folder, tell=print):
    chance = random.Random(seed)
    acknowledged = []
    pending = [[] for _ in range(CLIENTS)]
    slowest = 0.0
    for number in range(kills + 1):
        with ServerProcess(folder, "--snapshot-every", "500") as server:
            slowest = max(slowest, server.seconds_to_start)
            _, model = server.ask("/v1/model")
            if number:
                check(folder, acknowledged, model["version"])
            if number == kills:
                break
            clients = [Client(i, server, acknowledged, pending[i]) for i in range(CLIENTS)]
            for client in clients:
                client.start()
            time.sleep(chance.uniform(0.05, 1.0))
            server.kill()
            for client in clients:
                client.stopping = True
                client.join()
        tell(f"kill {number + 1}: {len(acknowledged):,} acknowledged")
    recovered = Service.open(folder / "m.labeltree", folder / "m.labeltree.log")
    recovered.close()
    alone = folder / "alone"
    with EventLog(folder / "m.labeltree.log") as log, EventLog(alone) as copy:
        copy.append(list(log.read(0)))
    rebuilt = Service.open(None, alone)
    ours = load(folder / "m.labeltree").estimator_._learner.state()
    for name, array in rebuilt.model.clf.estimator_._learner.state().items():
        np.testing.assert_array_equal(array, ours[name], err_msg=name)
    rebuilt.close()
    return len(acknowledged), slowest


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        examples, slowest = run(args.kills, args.seed, pathlib.Path(folder))
    print(
        f"{args.kills} kills, {examples:,} examples acknowledged, none lost, none twice; "
        f"ready again after {slowest:.1f} s at most"
    )


if __name__ == "__main__":
    main()
