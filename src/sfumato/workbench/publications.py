"""What is being published just now: one publication of a project at a time, watched and stopped from any tab.

A publication works in the thread of the request that asked for it. It tells each step as it begins (`process.steps`);
who stops it interrupts its queries, and nothing of it stays: files get their names together, after the last step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.process.interrupts import Cancel, stops_at
from sfumato.process.steps import told_to
from sfumato.publish.leaving import STEPS
from sfumato.texts.catalogue import t
from sfumato.workbench.errors import ConflictError

CLOSING_SECONDS = 1.2
"""So long the workbench waits for a publication when it ends itself."""

LOOK_SECONDS = 0.05


class UnderWay:
    """One publication: which file it writes, at which step it is, and the wish that it ends."""

    def __init__(self, file: str) -> None:
        self.file, self.step = file, STEPS[0]
        self.cancel = Cancel()

    def tell(self, step: str) -> None:
        """Hear which step begins."""
        self.step = step

    def values(self) -> dict[str, Any]:
        """What is told of it."""
        stopping = self.cancel.is_set()
        return {
            "under_way": True,
            "file": self.file,
            "step": STEPS.index(self.step) + 1,
            "steps": len(STEPS),
            "sentence": t("publish.stopping") if stopping else t(f"publish.step_{self.step}"),
        }


IDLE = {"under_way": False, "file": "", "step": 0, "steps": len(STEPS), "sentence": ""}


class Publications:
    """All publications under way, by the folder that they write into."""

    def __init__(self) -> None:
        self._under_way: dict[Path, UnderWay] = {}
        self._lock = threading.Lock()
        self.is_closed = False

    @contextmanager
    def alone(self, folder: Path, file: str) -> Iterator[None]:
        """Let one publication at a time into a folder, and be watched; a second is told to wait."""
        place, begun = folder.resolve(), UnderWay(file)
        with self._lock:
            if place in self._under_way:
                raise ConflictError(t("publish.busy"))
            if self.is_closed:
                raise ConflictError(t("run.closed"))
            self._under_way[place] = begun
        try:
            with stops_at(begun.cancel), told_to(begun.tell):
                yield
        except Exception:  # a query that was interrupted fails in a way of its own
            if begun.cancel.is_set():
                raise ConflictError(t("publish.stopped")) from None
            raise
        finally:
            with self._lock:
                del self._under_way[place]

    def progress(self, folder: Path) -> dict[str, Any]:
        """Say how far the publication into a folder is."""
        under_way = self._under_way.get(folder.resolve())
        return dict(IDLE) if under_way is None else under_way.values()

    def cancel(self, folder: Path) -> dict[str, Any]:
        """Stop the publication into a folder: unless its files are just getting their names, nothing is written."""
        under_way = self._under_way.get(folder.resolve())
        if under_way is None:
            raise ConflictError(t("publish.nothing_under_way"))
        under_way.cancel.set()
        return under_way.values()

    def close(self) -> None:
        """Stop all of them, and wait a moment until they have."""
        with self._lock:
            self.is_closed = True
            under_way = list(self._under_way.values())
        for each in under_way:
            each.cancel.set()
        ends = time.monotonic() + CLOSING_SECONDS
        while self._under_way and time.monotonic() < ends:
            time.sleep(LOOK_SECONDS)
