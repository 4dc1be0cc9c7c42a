"""Traces: every intermediate of a call by its name, to read, replace, cut and patch."""

from .trace_run import Run, trace

__all__ = ["Run", "trace"]
