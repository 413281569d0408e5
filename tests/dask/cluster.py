"""Two workers, each a process of its own."""

from contextlib import contextmanager

import distributed


@contextmanager
def two_workers():
    """Start a cluster, and yield it with a client that knows both workers."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield cluster, client
