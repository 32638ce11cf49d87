"""Threads of ours: never more at work than allowed, at any depth; and cancelled work stops, losing nothing."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from time import sleep
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sfumato
from sfumato import Cancel, Grid, Queries, Scales, StoppedError, Study, TableDeclaration, explore
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.engines.duckdb.sources import connect
from sfumato.measures import groups
from sfumato.runtime.cancellation import check_cancelled, interruptible
from sfumato.runtime.threads import Crew, SingleFlight, together, workers
from sfumato.tradeoff import limit

SOON = 600.0
"""Seconds after which something is held to hang."""


class Probe:
    """Counts the threads that are inside a function at the same time."""

    def __init__(self) -> None:
        self.inside = self.most = 0
        self.threads: set[int] = set()
        self._lock = threading.Lock()

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            with self._lock:
                self.inside += 1
                self.most = max(self.most, self.inside)
                self.threads.add(threading.get_ident())
            try:
                time.sleep(0.002)
                return function(*given)
            finally:
                with self._lock:
                    self.inside -= 1

        return call


@pytest.mark.parametrize("allowed", [1, 3])
def test_duckdb_has_as_many_threads_as_the_crew(allowed: int) -> None:
    def asked() -> int:
        with connect() as connection:
            return int(connection.sql("SELECT current_setting('threads')").fetchall()[0][0])

    assert Crew(allowed).do(asked) == allowed
    assert asked() == workers()


@pytest.mark.parametrize("allowed", [1, 2, 3])
def test_no_more_threads_work_than_the_crew_has_at_any_depth(allowed: int) -> None:
    probe = Probe()

    def outer(job: int) -> list[int]:
        return together(probe.watched(lambda part: 10 * job + part), range(5))

    assert Crew(allowed).all(outer, range(4)) == [[10 * job + part for part in range(5)] for job in range(4)]
    assert probe.most <= allowed and (allowed > 1 or len(probe.threads) == 1)


def test_a_single_job_is_divided_among_all_that_are_free() -> None:
    meeting = threading.Barrier(3, timeout=SOON)  # passed only if three threads are there at once
    assert len(Crew(3).do(lambda: together(lambda _: meeting.wait(), range(3)))) == 3
    assert Crew(3).do(workers) == 3


def test_the_first_error_is_raised_and_nothing_more_is_begun() -> None:
    begun = []

    def work(job: int) -> int:
        begun.append(job)
        if job in (2, 5):
            raise ValueError(job)
        return job

    with pytest.raises(ValueError, match="2"):
        Crew(1).do(lambda: together(work, range(100)))
    assert begun == [0, 1, 2]


# ---------------------------------------------------------------- exploring


def table_of(records: int = 120) -> sfumato.Table:
    rng = random.Random(1)
    frame = pa.table(
        {
            "age": [str(rng.randrange(20)) for _ in range(records)],
            "town": [rng.choice(["Rome", "Pisa", "Lucca"]) for _ in range(records)],
            "ill": [rng.choice(["flu", "asthma", "angina"]) for _ in range(records)],
        }
    )
    return sfumato.read(frame, quasi=["age", "town"], sensitive=["ill"])


def study_of(makers: tuple[str, ...] = ("mondrian", "without-quasi")) -> Study:
    requirements = tuple(sfumato.requirement(f"k-anonymity k={k}") for k in (2, 3, 5))
    grid = Grid(tuple(map(sfumato.anonymizer, makers)), requirements)
    scales = Scales(0.05, Queries(number=20))
    return Study("small", TableDeclaration("nowhere.csv", ("age", "town"), ("ill",)), (grid,), scales)


def points_of(map_: sfumato.Map) -> list[Any]:
    return [replace(point, seconds=0.0) for point in map_.points]


@pytest.mark.parametrize("allowed", [1, 2])
def test_exploring_with_so_many_workers_has_no_further_thread_at_work(
    allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = Probe()
    monkeypatch.setattr(groups, "LEAST_GROUPS", 1)
    monkeypatch.setattr(limit, "STRETCH", 1)
    monkeypatch.setattr(groups, "measure_groups", probe.watched(groups.measure_groups))
    monkeypatch.setattr(limit, "nearest_js", probe.watched(limit.nearest_js))
    explore(study_of(), workers=allowed, table=table_of())
    assert 1 <= probe.most <= allowed


class Endless:
    """Lets Mondrian work on k = 5 without end, looking up now and then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.left = threading.Event(), threading.Event()
        usual = Mondrian.release

        def release(maker: Mondrian, table: Any, requirement: Any, *given: Any) -> Any:
            if str(requirement) != "k-anonymity k=5":
                return usual(maker, table, requirement, *given)
            self.begun.set()
            try:
                while True:
                    check_cancelled()
                    time.sleep(0.01)
            finally:
                self.left.set()

        monkeypatch.setattr(Mondrian, "release", release)


def test_a_cancelled_exploration_stops_inside_a_long_candidate_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study, table, cache, cancel = study_of(), table_of(), tmp_path / "cache.jsonl", Cancel()
    whole = explore(study, workers=1, table=table)
    with monkeypatch.context() as patched:
        endless = Endless(patched)

        def set_later() -> None:
            endless.begun.wait(SOON)
            ends = time.monotonic() + SOON  # with two workers everything else is done meanwhile
            while time.monotonic() < ends and (
                not cache.is_file() or len(cache.read_text().splitlines()) < len(whole.points) - 1
            ):
                time.sleep(0.01)
            cancel.set()

        threading.Thread(target=set_later).start()
        with pytest.raises(StoppedError) as stopped:
            explore(study, cache, workers=2, table=table, cancel=cancel)
        assert endless.left.wait(SOON)  # the thread that nobody waits for has ended too
    partial = stopped.value.map
    lost = [point.id for point in whole.points if point.requirement == "k-anonymity k=5" and not point.is_baseline]
    assert points_of(partial) == [point for point in points_of(whole) if point.id not in lost]
    assert len(cache.read_text().splitlines()) == len(whole.points) - 1
    assert points_of(explore(study, cache, table=table)) == points_of(whole)


def test_explorations_in_threads_of_their_own_are_stopped_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    endless, cancel = Endless(monkeypatch), Cancel()
    ended: dict[str, Any] = {}

    def run(name: str, study: Study, own: Cancel) -> None:
        try:
            ended[name] = explore(study, workers=1, table=table_of(), cancel=own)
        except StoppedError as error:
            ended[name] = error

    stuck = threading.Thread(target=run, args=("stuck", study_of(), cancel))
    other = threading.Thread(target=run, args=("other", study_of(("without-quasi",)), Cancel()))
    stuck.start()
    assert endless.begun.wait(SOON)
    other.start()
    other.join(SOON)
    assert len(ended["other"].points) == 3 and "stuck" not in ended
    cancel.set()
    stuck.join(SOON)
    assert isinstance(ended["stuck"], StoppedError)


def test_what_is_cancelled_beforehand_is_not_begun() -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(StoppedError) as stopped:
        explore(study_of(), table=table_of(), cancel=cancel)
    assert stopped.value.map is None


def test_a_query_is_interrupted() -> None:
    cancel, begun, left = Cancel(), threading.Event(), threading.Event()

    def batches() -> Iterator[pa.RecordBatch]:
        begun.set()  # only a query that runs asks for rows
        yield pa.record_batch({"n": [1]})

    def asked() -> None:
        connection = interruptible(duckdb.connect())
        rows = pa.RecordBatchReader.from_batches(pa.schema({"n": pa.int64()}), batches())
        connection.register("rows", rows)
        try:
            connection.execute(
                "SELECT count(*) FROM rows, range(1000000) a, range(10000000) b WHERE n + a.range + b.range = 7"
            )
        finally:
            left.set()

    threading.Thread(target=lambda: (begun.wait(SOON), cancel.set())).start()
    with pytest.raises(StoppedError):
        Crew(1, cancel).do(asked)
    assert left.wait(SOON)


def test_threads_that_ask_for_the_same_work_get_one_result() -> None:
    once, begin, done, results = SingleFlight(), Barrier(4), [], []

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
    once, begin, tries, seen = SingleFlight(), Barrier(2), [], []

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
    once = SingleFlight(kept=2)
    assert [once.result(key, lambda key=key: [key]) for key in (1, 2, 1, 3)] == [[1], [2], [1], [3]]
    assert once.result(1, lambda: "anew") == [1]  # asked for last but one
    assert once.result(2, lambda: "anew") == "anew"
