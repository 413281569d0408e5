"""What a server measures, as Prometheus reads it."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from labeltree.serve.service import Service

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)  # seconds
_KNOWN = ("predict", "learn", "explain", "labels", "model", "progress", "projects")


class Measures(Collector):
    """What one server has counted; the loop counts, and Prometheus' forms are made when asked."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, service: Service) -> None:
        self.predicted = 0  # examples
        self._service = service
        self._requests: dict[tuple[str, int], int] = {}
        self._slots: dict[str, list[int]] = {}  # requests by the bucket that their time is in
        self._seconds: dict[str, float] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        parts = path.split("/")
        kind = parts[2] if path.startswith("/v1/") and parts[2] in _KNOWN else "other"
        self._requests[kind, status] = self._requests.get((kind, status), 0) + 1
        if kind != "progress":  # which lasts as long as somebody watches
            slots = self._slots.setdefault(kind, [0] * (len(_BUCKETS) + 1))
            slots[bisect.bisect_left(_BUCKETS, seconds)] += 1
            self._seconds[kind] = self._seconds.get(kind, 0.0) + seconds

    def collect(self) -> Iterator[Metric]:
        """Yield all measures."""
        requests = CounterMetricFamily(
            "labeltree_requests", "Requests answered.", labels=["path", "status"]
        )
        for (kind, status), count in self._requests.items():
            requests.add_metric([kind, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily(
            "labeltree_request_seconds", "How long requests took.", labels=["path"]
        )
        bounds = [*map(str, map(float, _BUCKETS)), "+Inf"]
        for kind, slots in self._slots.items():
            counts = itertools.accumulate(slots)
            seconds.add_metric([kind], list(zip(bounds, counts, strict=True)), self._seconds[kind])
        yield seconds
        yield CounterMetricFamily(
            "labeltree_predicted_examples", "Examples predicted.", self.predicted
        )
        service = self._service
        facts = service.model.facts()
        for name, text, value in (
            ("examples", "Examples learned.", service.version),
            ("waiting", "Examples that wait to be learned.", service.waiting),
            ("labels", "Labels known.", facts["labels"]),
            ("error", "Progressive error.", facts["error"] or 0.0),
            ("log_records", "Records of the log.", service.log.end if service.log else 0),
        ):
            yield GaugeMetricFamily(f"labeltree_{name}", text, value)

    def text(self) -> bytes:
        """Return all of it."""
        return generate_latest(self._registry)
