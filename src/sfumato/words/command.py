"""How to go on from a point: the command line that makes its release, to be pasted into a shell.

It is derived from the fields of the data's declaration and of a candidate, so a new field is either an option of the
same name or an error here, and never left out.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from sfumato.config.sections import changed, source_word
from sfumato.tradeoff import Map, Point
from sfumato.tradeoff.choice.recipients import RECIPIENTS
from sfumato.tradeoff.study.study import Study
from sfumato.words.data_summary import data_words

OPTIONS = {
    "anonymizer": "--with",
    "requirement": "--require",
    "form": "--form",
    "suppress": "--suppress",
    "utility": "--utility",
    "limit": "--limit",
    "item_anonymizer": "--items-with",
    "merging": "--merging",
    "sets": "--sets",
}
"""The option for every field of a candidate."""


def anonymize_command(study: Study, point: Point) -> str | None:
    """Write the `sfumato anonymize` that makes a point's release; None for what is not a release to make alone."""
    named = data_words(study, point)
    if named is None:
        return None
    source, options = named
    given = changed(point.candidate)
    names = list(given) if point.is_grouped else ["anonymizer"]  # others satisfy no requirement
    names.sort(key=list(OPTIONS).index)
    settings = [word for name in names for word in (OPTIONS[name], str(given[name]))]
    words = ["sfumato", "anonymize", source_word(source), *options, *settings]
    return shlex.join([*words, "--to", f"release-{point.id}.csv"])


def release_command(folder: Path, map_: Map, point: Point, recipient: str | None = None) -> str:
    """Write the command that publishes a point of a map in a folder.

    It names the recipient that the point was chosen for, unless weaker bounds than those of this one were given.
    """
    words = ["sfumato", "release", str(folder), "--point", point.id, "--to", f"release-{point.id}.csv"]
    fits = recipient is not None and not RECIPIENTS[recipient].objections(map_, point, point.measures)
    return shlex.join([*words, "--for", str(recipient)] if fits else words)
