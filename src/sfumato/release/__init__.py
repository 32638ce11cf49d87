"""What comes out: the release value, and writing it."""
# mypy: implicit-reexport

from sfumato.release.noisy import Guarantee, NoisyRelease, Spent, noisy_release
from sfumato.release.release import (
    FORMS,
    Form,
    Published,
    Release,
    bucketization,
    generalization,
)
from sfumato.release.staging import check_target, check_targets, staged
from sfumato.release.writing import Format, RowLayout, format_of, write_release
