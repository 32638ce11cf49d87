"""Work that several ask for and that is done once, by the first of them; the last few results are kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

Result = TypeVar("Result")


class Once:
    """Two releases of the same groups, say, are made at the same time by two threads: one of them finds the groups."""

    def __init__(self, kept: int = 4) -> None:
        self._kept = kept
        self._lock = Lock()
        self._results: dict[Hashable, Future[Any]] = {}

    def result(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return what was worked out for a key, or work it out; whoever waits for work that fails does it anew."""
        while True:
            with self._lock:
                known = self._results.pop(key, None)
                future = known or Future()
                self._results[key] = future  # the newest stands last
                for oldest in list(self._results)[: -self._kept]:
                    del self._results[oldest]
            if known is None:
                return self._worked(key, future, work)
            known.exception()  # waits
            if known.exception() is None:
                done: Result = known.result()
                return done

    def _worked(self, key: Hashable, future: Future[Any], work: Callable[[], Result]) -> Result:
        try:
            done = work()
        except BaseException as error:
            with self._lock:
                if self._results.get(key) is future:
                    del self._results[key]
            future.set_exception(error)
            raise
        future.set_result(done)
        return done
