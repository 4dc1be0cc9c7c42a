"""Signals to a training run and to its forked processes."""

import multiprocessing
import os
import signal
import time

import pytest

from minigrad_models.training.progress import Interrupt

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def test_a_forked_process_leaves_ctrl_c_to_its_parent(capfd: pytest.CaptureFixture[str]) -> None:
    context = multiprocessing.get_context("fork")
    started, end = context.Event(), context.Event()

    def work() -> None:
        started.set()
        while not end.is_set():
            time.sleep(0.01)

    with Interrupt(print) as stop:
        children = [context.Process(target=work) for _ in range(2)]
        for child in children:
            started.clear()
            child.start()
            assert started.wait(20)
        for _ in range(2):
            os.kill(children[0].pid or 0, signal.SIGINT)
            time.sleep(0.05)
        os.kill(children[1].pid or 0, signal.SIGTERM)
        children[1].join(20)
        end.set()
        children[0].join(20)
        assert [child.exitcode for child in children] == [0, -signal.SIGTERM]
        assert not stop.asked
    assert capfd.readouterr() == ("", "")
