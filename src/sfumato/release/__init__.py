"""What comes out: the release value, and writing it."""

from sfumato.release.release import (
    FORMS,
    Assignment,
    Boxes,
    Form,
    Release,
    bucketization,
    generalization,
    histograms_of,
)
from sfumato.release.writing import Format, RowLayout, format_of, staged, write_release

__all__ = [
    "FORMS",
    "Assignment",
    "Boxes",
    "Form",
    "Format",
    "Release",
    "RowLayout",
    "bucketization",
    "format_of",
    "generalization",
    "histograms_of",
    "staged",
    "write_release",
]
