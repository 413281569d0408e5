"""A worker, or a client, that is lost costs time, not the result."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from labeltree.dask import DaskLabelTreeClassifier
from tests.dask.cluster import two_workers
from tests.dask.test_fit import LAZY, TRAIN, same, y

CLF = {"random_state": 0, "passes": 4}
OTHER_CLIENT = """
import sys
import distributed
import dask.array as da
from labeltree.dask import DaskLabelTreeClassifier
from labeltree.datasets import make_multiclass

X, y = make_multiclass(1200, 30, n_features=64, dense=True)
with distributed.Client(sys.argv[1]) as client:
    DaskLabelTreeClassifier(passes=1000, client=client).fit(da.from_array(X, chunks=(600, -1)), y)
"""


def wait_for(condition):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.002)
    raise TimeoutError


def tasks(cluster):
    return [str(key) for key in list(cluster.scheduler.tasks) if "labeltree" in str(key)]


@pytest.mark.parametrize("stage", ["learn-pass-3", "merge-pass-3"])
def test_a_worker_that_is_killed_changes_nothing(stage):
    killed = threading.Event()

    def kill(cluster, pids):
        def begun():
            known = [t for key, t in list(cluster.scheduler.tasks.items()) if stage in str(key)]
            return any(task.state in ("processing", "memory") for task in known)

        wait_for(begun)
        os.kill(pids[0], signal.SIGKILL)
        killed.set()

    with two_workers() as (cluster, client):
        expected = DaskLabelTreeClassifier(**CLF, client=client).fit(LAZY, y[TRAIN]).to_local()
        client.wait_for_workers(2)
        pids = list(client.run(os.getpid).values())
        killer = threading.Thread(target=kill, args=(cluster, pids))
        killer.start()
        found = DaskLabelTreeClassifier(**CLF, client=client).fit(LAZY, y[TRAIN]).to_local()
        killer.join()
    assert killed.is_set()
    same(found, expected)
    assert np.array_equal(found.classes_, expected.classes_)


def test_a_client_that_goes_away_leaves_the_cluster_to_others():
    with two_workers() as (cluster, client):
        command = [sys.executable, "-c", OTHER_CLIENT, cluster.scheduler_address]
        with subprocess.Popen(command) as other:
            wait_for(lambda: any("learn-pass" in key for key in tasks(cluster)))
            other.kill()
        wait_for(lambda: not tasks(cluster))
        clf = DaskLabelTreeClassifier(**CLF, client=client).fit(LAZY, y[TRAIN])
        assert clf.to_local().n_labels_ == 30
