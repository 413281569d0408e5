"""A worker that is lost costs time, not the result."""

import os
import signal
import threading
import time

import numpy as np

from labeltree.dask import DaskLabelTreeClassifier
from tests.dask.cluster import two_workers
from tests.dask.test_fit import LAZY, TRAIN, same, y

CLF = {"random_state": 0, "passes": 4}


def kill_a_learner(cluster, client, killed):
    """Kill a worker as soon as a second pass has begun."""
    pids = client.run(os.getpid)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if any("learn-pass-2" in str(key) for key in list(cluster.scheduler.tasks)):
            os.kill(next(iter(pids.values())), signal.SIGKILL)
            killed.set()
            return
        time.sleep(0.002)


def test_a_worker_that_is_killed_while_it_learns_changes_nothing():
    killed = threading.Event()
    with two_workers() as (cluster, client):
        expected = DaskLabelTreeClassifier(**CLF, client=client).fit(LAZY, y[TRAIN]).to_local()
        client.wait_for_workers(2)
        killer = threading.Thread(target=kill_a_learner, args=(cluster, client, killed))
        killer.start()
        found = DaskLabelTreeClassifier(**CLF, client=client).fit(LAZY, y[TRAIN]).to_local()
        killer.join()
    assert killed.is_set()
    same(found, expected)
    assert np.array_equal(found.classes_, expected.classes_)
