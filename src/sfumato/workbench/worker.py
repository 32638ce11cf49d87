"""A run of a study in a separate process: `python -m sfumato.workbench.worker`.

The standard input has the task as one line of JSON and remains open. When it is closed, by a cancellation or the end of
the workbench, the run ends as after Ctrl-C, and measured points are kept. The output has events as lines of JSON:
progress, every measured point, notes, and the end.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from sfumato.errors import SfumatoError, StoppedError, unforeseen
from sfumato.runtime import cancellation as interrupts
from sfumato.texts.catalogue import t
from sfumato.workbench.trust import Trust

GRACE_SECONDS = 3.0
"""Seconds for a run to end after its workbench has died."""

NICE = 10
"""The niceness of a run, so that pages remain responsive."""

Say = Callable[[str, dict[str, Any]], None]
"""Sends an event to the workbench: its kind, and its values."""


@dataclass(frozen=True)
class RunTask:
    """The task of a worker."""

    folder: str
    """The project, as a name in the working folder."""

    trust: Trust
    seconds: float | None = None
    """Seconds of a further search after the study's own candidates; None: the default of the study."""

    question: str | None = None
    """The question of this search, in the grammar of `sfumato ask`."""

    def line(self) -> str:
        """Return the line of JSON for a worker."""
        return json.dumps(asdict(self)) + "\n"

    @staticmethod
    def of(line: str) -> RunTask:
        """Parse the result of `line`."""
        given = json.loads(line)
        return RunTask(given["folder"], Trust(**given["trust"]), given["seconds"], given["question"])


def main() -> None:
    """Run the task from the standard input."""
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # output of libraries is no event
    lock = threading.Lock()

    def say(kind: str, values: dict[str, Any]) -> None:
        from sfumato.config.documents import to_plain

        with lock, suppress(BrokenPipeError):
            out.write(json.dumps({"kind": kind, **to_plain(values)}) + "\n")
            out.flush()

    with suppress(OSError, AttributeError):
        os.nice(NICE)
    task = RunTask.of(sys.stdin.readline())
    threading.Thread(target=_end_with, args=(sys.stdin, os.getppid()), daemon=True).start()
    code = interrupts.run(lambda: _run(task, say))
    os._exit(code)


def _end_with(stream: IO[str], parent: int) -> None:
    """Interrupt the run when the other end closes the stream; exit soon after if the parent has died."""
    while stream.readline():
        pass
    last = time.monotonic() + GRACE_SECONDS
    _thread.interrupt_main()
    while os.getppid() == parent or time.monotonic() < last:
        time.sleep(0.1)
    os._exit(interrupts.EXIT_CODE)


def _run(task: RunTask, say: Say) -> int:
    try:
        say("end", {"sentence": explored(Path(task.folder), task, say)})
        return 0
    except StoppedError as stopped:
        say("end", {"sentence": str(stopped)})
        return interrupts.EXIT_CODE
    except SfumatoError as error:
        say("end", {"sentence": str(error)})
        return error.exit_code
    except Exception as error:
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        say("end", {"sentence": unforeseen(error, shown=False)})
        return SfumatoError.exit_code


def explored(folder: Path, task: RunTask, say: Say) -> str:
    """Explore the study of a folder into that folder, like `sfumato explore STUDY --out FOLDER`; return the outcome.

    The text of the study is unchanged, including comments, unless the search has added candidates.
    """
    from sfumato.config.documents import read_text
    from sfumato.errors import InfeasibleError
    from sfumato.report.folder import save_map
    from sfumato.report.map_summary import frontier_lines
    from sfumato.runtime.kernels import compiled_before
    from sfumato.texts.catalogue import counted
    from sfumato.tradeoff.exploration.folder import mend_cache
    from sfumato.tradeoff.exploration.run import check_searchable
    from sfumato.tradeoff.exploration.run import explored as searched
    from sfumato.tradeoff.question.question import read_question
    from sfumato.tradeoff.study.study import read_study

    def note(sentence: str) -> None:
        say("note", {"sentence": sentence})

    file = folder / "study.toml"
    text, study = read_text(file), read_study(str(file))
    task.trust.check(study)
    check_searchable(study, task.seconds)
    if sentence := mend_cache(folder / "cache.jsonl"):
        note(sentence)
    if not compiled_before():
        note(t("run.compiling"))
    told = Told(folder / "cache.jsonl", study, say)
    question = None if task.question is None else read_question(task.question)
    outcome = searched(study, folder, task.seconds, None, told.shown, note, question)
    told.points()
    if outcome.map_ is None:
        lines = [] if outcome.frontier is None else frontier_lines(outcome.frontier)
        raise InfeasibleError("\n".join(lines) or t("run.nothing_fit"))
    say("saving", {})
    save_map(outcome.map_, folder)
    if outcome.map_.study.to_toml(folder) == study.to_toml(folder):
        _put_back(file, text)
    for notice in outcome.map_.about["notices"]:
        note(notice)
    measured = sum(point.status == "measured" for point in outcome.map_.points)
    return t("run.measured", releases=counted(measured, "release"), all=len(outcome.map_.points))


def _put_back(file: Path, text: str) -> None:
    from sfumato.runtime.staging import staged

    with staged([file]) as [draft]:
        draft.write_text(text, encoding="utf-8", newline="\n")


class Told:
    """The events of a run so far; points are read from the cache, to which each is added when measured."""

    def __init__(self, cache: Path, study: Any, say: Say) -> None:
        self.cache, self.study, self.say = cache, study, say
        self.read = cache.stat().st_size if cache.is_file() else 0

    @contextmanager
    def shown(self, what: str) -> Iterator[Callable[[int, int, str], None]]:
        """Report the progress of named work, and the points that it has measured."""

        def report(done: int, total: int, last: str) -> None:
            self.points()
            self.say("progress", {"unit": what, "done": done, "total": total, "last": last})

        yield report

    def points(self) -> None:
        """Report the points added to the cache since the last call."""
        from sfumato.report.page import point_settings
        from sfumato.tradeoff.exploration.folder import read_point

        if not self.cache.is_file():
            return
        with self.cache.open("rb") as stream:
            stream.seek(self.read)
            lines = stream.read()
        whole = lines[: lines.rfind(b"\n") + 1]
        self.read += len(whole)
        for line in whole.splitlines():
            entry = json.loads(line).get("point")
            if entry is not None and entry["status"] == "measured":
                point = read_point(entry, self.study.candidate_of(entry))
                self.say("point", {"point": point_settings(point)})


if __name__ == "__main__":
    main()
