"""A cluster that the tests share."""

import pytest

pytest.importorskip("distributed")


@pytest.fixture(scope="package")
def client():
    from tests.dask.cluster import two_workers

    with two_workers() as (_, client):
        yield client
