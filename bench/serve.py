"""Requests a second of `labeltree serve`, and how long they take, from clients on this machine.

    python -m bench.serve [--seconds 10] [--connections 64] [--labels 20000] [--peer]
    python -m bench.serve --soak 1000000

A model of texts of 20 words learns three examples a label first. Then, each for some seconds:
predictions alone; requests to learn, one example each, beside 500 predictions a second; and
10,000 examples in one request, beside the library's own rate. `--peer` measures predictions of a
plain FastAPI application with scikit-learn's SGDClassifier on HashingVectorizer, too, which must
be installed (fastapi). `--soak` sends so many requests instead, one in ten of them to learn, and
prints the server's memory along the way.
"""

import argparse
import asyncio
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import uvloop

from labeltree import LabelTreeClassifier, TextClassifier

WORDS = 20
PEER = """
import sys, numpy as np, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
class Row(BaseModel):
    text: str
    k: int = 5
rng = np.random.default_rng(0)
labels = int(sys.argv[2])
vectorizer = HashingVectorizer(n_features=2**12)
texts = [f"word{i} word{i + 1}" for i in range(labels)]
clf = SGDClassifier(loss="log_loss", max_iter=1, tol=None)
clf.fit(vectorizer.transform(texts), np.arange(labels))
app = FastAPI()
@app.post("/v1/predict")
def predict(row: Row):
    scores = clf.decision_function(vectorizer.transform([row.text]))[0]
    best = np.argpartition(-scores, row.k)[: row.k]
    return {"labels": [{"label": int(i), "score": float(scores[i])} for i in best]}
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
"""


class Texts:
    """Texts of words of which some are typical of their label."""

    def __init__(self, labels, seed=0):
        self._random = np.random.default_rng(seed)
        self._labels = labels

    def draw(self, label=None):
        """Return a text and its label, which may be given."""
        label = int(self._random.integers(self._labels)) if label is None else label
        own = self._random.integers(0, 8, WORDS // 2) + 8 * label
        other = self._random.integers(0, 50_000, WORDS - WORDS // 2)
        words = [f"w{i}" for i in own] + [f"common{i}" for i in other]
        return " ".join(words), f"label {label}"


async def request(reader, writer, path, body):
    """Send a request on a connection that stays open; return the status."""
    writer.write(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split()[1])


async def load(port, path, bodies, seconds, connections, rate=None):
    """Return the seconds of each request that was answered well, and how many were not."""
    took, failed = [], 0
    end = time.perf_counter() + seconds
    turn = itertools.cycle(bodies)

    async def client(number):
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        due = time.perf_counter() + (number / rate if rate else 0)
        while (now := time.perf_counter()) < end:
            if rate:
                await asyncio.sleep(max(0.0, due - now))
                due += connections / rate
            body = next(turn)
            start = time.perf_counter()
            try:
                good = await request(reader, writer, path, body) == 200
            except (OSError, asyncio.IncompleteReadError):  # the connection was closed
                good = False
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if good:
                took.append(time.perf_counter() - start)
            failed += not good
        writer.close()

    await asyncio.gather(*(client(i) for i in range(connections)))
    return np.array(took), failed


def row(name, took, seconds, failed):
    p50, p99 = 1000 * np.quantile(took, [0.5, 0.99])
    print(f"| {name} | {len(took) / seconds:,.0f} | {p50:.1f} | {p99:.1f} | {failed} |", flush=True)


def bodies(texts, *, labelled, **more):
    found = []
    for _ in range(20_000):
        text, label = texts.draw()
        known = {"text": text, **({"labels": [label]} if labelled else {}), **more}
        found.append(json.dumps(known).encode())
    return found


def started(command, url):
    import urllib.error
    import urllib.request

    process = subprocess.Popen(command)
    start = time.perf_counter()
    while True:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except urllib.error.HTTPError:
            break
        except OSError:
            if process.poll() is not None or time.perf_counter() - start > 600:
                raise
            time.sleep(0.02)
            continue
        break
    return process, time.perf_counter() - start


def many(port, texts, clf):
    """Compare 10,000 examples in one request with the library's own rate."""
    drawn = [texts.draw() for _ in range(10_000)]
    body = json.dumps({"examples": [{"text": t, "labels": [y]} for t, y in drawn]}).encode()

    async def once():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        start = time.perf_counter()
        status = await request(reader, writer, "/v1/learn", body)
        writer.close()
        assert status == 200, status
        return time.perf_counter() - start

    served = uvloop.run(once())
    start = time.perf_counter()
    clf.partial_fit(*map(list, zip(*drawn, strict=True)))
    own = time.perf_counter() - start
    print(
        f"\n10,000 examples in one request: {10_000 / served:,.0f} a second, the library alone "
        f"{10_000 / own:,.0f} ({own / served:.0%})"
    )


def soak(server, port, asking, learning, requests, connections):
    """Send requests; print the memory of the server after each tenth of them."""
    print("| requests | memory, MB |\n|---|---|")
    sent = 0

    async def part(count):
        turns = [iter(range(count * 9 // 10)), iter(range(count // 10))]

        async def client(turn, path, bodies):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for i in turn:
                assert await request(reader, writer, path, bodies[i % len(bodies)]) == 200
            writer.close()

        learners = connections // 4
        await asyncio.gather(
            *(client(turns[0], "/v1/predict", asking) for _ in range(connections - learners)),
            *(client(turns[1], "/v1/learn", learning) for _ in range(learners)),
        )

    while sent < requests:
        uvloop.run(part(requests // 10))
        sent += requests // 10
        status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
        kilobytes = int(status.partition("VmRSS:")[2].split()[0])
        print(f"| {sent:,} | {kilobytes / 1024:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--labels", type=int, default=20_000)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--sync-ms", type=float, default=5.0)
    parser.add_argument("--peer", action="store_true")
    # Each of its predictions copies all coefficients: 20,000 labels took more than 24 GB.
    parser.add_argument("--peer-labels", type=int, default=2000)
    parser.add_argument("--soak", type=int, default=0)
    args = parser.parse_args()
    texts = Texts(args.labels)
    drawn = [texts.draw(label) for label in np.tile(np.arange(args.labels), 3).tolist()]
    clf = TextClassifier(LabelTreeClassifier(random_state=0))
    clf.partial_fit(*map(list, zip(*drawn, strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "m.labeltree"
        clf.save(model)
        command = [sys.executable, "-m", "labeltree", "serve", str(model)]
        server, seconds = started(
            [*command, "--port", str(args.port), "--sync-ms", str(args.sync_ms)],
            f"http://127.0.0.1:{args.port}/readyz",
        )
        size = model.stat().st_size / 2**20
        print(f"ready after {seconds:.1f} s, model of {size:.0f} MB\n")
        asking, learning = bodies(texts, labelled=False, k=5), bodies(texts, labelled=True)
        if args.soak:
            try:
                soak(server, args.port, asking, learning, args.soak, args.connections)
            finally:
                server.terminate()
                server.wait()
            return
        print("| requests | a second | median, ms | 99 %, ms | failed |\n|---|---|---|---|---|")
        try:
            measured = load(args.port, "/v1/predict", asking, args.seconds, args.connections)
            took, failed = uvloop.run(measured)
            row("predict, as many as it can", took, args.seconds, failed)
            measured = load(
                args.port, "/v1/predict", asking, args.seconds, args.connections, rate=2000
            )
            took, failed = uvloop.run(measured)
            row("predict, 2,000 a second", took, args.seconds, failed)

            async def both(rate):
                return await asyncio.gather(
                    load(args.port, "/v1/learn", learning, args.seconds, args.connections, rate),
                    load(args.port, "/v1/predict", asking, args.seconds, 16, rate=500),
                )

            for name, rate in (("as many as it can", None), ("1,000 a second", 1000)):
                learned, beside = uvloop.run(both(rate))
                row(f"learn, {name}, beside", learned[0], args.seconds, learned[1])
                row("500 predictions a second", beside[0], args.seconds, beside[1])
            many(args.port, texts, clf)
        finally:
            server.terminate()
            server.wait()
        if args.peer:
            script = pathlib.Path(folder) / "peer.py"
            script.write_text(PEER)
            port = args.port + 1
            command = [sys.executable, str(script), str(port), str(args.peer_labels)]
            server, _ = started(command, f"http://127.0.0.1:{port}/")
            try:
                measured = load(port, "/v1/predict", asking, args.seconds, args.connections)
                took, failed = uvloop.run(measured)
                name = f"FastAPI with SGDClassifier, {args.peer_labels:,} labels: predict"
                row(name, took, args.seconds, failed)
            finally:
                server.terminate()
                server.wait()


if __name__ == "__main__":
    main()
