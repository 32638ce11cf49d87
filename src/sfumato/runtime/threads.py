"""Threads of ours: all work that is divided is divided here, among no more of them than whoever began it allows.

A `Crew` has so many threads that may work at once. `Crew.each` hands jobs to them while the caller waits; whatever such
a job divides further (`together`) goes to threads of the same crew that are free just then, so a number of workers
holds at every depth. Outside of any crew there is one per core. A crew stops when its `Cancel` is set: nothing new is
begun, what runs ends where it next looks (`interrupts.look`), and nobody waits for it.

Work that several ask for and that is done once, by the first of them; the last few results are kept.
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
from sfumato.runtime.cancellation import LOOK_SECONDS, Cancel, look, stops_at

Job = TypeVar("Job")
Result = TypeVar("Result")
MOST_HELPERS = 256
"""Threads that are kept for jobs that are divided; they come as they are needed."""


class Crew:
    """So many threads that may work at once, and the wish by which they are stopped."""

    def __init__(self, workers: int | None = None, cancel: Cancel | None = None) -> None:
        self.workers = workers if workers is not None else (os.cpu_count() or 1)
        check_whole("workers", self.workers, least=1)
        self.cancel = cancel or Cancel()
        self._free = threading.Semaphore(self.workers)

    def each(
        self, function: Callable[[Job], Result], jobs: Iterable[Job], ends: float | None = None
    ) -> Iterator[tuple[Job, Result]]:
        """Call a function for every job, a few at a time so that memory stays flat; yield results as they come.

        None is begun after `ends` on the monotonic clock. Once the crew is cancelled, what was finished is yielded and
        `StoppedError` raised. What still runs when this is left is of no use to anybody: nobody waits for it.
        """
        left = Cancel()
        pool = ThreadPoolExecutor(self.workers, "sfumato")
        waiting = iter(jobs)
        at_once = 2 * self.workers if ends is None else self.workers  # what waits when time is up would still be done
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
                    self.cancel.look()
                    look()
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
        """Do a piece of work in a thread of the crew while this one waits."""
        return self.all(lambda _: work(), [None])[0]

    def _call(self, left: Cancel, function: Callable[[Job], Result], job: Job) -> Result:
        """Work as one of the crew."""
        with self._free, stops_at(left):
            before = _at_work.set(self)
            try:
                look()
                return function(job)
            finally:
                _at_work.reset(before)

    def take(self, wanted: int) -> int:
        """Take up to so many threads that are free; say how many."""
        taken = 0
        while taken < wanted and self._free.acquire(blocking=False):
            taken += 1
        return taken

    def give(self, taken: int) -> None:
        """Give threads back."""
        for _ in range(taken):
            self._free.release()


_at_work: ContextVar[Crew | None] = ContextVar("crew", default=None)


@cache
def _usual() -> Crew:
    """Return the crew of whoever has begun nothing: one thread per core, of which the caller's is one."""
    crew = Crew()
    crew.take(1)
    return crew


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_HELPERS, "sfumato-helper")


def workers() -> int:
    """Say among how many threads work may be divided here."""
    return (_at_work.get() or _usual()).workers


def together(function: Callable[[Job], Result], jobs: Iterable[Job]) -> list[Result]:
    """Call a function for every job, by this thread and others of its crew that are free; return results in order.

    Where jobs fail, the error of the first of them is raised.
    """
    given = list(jobs)
    crew = _at_work.get() or _usual()
    taken = crew.take(min(len(given), crew.workers) - 1)
    places, results, failed = iter(range(len(given))), dict[int, Result](), dict[int, BaseException]()

    def work() -> None:
        while not failed and (place := next(places, None)) is not None:
            try:
                look()
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
