"""What comes out: the release value, and writing it."""

from sfumato.release.noisy import READINGS, Guarantee, NoisyRelease, Spent, noisy_release
from sfumato.release.release import (
    FORMS,
    Boxes,
    Form,
    Published,
    Release,
    bucketization,
    generalization,
)
from sfumato.release.staging import check_target, check_targets, staged
from sfumato.release.writing import Format, RowLayout, format_of, write_release

__all__ = [
    "FORMS",
    "READINGS",
    "Boxes",
    "Form",
    "Format",
    "Guarantee",
    "NoisyRelease",
    "Published",
    "Release",
    "RowLayout",
    "Spent",
    "bucketization",
    "check_target",
    "check_targets",
    "format_of",
    "generalization",
    "noisy_release",
    "staged",
    "write_release",
]
