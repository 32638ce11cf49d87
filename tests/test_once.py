"""Work that several threads ask for is done once; what fails is done anew by whoever waits."""

from __future__ import annotations

from threading import Barrier, Thread
from time import sleep

import pytest

from sfumato.runtime.threads import Once

pytestmark = pytest.mark.quick


def test_threads_that_ask_for_the_same_work_get_one_result() -> None:
    once, begin, done, results = Once(), Barrier(4), [], []

    def work() -> object:
        done.append(1)
        sleep(0.05)
        return object()

    def ask() -> None:
        begin.wait()
        results.append(once.result("groups", work))

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1 and len(results) == 4 and len(set(map(id, results))) == 1


def test_whoever_waits_for_work_that_fails_does_it_anew() -> None:
    once, begin, tries, seen = Once(), Barrier(2), [], []

    def work() -> str:
        tries.append(1)
        if len(tries) == 1:
            sleep(0.05)
            raise MemoryError("the first one")
        return "done"

    def ask() -> None:
        begin.wait()
        try:
            seen.append(once.result("groups", work))
        except MemoryError:
            seen.append("failed")

    threads = [Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == ["done", "failed"] and len(tries) == 2


def test_only_the_last_few_results_are_kept() -> None:
    once = Once(kept=2)
    assert [once.result(key, lambda key=key: [key]) for key in (1, 2, 1, 3)] == [[1], [2], [1], [3]]
    assert once.result(1, lambda: "anew") == [1]  # asked for last but one
    assert once.result(2, lambda: "anew") == "anew"
