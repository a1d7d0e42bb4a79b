"""Counters for Prometheus: jobs by outcome and time, queues, workers, permalinks."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.pool import Pool

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1, 2, 5, 10, 20, 60)


class Metrics:
    """One application's counters, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._jobs = Counter(
            "stridescope_jobs",
            "Jobs by operation and outcome",
            ["op", "outcome"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "stridescope_job_seconds",
            "Seconds from request to answer",
            ["op"],
            registry=self.registry,
            buckets=BUCKETS,
        )
        self.forms = Counter(
            "stridescope_sheets",
            "Requests to prepare a link, by outcome",
            ["outcome"],
            registry=self.registry,
        )
        self.shared = Counter("stridescope_permalinks", "Permalinks stored", registry=self.registry)

    def job(self, op: str, outcome: str, seconds: float) -> None:
        """Count one answered job."""
        self._jobs.labels(op, outcome).inc()
        self._seconds.labels(op).observe(seconds)

    def watch(self, *pools: Pool) -> None:
        """Report the state of these pools whenever the metrics are read."""
        self.registry.register(_PoolCollector(pools))

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)


class _PoolCollector(Collector):
    def __init__(self, pools: tuple[Pool, ...]) -> None:
        self._pools = pools

    def collect(self) -> Iterable[Metric]:
        for name, help_text, attribute in (
            ("stridescope_queue", "Jobs that wait for a worker", "waiting"),
            ("stridescope_busy_workers", "Workers with a job", "busy"),
            ("stridescope_workers", "Most workers, without those of long jobs", "size"),
            ("stridescope_replaced_workers", "Workers replaced since the start", "replaced"),
        ):
            family = GaugeMetricFamily(name, help_text, labels=["pool"])
            for pool in self._pools:
                family.add_metric([pool.name], float(getattr(pool, attribute)))
            yield family
