"""Threads: all parallel work uses these, within the number that its caller allows.

A `Crew` has a number of threads. `Crew.each` runs jobs on them while the caller waits. A job may divide its work
further (`together`) among the free threads of the same crew, so the number of workers is respected at every depth.
Outside of a crew there is one thread per core. A crew stops when its `Cancel` is set: nothing new starts, running jobs
end at their next `check_cancelled`, and nobody waits for them.

`SingleFlight` runs work that several threads request only once, and keeps the last few results.
"""

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from sfumato.config.options import check_whole
from sfumato.runtime.cancellation import LOOK_SECONDS, Cancel, check_cancelled, stops_at

Job = TypeVar("Job")
Result = TypeVar("Result")
MOST_HELPERS = 256
"""The maximum number of threads for divided jobs; they are started when needed."""


class Crew:
    """A number of parallel threads, with their cancellation."""

    def __init__(self, workers: int | None = None, cancel: Cancel | None = None) -> None:
        self.workers = workers if workers is not None else (os.cpu_count() or 1)
        check_whole("workers", self.workers, least=1)
        self.cancel = cancel or Cancel()
        self._free = threading.Semaphore(self.workers)

    def each(
        self, function: Callable[[Job], Result], jobs: Iterable[Job], ends: float | None = None
    ) -> Iterator[tuple[Job, Result]]:
        """Call a function for every job, a few at a time to limit memory; yield results as they complete.

        None is started after `ends` on the monotonic clock. After a cancellation, finished results are yielded and
        `StoppedError` is raised. If the caller leaves, running jobs are abandoned.
        """
        left = Cancel()
        pool = ThreadPoolExecutor(self.workers, "sfumato")
        waiting = iter(jobs)
        at_once = 2 * self.workers if ends is None else self.workers  # queued jobs would still run after the time is up
        running: dict[Future[Result], Job] = {}
        try:
            while True:
                while len(running) < at_once and (ends is None or time.monotonic() < ends) and not self.cancel.is_set():
                    try:
                        job = next(waiting)
                    except StopIteration:
                        break
                    running[pool.submit(self._call, left, function, job)] = job
                finished = wait(running, LOOK_SECONDS, FIRST_COMPLETED).done if running else set()
                for future in finished:
                    job = running.pop(future)
                    if not self.cancel.is_set() or future.exception() is None:
                        yield job, future.result()
                if not finished:
                    self.cancel.check()
                    check_cancelled()
                if not running and not finished:
                    break
        finally:
            if running:
                left.set()
            pool.shutdown(wait=not running, cancel_futures=True)

    def all(self, function: Callable[[Job], Result], jobs: Iterable[Job]) -> list[Result]:
        """Call a function for every job while this thread waits; return the results in order."""
        numbered = list(enumerate(jobs))
        results = {place: result for (place, _), result in self.each(lambda job: function(job[1]), numbered)}
        return [results[place] for place, _ in numbered]

    def do(self, work: Callable[[], Result]) -> Result:
        """Run a function in a thread of the crew while this one waits."""
        return self.all(lambda _: work(), [None])[0]

    def _call(self, left: Cancel, function: Callable[[Job], Result], job: Job) -> Result:
        """Run a job as a member of the crew."""
        with self._free, stops_at(left):
            before = _at_work.set(self)
            try:
                check_cancelled()
                return function(job)
            finally:
                _at_work.reset(before)

    def take(self, wanted: int) -> int:
        """Reserve up to so many free threads; return their number."""
        taken = 0
        while taken < wanted and self._free.acquire(blocking=False):
            taken += 1
        return taken

    def give(self, taken: int) -> None:
        """Release threads."""
        for _ in range(taken):
            self._free.release()


_at_work: ContextVar[Crew | None] = ContextVar("crew", default=None)


@cache
def _usual() -> Crew:
    """Return the default crew: one thread per core, including the caller's."""
    crew = Crew()
    crew.take(1)
    return crew


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_HELPERS, "sfumato-helper")


def workers() -> int:
    """Return the number of threads among which work may be divided here."""
    return (_at_work.get() or _usual()).workers


def together(function: Callable[[Job], Result], jobs: Iterable[Job]) -> list[Result]:
    """Call a function for every job, in this thread and free ones of its crew; return results in order.

    If jobs fail, the error of the first of them is raised.
    """
    given = list(jobs)
    crew = _at_work.get() or _usual()
    taken = crew.take(min(len(given), crew.workers) - 1)
    places, results, failed = iter(range(len(given))), dict[int, Result](), dict[int, BaseException]()

    def work() -> None:
        while not failed and (place := next(places, None)) is not None:
            try:
                check_cancelled()
                results[place] = function(given[place])
            except BaseException as error:
                failed[place] = error

    others: list[Future[None]] = []
    try:
        others = [_helpers().submit(copy_context().run, work) for _ in range(taken)]
        work()
    finally:
        busy = [other for other in others if not other.cancel()]
        while wait(busy, LOOK_SECONDS).not_done:
            pass
        crew.give(taken)
    if failed:
        raise failed[min(failed)]
    return [results[place] for place in range(len(given))]


class SingleFlight:
    """Shares results between threads: for example, two releases of the same groups need these only once."""

    def __init__(self, kept: int = 4) -> None:
        self._kept = kept
        self._lock = Lock()
        self._results: dict[Hashable, Future[Any]] = {}

    def result(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return the result for a key, or compute it; if the computing thread fails, a waiting one computes again."""
        while True:
            with self._lock:
                known = self._results.pop(key, None)
                future = known or Future()
                self._results[key] = future  # the newest is last
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
