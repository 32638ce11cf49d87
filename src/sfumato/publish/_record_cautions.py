"""What perturbed and synthetic records do not protect against, said of this very release.

As everywhere, texts are for everybody and follow from the settings and the published file; what was found with the
table at hand stands in `count` and is for the publisher.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker
from sfumato.publish._noisy_cautions import columns_left_out
from sfumato.publish.cautions import Caution
from sfumato.release.records import RecordRelease, replicated_uniques, unchanged_records
from sfumato.texts.format import counted, listed

BESIDE = "; a column that shall stand beside changed ones as it is must be quasi, with what is changed in columns="


def record_cautions(release: RecordRelease, maker: RecordMaker) -> list[Caution]:
    """List what this release does not protect against; what its maker has to say first."""
    return [*_made(release, maker), *_drawn(maker), *_unproved(maker), *_always(release)]


def _made(release: RecordRelease, maker: RecordMaker) -> Iterator[Caution]:
    if maker.caution:
        yield Caution("how it was made", maker.caution)
    if release.people:
        same = unchanged_records(release)
        yield Caution(
            "changed values",
            "A row stands for a person, and what it says of the person may be untrue. Some rows may be as they were "
            "recorded, and nothing tells which.",
            f"{same:,} of {counted(release.records, 'row')} say just what was recorded of the person" if same else "",
        )
    else:
        copied, unique = replicated_uniques(release)
        yield Caution(
            "synthetic records",
            "Nobody is behind a row; but a row may be just like the record of somebody who is like nobody else, and "
            "whoever knows that person well can think so.",
            f"{copied:,} of the {counted(unique, 'record')} that occur once in the table stand in the file"
            if copied
            else "",
        )


def _drawn(maker: RecordMaker) -> Iterator[Caution]:
    """Say that chance hides nothing from who can repeat it; for everybody whether or not there was a seed."""
    if maker.draws_at_random:
        seeded = getattr(maker, "seed", None) is not None
        yield Caution(
            "chance",
            "What was drawn at random hides something only as long as nobody can draw the same again.",
            "it was drawn with a seed, and who guesses that can; leave the seed out of what you publish"
            if seeded
            else "",
        )


def _unproved(maker: RecordMaker) -> Iterator[Caution]:
    if not maker.promises:
        yield Caution(
            "nothing is proved",
            "No property of this file bounds what can be learned of a person from it. What is known of its risk comes "
            "from attacks that were tried, and somebody may try a better one.",
        )
    else:
        yield Caution(
            "what k counts",
            "The promise is about how many rows look alike. A row's values are not those that were recorded, so who "
            "knows a person's true values may still find which rows are near them.",
        )


def _always(release: RecordRelease) -> Iterator[Caution]:
    yield Caution(
        "membership",
        "Who knows a person's record can compare it with the rows and judge whether it was among those that the file "
        "was made of. Only differential privacy limits this.",
    )
    yield Caution(
        "conclusions",
        "What the file says of few people at once may be an artefact of how it was made: draw no conclusion about "
        "anybody, and none about small groups without asking the publisher.",
    )
    yield Caution(
        "composition",
        "Another release about the same people, by whomever, can be joined with this one; two files made in this way "
        "of the same table tell more than either.",
    )
    others = columns_left_out(release.table)
    yield Caution(
        "other columns",
        "Only quasi-identifiers and sensitive attributes are in this file; no column is published as it is.",
        f"not in it: {listed(others)}{BESIDE if release.people else ''}" if others else "",
    )
