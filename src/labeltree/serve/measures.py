"""What a server measures, as Prometheus reads it."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from labeltree.serve.service import Service

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_KNOWN = ("predict", "learn", "explain", "labels", "model", "progress", "projects")


class Measures:
    """Counters and gauges of one server."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "labeltree_requests", "Requests answered.", ["path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "labeltree_request_seconds",
            "How long requests took.",
            ["path"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self.predicted = Counter(
            "labeltree_predicted_examples", "Examples predicted.", registry=self._registry
        )
        self._gauge("labeltree_examples", "Examples learned.", lambda: service.version)
        self._gauge(
            "labeltree_waiting", "Examples that wait to be learned.", lambda: service.waiting
        )
        self._gauge("labeltree_labels", "Labels known.", lambda: service.model.facts()["labels"])
        self._gauge(
            "labeltree_error", "Progressive error.", lambda: service.model.facts()["error"] or 0.0
        )
        self._gauge(
            "labeltree_log_records",
            "Records of the log.",
            lambda: 0 if service.log is None else service.log.end,
        )

    def _gauge(self, name: str, text: str, value: object) -> None:
        Gauge(name, text, registry=self._registry).set_function(value)  # type: ignore[arg-type]

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        parts = path.split("/")
        kind = parts[2] if path.startswith("/v1/") and parts[2] in _KNOWN else "other"
        known = self._known.get((kind, status))
        if known is None:
            known = self._requests.labels(kind, str(status)), self._seconds.labels(kind)
            self._known[kind, status] = known
        known[0].inc()
        if kind != "progress":  # which lasts as long as somebody watches
            known[1].observe(seconds)

    def text(self) -> bytes:
        """Return all of it."""
        return generate_latest(self._registry)
