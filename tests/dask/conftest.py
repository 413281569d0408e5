"""Two workers, each a process of its own."""

import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="package")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client
