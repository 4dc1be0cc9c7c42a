"""Run by the browser's own Python (docs/web/node.mjs): pytest on the checkout's tests, and minigrad from its pack.

A test that needs a missing package, or something that WebAssembly lacks, is skipped with the system's own message; all
other errors are failures.
"""

import os
import sys
import zipfile
from typing import Any

PACKAGES = "/lib/python3.11/site-packages"
REFUSED = ("can't start new thread", "does not support processes")
ABSENT = ("_multiprocessing", "ml_dtypes", "safetensors", "torch")

sys.dont_write_bytecode = True  # do not write into the builder's checkout
with zipfile.ZipFile("/packs/pytest.zip") as archive:
    archive.extractall(PACKAGES)
os.chdir("/checkout")

import pytest  # noqa: E402, pytest has just been unpacked

import minigrad  # noqa: E402, F401, from the pack, before pytest finds the checkout's


class Platform:
    """A plugin that skips tests that the platform cannot run."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Unmark whole files that compare with PyTorch: here, only tests that actually import PyTorch are skipped."""
        for node in {node for item in items for node in item.listchain()}:
            node.own_markers[:] = [mark for mark in node.own_markers if mark.name != "parity"]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        report = yield
        return skipped(report, report.call, str(collector.path))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        return skipped(report, call, str(item.path))


def skipped(report: Any, call: Any, path: str) -> Any:
    """The report of a call, marked as skipped if the platform cannot run it."""
    if report.failed and call.excinfo is not None and (reason := refusal(call.excinfo.value)):
        report.outcome, report.longrepr = "skipped", (path, 0, f"Skipped: {reason}")
    return report


def refusal(error: BaseException | None) -> str:
    """The reason why the platform cannot run the test, if that caused the error; else ""."""
    while error is not None:
        absent = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in ABSENT
        if absent or any(words in str(error) for words in REFUSED):
            return f"WebAssembly: {error}"
        error = error.__cause__
    return ""


options = ["--capture=sys", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-q", "--tb=short"]
sys.exit(int(pytest.main([*options, *sys.argv[1:]], plugins=[Platform()])))
