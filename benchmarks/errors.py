"""Why a run stops: a benchmark that counts failures measures nothing."""

from __future__ import annotations


class BenchmarkError(Exception):
    """A call failed, or what was measured was not what the label says. The whole run stops."""
