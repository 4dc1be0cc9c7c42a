"""Run one case in a separate process, in which it must not hang, print a traceback, or fill the memory."""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

if sys.platform == "win32":
    raise ImportError("python -m tests.fuzz forks a process for each case, which Windows cannot")
import resource

LONGEST = 30.0  # seconds
LONGEST_COUNTED = 120.0  # wall-clock seconds if CPU time is limited: the machine may be busy
MOST_MEMORY = 1 << 30  # bytes, of the case only
_KIB = 1 if sys.platform == "darwin" else 1024  # the unit of ru_maxrss
_TRACEBACK = "Traceback (most recent call last)"
Case = Callable[[], object]
Errors = tuple[type[BaseException], ...]


class Finding(NamedTuple):
    """A case and its fault; the seed and the number reproduce the case."""

    case: str
    fault: str


def watched(case: Case, allowed: Errors, seconds: float | None = None, memory: int | None = None) -> str:
    """Run a case in a forked process. Returns its fault, or "" if it ended in time, normally or with an error of an
    allowed type. Its output is captured, and a traceback in the output is a fault. ``seconds`` limits CPU time, and
    ``memory`` its memory in bytes (default: ``LONGEST`` by the wall clock, and ``MOST_MEMORY``)."""
    longest = LONGEST if seconds is None else LONGEST_COUNTED
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        fault = _fault(case, allowed, seconds, MOST_MEMORY if memory is None else memory)
        os.write(writing, fault[-4000:].encode(errors="replace"))
        os._exit(0)  # skips the program's exit handlers
    os.close(writing)
    deadline, message = time.monotonic() + longest, b""
    with open(reading, "rb", buffering=0) as pipe:
        while (left := deadline - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
            if not (part := pipe.read(1 << 16)):
                break
            message += part
        else:
            os.kill(child, signal.SIGKILL)
            message = b"it hangs: more than %d s" % longest
    _, status = os.waitpid(child, 0)
    if not message and status:
        message = f"it died: {signal.Signals(status).name if os.WIFSIGNALED(status) else status}".encode()
    return message.decode(errors="replace")


def _fault(case: Case, allowed: Errors, seconds: float | None, memory: int) -> str:
    """Run a case in this forked process, whose memory starts with the pages that it shares with the parent."""
    sys.stdout = sys.stderr = output = io.StringIO()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        case()
    except allowed:
        pass
    except BaseException:
        return traceback.format_exc()
    took = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * _KIB
    if _TRACEBACK in output.getvalue():
        return output.getvalue()
    if seconds is not None and time.process_time() > seconds:
        return f"it takes {time.process_time():.1f} s"
    return f"it takes {took >> 20} MiB" if took > memory else ""
