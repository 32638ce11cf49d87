"""What comes out: the release value, and writing it."""

from sfumato.release.noisy import READINGS, Guarantee, NoisyRelease, Spent, noisy_release
from sfumato.release.release import (
    FORMS,
    Assignment,
    Boxes,
    Form,
    Published,
    Release,
    bucketization,
    generalization,
    histograms_of,
)
from sfumato.release.writing import Format, RowLayout, format_of, staged, write_release

__all__ = [
    "FORMS",
    "READINGS",
    "Assignment",
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
    "format_of",
    "generalization",
    "histograms_of",
    "noisy_release",
    "staged",
    "write_release",
]
