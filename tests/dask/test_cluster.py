"""The workers of a cluster, as a client tells of them."""

import dask
import distributed

from labeltree.dask.cluster import Cluster


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
