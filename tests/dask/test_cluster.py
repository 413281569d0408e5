"""The workers of a cluster, as a client tells of them."""

import os

import dask
import distributed
import pytest

from labeltree.dask import DaskClassifier
from labeltree.dask.cluster import Cluster, LostWorkersError


def test_workers_are_found_while_the_client_asks_for_news():
    often = {"distributed.client.scheduler-info-interval": "1ms"}
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        dask.config.set(often),
        distributed.Client(cluster) as client,
    ):
        counts = {len(Cluster(client).workers) for _ in range(100)}
    assert counts == {1}


def test_a_task_that_ends_workers_is_told_by_name():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as local,
        distributed.Client(local) as client,
    ):
        cluster = Cluster(client)
        with pytest.raises(LostWorkersError, match=r"while they did labeltree-end-.*memory"):
            cluster.result(cluster.submit("end", os._exit, 1))


def test_the_base_of_the_classifiers_is_none():
    with pytest.raises(TypeError, match="use DaskLabelTreeClassifier"):
        DaskClassifier()
