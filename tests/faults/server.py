"""A server as a process of its own, to be killed, starved and started again."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

OPTIONS = ("--port", "0", "--hash-bits", "14", "--bits", "14", "--no-label-sets")


class ServerProcess:
    def __init__(self, folder, *options):
        self.folder = folder
        command = [sys.executable, "-m", "labeltree", "serve", str(folder / "m.labeltree")]
        self.process = subprocess.Popen(
            [*command, *OPTIONS, *options], stderr=subprocess.PIPE, text=True
        )
        self.said = []
        started = time.monotonic()
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+) ", line):
                self.port = int(found[1])
                break
        else:
            self._gone()
            raise RuntimeError(f"the server did not start: {''.join(self.said)}")
        self.seconds_to_start = time.monotonic() - started

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path, body=None, timeout=20):
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(self.url + path, data, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self._gone()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self._gone()

    def _gone(self):
        code = self.process.wait(60)
        self.said.append(self.process.stderr.read())
        self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            os.kill(self.process.pid, signal.SIGKILL)
        if not self.process.stderr.closed:
            self._gone()
