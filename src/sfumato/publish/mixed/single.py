"""One release of a table with items in one line: made, measured and written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.engines.formulas import formula_notice
from sfumato.mixed.anonymizers.recipe import MixedRecipe
from sfumato.mixed.measures.scales import MixedMeasures, MixedScales
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.policy import MixedRequirement
from sfumato.mixed.release import MixedRelease
from sfumato.mixed.writing import mixed_names, write_mixed
from sfumato.phrases import counted, wrapped
from sfumato.publish.baskets.leaving_items import legend_line
from sfumato.publish.formulas import written_formulas
from sfumato.publish.single import Clock, Single, Target
from sfumato.tradeoff.exploration._item_details import mixed_changes
from sfumato.transactions.measures.queries import fitting_queries
from sfumato.transactions.policy import known_in_words
from sfumato.words.columns import changes_sentence
from sfumato.words.points import ARROWS, measure_lines
from sfumato.words.sentences import Subject, sentences


def single_mixed(data: MixedTable, recipe: MixedRecipe, target: Target, clock: Clock) -> Single:
    """Make a release of a table with items, measure it and write it."""
    recipe.check(data)
    release = recipe.make(data)
    clock.end("anonymize")
    scales = MixedScales(known=recipe.requirement.m, item_queries=fitting_queries(data.baskets))
    measured = scales.prepare(data).measure(release)
    clock.end("measure")
    names = mixed_names(release, target.legend)
    files = write_mixed(release, target.path, target.force, target.escape_formulas, target.legend)
    clock.end("write")
    formulas = written_formulas(files[:1], target.escape_formulas)
    notices = [*data.notices, *formula_notice(formulas, target.escape_formulas)]
    shown = {name: own for name, own in measured.relational.by_sensitive.items() if name != data.column}
    promised = recipe.requirement.strengthen(measured.values, shown)
    values = {
        "table": data.origin,
        "records": data.records,
        "dropped": data.table.dropped,
        "items": data.column,
        "anonymizer": str(recipe.anonymizer),
        "items_with": str(recipe.item_anonymizer),
        "merging": str(recipe.merging),
        "sets": recipe.sets,
        "requirement": str(recipe.requirement),
        "promise": str(promised),
        "groups": release.relational.groups,
        "changes": mixed_changes(release),
        "published_items": len(names.texts),
        "suppressed": data.records - release.records,
        "measures": dict(measured.values),
        "files": [str(file) for file in files],
        "notices": notices,
        **clock.values(),
    }
    legends = [legend_line(file, len(names.legend)) for file in files[1:]]
    told = [*_lines(release, promised, target.path), *legends, *_measured(data, measured)]
    return Single(files, notices, values, told)


def _lines(release: MixedRelease, promised: MixedRequirement, path: Path) -> list[str]:
    """Say what was written and what it achieves."""
    data = release.data
    rows, groups = counted(release.records, "record"), counted(release.relational.groups, "group")
    lines = [
        f"Wrote {path}: {rows} in {groups}, with what is published of {len(data.baskets.items):,} items.",
        f"In it {promised.rule_in_words()}.",
    ]
    if data.records > release.records:
        lines.append(f"Left out (suppressed): {counted(data.records - release.records, 'record')}.")
    if data.table.dropped:
        lines.append(f"Dropped because a value is missing: {counted(data.table.dropped, 'record')}.")
    done = changes_sentence(mixed_changes(release), data.records - release.records, data.records)
    return [*lines, wrapped(f"What was done: {done}").lstrip()]


def _measured(data: MixedTable, measured: MixedMeasures) -> Sequence[str]:
    subject = Subject(
        tuple(measured.relational.by_sensitive),
        records=data.records,
        known=f"the quasi-identifiers and {known_in_words(2)} of",
        below=MixedScales().linking.below,
    )
    said = sentences(measured.values, subject, measured.relational.by_sensitive)
    return ["", f"Measured {ARROWS}:", *measure_lines(measured.values, said)]
