"""Describes the machine used for a measurement, since figures mean little without it."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path


def describe(*packages: str) -> str:
    """The processor, the available cores, the system, Python, NumPy and other packages, in one line."""
    versions = [f"{name} {version(name)}" for name in ("numpy", *packages)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return ", ".join([f"{_processor()} ({cores} cores)", system, *versions])


def _processor() -> str:
    """The name of the processor, if the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def version(package: str) -> str:
    """The version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"
