"""Shared by all tests: where the read-only material beside the repository is, and that CI may not skip it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        if os.environ.get("CI"):
            pytest.fail("../shared is not there, and CI must not skip what needs it")
        pytest.skip("../shared is not there")
    return SHARED
