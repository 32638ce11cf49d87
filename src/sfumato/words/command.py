"""How to go on from a point: the command line that makes its release, to be pasted into a shell.

It is derived from the fields of the data's declaration and of a candidate, so a new field is either an option of the
same name or an error here, and never left out.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from sfumato.configuration import quoted_name
from sfumato.engines import Frame
from sfumato.engines.places import shown_place
from sfumato.mixed.study import MixedStudy
from sfumato.table import TableDeclaration
from sfumato.tradeoff import Point, Study
from sfumato.tradeoff.choice.recipients import RECIPIENTS
from sfumato.tradeoff.study.explorable import Explorable
from sfumato.tradeoff.study.texts import changed, option_words, source_word
from sfumato.transactions.study import BasketStudy

DECLARED = "hierarchies.toml"
"""Where a person puts the hierarchies that a study declares itself: the command line reads them from a file."""

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


def anonymize_command(study: Explorable, point: Point) -> str | None:
    """Write the `sfumato anonymize` that makes a point's release; None for what is not a release to make alone."""
    match study:
        case Study(table=declared) if _is_made_here(point) and not isinstance(declared.source, Frame):
            options = _table_words(declared, study)
            source = shown_place(str(declared.source))
        case BasketStudy(baskets=baskets) if not point.is_baseline and not getattr(point.candidate, "warm", ()):
            source, options = baskets.source, baskets.options()
        case MixedStudy(data=data) if _is_made_here(point) and not isinstance(data.table.source, Frame):
            options = [*_table_words(data.table, study), *data.items.options()]
            source = shown_place(str(data.table.source))
        case _:
            return None
    given = changed(point.candidate)
    names = list(given) if point.is_grouped else ["anonymizer"]  # others satisfy no requirement
    settings = [word for name in names for word in (OPTIONS[name], str(given[name]))]
    words = ["sfumato", "anonymize", source_word(source), *options, *settings]
    return shlex.join([*words, "--to", f"release-{point.id}.csv"])


def _table_words(declared: TableDeclaration, study: Explorable) -> list[str]:
    """Write the options that say what a table is."""
    options = option_words(replace(declared, hierarchy={}, weights={}), ("source",))
    options += [f"--weight={quoted_name(name)}={weight!r}" for name, weight in declared.weights.items()]
    return options + ([f"--hierarchies={DECLARED}"] if declares_hierarchies(study) else [])


def _is_made_here(point: Point) -> bool:
    """Say whether a point is a release that a command of ours makes."""
    return point.candidate.anonymizer.is_release and not point.candidate.anonymizer.foreign


def declares_hierarchies(study: Explorable) -> bool:
    """Say whether a study declares hierarchies of its own, which have to be in a file before that command runs."""
    if isinstance(study, MixedStudy):
        return bool(study.data.table.hierarchy)
    return isinstance(study, Study) and bool(study.table.hierarchy)


def release_command(folder: Path, point: Point, recipient: str | None = None) -> str:
    """Write the command that publishes a point of a map in a folder.

    It names the recipient that the point was chosen for, unless weaker bounds than those of this one were given.
    """
    words = ["sfumato", "release", str(folder), "--point", point.id, "--to", f"release-{point.id}.csv"]
    fits = recipient is not None and not RECIPIENTS[recipient].objections(point, point.measures)
    return shlex.join([*words, "--for", str(recipient)] if fits else words)
