"""Runs that cannot end before a test lets them: what is stopped in the middle is in the middle on any machine."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from unittest import mock

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.cancellation import check_cancelled

GATE = "GATE_OF_HELD_RUNS"
HELD = """
[[candidates]]
anonymizers = ["held"]
requirements = ["k-anonymity k=2"]
"""
"""A candidate that is not made before the gate is there."""


@dataclass(frozen=True)
class Held(Mondrian):
    """Mondrian that waits for a file, for ten minutes at most."""

    name: ClassVar[str] = "held"

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Wait, and cut then."""
        for _ in range(12_000):
            if Path(os.environ[GATE]).exists():
                return super().release(table, requirement, form, budget)
            check_cancelled()
            time.sleep(0.05)
        raise TimeoutError


@contextmanager
def held_until(gate: Path) -> Iterator[None]:
    """Let `held` be an anonymizer, here and in the processes that are started meanwhile (`held_site`)."""
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here / "held_site"), str(here), *sys.path])
    with (
        mock.patch.dict(os.environ, {GATE: str(gate), "PYTHONPATH": paths}),
        mock.patch.dict(ANONYMIZERS._kinds, {Held.name: Held}),
    ):
        yield
