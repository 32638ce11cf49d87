"""What comes out: the release value, and writing it."""
# mypy: implicit-reexport

from sfumato.release.guarantee import Budget, Guarantee, Spent, Unit
from sfumato.release.noisy import NoisyRelease, noisy_release
from sfumato.release.records import RecordRelease, Records, coded_columns, read_as_records, record_release
from sfumato.release.release import (
    FORMS,
    Form,
    Grouped,
    Published,
    Release,
    bucketization,
    counts_people,
    generalization,
    shown_ends,
    widened,
)
from sfumato.release.staging import check_target, check_targets, staged
from sfumato.release.writing import Format, RowLayout, format_of, write_release
