"""The one place that imports what the extra `dask` installs."""

from __future__ import annotations

try:
    import dask
    import dask.array as array
    import distributed
    from dask.delayed import Delayed, delayed
    from distributed import Client, Future
except ImportError as error:
    raise ImportError(
        "labeltree.dask needs dask and distributed: pip install 'labeltree[dask]'"
    ) from error

__all__ = ["Client", "Delayed", "Future", "array", "dask", "delayed", "distributed"]
