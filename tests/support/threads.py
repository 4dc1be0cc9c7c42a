"""Concurrent calls in threads of the program."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def impatient() -> Iterator[None]:
    """Inside the context, threads switch after microseconds, which reveals race conditions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def side_by_side(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of calls, each in a separate thread; all start together. Raises the first error of any."""
    results: list[T | BaseException] = [TimeoutError("a thread hangs")] * len(calls)
    begin = threading.Barrier(len(calls))

    def run(place: int) -> None:
        try:
            begin.wait(60)
            results[place] = calls[place]()
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(calls))]
    with impatient():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    values: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        values.append(result)
    return values
