"""The audit of a published file, made by any tool: the second opinion.

It reads the published file and nothing else from the anonymizer. Records with equal published texts form a group (or
those with the same value of a group column), and all results are computed from the definitions, in this package. With
the original it also measures the loss, and whether the rows match those of the original; with an earlier release of
the same people, what the two reveal together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.auditing import item_audit
from sfumato.auditing import question as questions
from sfumato.auditing._against_original import (
    Together,
    carried_values,
    losses,
    observed_hierarchy,
    together,
    unreadable,
)
from sfumato.auditing._item_coverage import Whose, covered
from sfumato.auditing._item_coverage import losses as item_losses
from sfumato.auditing.coverage import Coverage, bucket_coverage, coverage
from sfumato.auditing.decision import Failure, failures
from sfumato.auditing.intersection import Intersection, Seen, intersect
from sfumato.auditing.items import Legend, PublishedRecords, legend_beside, read_published
from sfumato.auditing.ledger import Difference, Throughout, difference, earlier_files, throughout
from sfumato.auditing.missing_values import GENEROUS, Matching, misses_a_value
from sfumato.auditing.notation import Notation
from sfumato.auditing.persons import (
    OF_RECORDS,
    PersonAudit,
    evidence_of_original,
    evidence_of_rows,
    judged_by_persons,
    measured_groups,
    measured_values,
)
from sfumato.auditing.profile import Baseline, Profile, baseline, size_measures, suppression_measures, worst_of
from sfumato.auditing.published_file import (
    EMPTY,
    EMPTY_SHOWN,
    Counted,
    Source,
    TextColumn,
    blank_columns,
    group_sizes_in,
    open_published,
    open_source,
)
from sfumato.auditing.question import MOST_MATCHED, AuditQuestion, Missing, PublishedAttribute, Suppressed, WorstGroup
from sfumato.config.documents import json_text
from sfumato.config.options import check_whole
from sfumato.data.cells import weights_in_words
from sfumato.data.hierarchies.declared import Declared
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import ascii_where_unclear, find_look_alikes, name_alike
from sfumato.data.items import Baskets
from sfumato.data.reading import Table
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.requirements.items import KMAnonymity, PrivacyConstraints, basket_requirement
from sfumato.requirements.requirement import Requirement, requirement
from sfumato.runtime.arrays import Counts, RedactedRepr
from sfumato.texts.catalogue import refusal, t

OF_ALL = ("holds", "file", "records", "measures", "require", "failures", "coverage", "notices")
OF_GROUPS = ("groups", "quasi", "sensitive", "relative_to", "by_sensitive", "worst", "uniques")
OF_TABLES = (
    *("group", "neutral", "with_neutral", "missing", "repeated", "differences", "throughout", "households", "persons"),
)
OF_ITEMS = ("published_items", "empty", "known", "weakest")
"""The fields about items."""


@dataclass(frozen=True, repr=False)
class Audit(RedactedRepr):
    """The results of an audit, about attributes, items, or both."""

    public_fields: ClassVar[tuple[str, ...]] = ("quasi", "items", "sensitive", "require", "holds")

    file: str
    records: int
    measures: Mapping[str, float]
    require: str | None = None
    failures: tuple[Any, ...] = ()
    coverage: Coverage | None = None
    notices: tuple[str, ...] = ()

    groups: int = 0
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    relative_to: str = "the file"
    """The table with the distribution Q: the original, or the file itself."""

    by_sensitive: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    worst: tuple[WorstGroup, ...] = ()
    uniques: int = 0
    """Records with unique quasi-identifiers."""

    group: str | None = None
    neutral: tuple[str, ...] = ()
    """Neutral columns that define groups; empty unless they are to be included."""

    with_neutral: tuple[int, int] | None = None
    """By quasi-identifiers and all non-sensitive columns: the smallest group, and the number of unique records; None
    without such columns, or for buckets."""

    missing: Missing = "value"
    """The meaning of a missing quasi-identifier: a separate value, or any value."""

    repeated: tuple[Intersection, ...] = ()
    differences: tuple[Difference, ...] = ()
    """For pairs of files of which one may contain all rows of the other."""

    throughout: tuple[Throughout, ...] = ()
    """For each sensitive attribute, if there are several earlier files."""

    households: Together | None = None
    persons: PersonAudit | item_audit.ItemPersons | None = None
    """The persons of the groups, if persons are counted; otherwise all numbers count records."""

    has_items: bool = False
    items: str | None = None
    """The column of items, if there are attributes, too."""

    published_items: int = 0
    empty: int = 0
    """Records without published items."""

    known: int = 0
    """The number of a person's items that the attacker knows."""

    weakest: tuple[Any, ...] = ()
    """The rarest published sets."""

    rare: tuple[Any, ...] = ()
    """Violated bounds on sets of known items within groups."""

    @property
    def faults(self) -> tuple[Any, ...]:
        """Failing groups, and sets in too few records."""
        return (*self.failures, *self.rare)

    def __getitem__(self, name: str) -> float:
        return self.measures[name]

    def content(self) -> dict[str, Any]:
        """Return all results as plain values."""
        known = OF_ALL + (OF_ITEMS if self.has_items else OF_TABLES)
        known += OF_GROUPS if self.quasi else ()
        known += ("items", "rare") if self.items is not None else ()
        known += ("persons",) if self.persons is not None else ()
        content = {"holds": self.holds, **{name: value for name, value in asdict(self).items() if name in known}}
        if self.coverage is not None and not self.quasi:
            content["coverage"]["holds"] = self.coverage.holds
        return content

    def to_json(self) -> str:
        """Return all results as a JSON document."""
        return json_text(self.content())

    @property
    def holds(self) -> bool:
        """Whether the requirement, the coverage and the households hold, as far as requested."""
        parts = (self.coverage, self.households, self.persons)
        return not self.faults and all(each is None or each.holds for each in parts)

    @property
    def unconfirmed(self) -> str:
        """Describe what the audit does not confirm of our own file; empty if it confirms all."""
        if self.persons is not None and not self.persons.holds:
            return t("notice.audit_written_file_not", unconfirmed=self.persons.unconfirmed[0])
        if self.faults:
            return t("notice.audit_written_file_failed", faults=self.faults[0])
        if self.coverage is None or not self.coverage.holds:
            return t("notice.records_written_file_not", coverage=self.coverage)
        return ""


def audit(
    path: str | Path | Any,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    original: str | Path | Table | Any | None = None,
    group: str | None = None,
    require: str | None = None,
    hierarchies: Mapping[str, Declared] | str | Path | None = None,
    weights: Mapping[str, float] | None = None,
    earlier: str | Path | Any | None = None,
    suppressed: Suppressed | None = None,
    household: str | None = None,
    person: str | None = None,
    missing: Missing = "value",
    escaped_formulas: bool = False,
    strongest: bool = False,
    include_neutral: bool = False,
    named: Source | None = None,
    items: item_audit.ItemQuestion | None = None,
    **reading: Any,
) -> Audit:
    """Measure any published file from its content.

    `original` is the original table: a path, a frame or a bundled name. It can also be a source of hierarchies and
    (without `quasi`) of roles: an open `Table`, the path of a study, the folder of a map. `group` is the column with
    the groups of a bucketized file. `suppressed` is the treatment of rows with `*` in all quasi-identifiers:
    suppressed records to
    "leave-out", or a group to "keep". By default they are a group if `require` is given or all rows are such, and
    otherwise left out. `earlier` is another release of the same people, or the ledger of a mapping: all earlier files.
    `household` is the original's household column: members must show the same shared values. `person` is the original's
    person column: groups then count different persons; a table or a study contains it. With `missing="any"` a missing
    quasi-identifier matches everything. `escaped_formulas` means that the file was written with escaped formulas.
    `weights` are the weights of quasi-identifiers in losses, by default 1; a table or a study contains them. `named`
    has the rows of the file with their persons, known only to the maker. `include_neutral` counts groups by all other
    columns of the file, too, for an attacker who knows them. With `strongest` the judged requirement is the strongest
    of its kind that the file satisfies. `items` are the questions of `audit_mixed` about a column of items.

    `reading` has reading options that correct wrong guesses. `delimiter`, `encoding`, `sheet`, `header`, `header_row`
    and `columns` describe the published files, and `engine` reads them. `na` (texts that mean missing, with
    `missing="any"` in the file, too), `original_encoding`, `decimal_comma`, `decimal_point`, `dates` and `as_written`
    describe the original: published texts are compared with its parsed values. Beyond `memory` (`"4GB"`) an engine
    works on disk, in a private folder of `spill`.
    """
    laid_out, written = _readings(reading)
    if items is None and require is not None:
        requirement(require)
    options = {**reading, "hierarchies": hierarchies, "weight": weights}
    original = questions.opened_original(original, options)
    file = open_published(path, replace(laid_out, escaped=escaped_formulas))
    roles = questions.roles_in(file.engine.columns, _names(quasi), _names(sensitive), original)
    if items is not None:
        items.check(file, (*roles[0], *roles[1]))
        of_groups = items.parts(roles[1])[0]
        require = None if of_groups is None else str(of_groups)
    person = original.roles.person if person is None and isinstance(original, Table) else person
    if require is not None:
        requirement(require).check_counting(person)
    if isinstance(original, str | Path):
        written = replace(written, as_written=(*written.as_written, *blank_columns(file, (*roles[0], *roles[1]))))
    asked = AuditQuestion(
        file,
        *roles,
        None if original is None else _opened(original, written, items),
        group,
        suppressed,
        household,
        person,
        missing,
        written.na,
        require,
        questions.given_weights(roles[0], original, weights),
        () if items is None else (items.column,),
        _included(file, roles, group, earlier) if include_neutral else (),
    )
    asked.check()
    given = questions.given_hierarchies(asked, original, hierarchies)
    before = earlier_files(earlier, file.origin)
    sources = [open_published(one, replace(laid_out, escaped=escaped)) for one, escaped in before.files]
    answer = _answer(asked, given, sources, before.named, strongest and person is None)
    if person is not None:
        answer = _by_persons(answer, asked, given, named)
    answer = replace(answer, notices=(*answer.notices, *before.notices))
    return answer if items is None else item_audit.with_items(answer, asked, items, hierarchies)


def audit_mixed(
    path: str | Path | Any,
    quasi: Sequence[str],
    items: str,
    require: str | None = None,
    original: str | Path | Any | None = None,
    sensitive: Sequence[str] = (),
    sensitive_items: Sequence[str] = (),
    legend: Legend | None = None,
    tree: Hierarchy | None = None,
    known: int | None = None,
    local: bool = False,
    separator: str | None = None,
    original_separator: str | None = None,
    **of_table: Any,
) -> Audit:
    """Measure any published table with a column of items from its content.

    `items` is that column: lists, or cells with `separator` (`;`) between items. `known` is the number of a person's
    items that an attacker knows in addition to the quasi-identifiers: by default the m of the requirement, else two.
    `original` is the original table, with a column of the same name. `sensitive_items` are the items, or nodes of
    `tree`, of a requirement on the column of items. `legend` has the items of published texts that are unclear
    otherwise. `local` means that an item may have several published forms in a group. The rest is as in `audit`.
    """
    at = (separator, original_separator)
    asked = item_audit.ItemQuestion(items, require, sensitive_items, legend, tree, known, local, *at)
    return audit(path, quasi, sensitive, original, items=asked, **of_table)


def audit_baskets(
    file: str | Path | PublishedRecords,
    require: str | None = None,
    original: Baskets | None = None,
    known: int | None = None,
    legend: Legend | None = None,
    local: bool = False,
    named: Whose | None = None,
    **reading: Any,
) -> Audit:
    """Measure any published file of baskets from its content.

    `known` is the number of a person's items that an attacker knows: by default the m of the requirement, else two.
    `original` are the original baskets (with their tree, if its nodes are published). `legend` has the items of
    published texts that are unclear otherwise; by default it is the legend next to the file (`FILE.legend.json`),
    unless that belongs to another file. `local` means that an item may have several published forms; then less can be
    checked.
    If the original has a person column, persons are counted. `named`, known only to the maker, has the numbers of
    records with a set of texts for each kind of person.

    `reading` has reading options. A file with one item per row (`who`, `item`) is recognized by the names of its
    columns, unless every line is a record (`lines=True`); `column` is the column of lists. `separator` and `encoding`
    are those of a text file. `escaped_formulas` means that it was written with escaped formulas. Beyond `memory` it is
    counted on disk, in a private folder of `spill`.
    """
    read = file if isinstance(file, PublishedRecords) else read_published(file, **reading)
    beside: tuple[str, ...] = ()
    if legend is None and not isinstance(file, PublishedRecords):
        legend, beside = legend_beside(Path(file))
    wanted = None
    if require is not None:
        wanted = basket_requirement(require).counting(original is not None and original.persons is not None)
    usual = wanted.m if isinstance(wanted, KMAnonymity) else item_audit.USUAL_KNOWN
    known = usual if known is None else known
    check_whole("known", known, least=1)
    readings = None if original is None else item_audit.stands_for(read.labels, original.items, original.tree, legend)
    if wanted is not None and wanted.names_items and readings is None:
        raise refusal("audit_error.names_items", name=wanted.name)
    people, persons, checked = read, None, None
    if original is not None and readings is not None:
        checked = covered(read, original, readings, local)
    if checked is not None and original is not None and original.persons is not None:
        people, persons = item_audit.by_persons(read, original, readings, checked, named)
    counted = {size: people.itemsets(size) for size in range(1, known + 1)}
    measures, listed = item_audit.itemset_measures(counted), list[item_audit.RareSet]()
    if isinstance(wanted, PrivacyConstraints):
        assert original is not None and readings is not None
        listed = item_audit.known_lines(people, wanted, original, readings)
        measures = {"protected_risk": 1 / min((line.records for line in listed), default=inf)} | measures
    if original is not None and readings is not None:
        measures |= {} if local else item_losses(read, original, readings)
    many, notices = t("notice.records_show", records=read.records), [*read.notices, *beside]
    notices += [t("notice.nothing_nobody_finds_person", empty=read.empty, many=many)] if read.empty else []
    notices += [t("notice.basket_no_other_record", alone=read.alone, many=many)] if read.alone else []
    return Audit(
        read.origin,
        read.records,
        measures,
        None if wanted is None else str(wanted),
        tuple(item_audit.basket_failures(people, wanted, counted, original, readings, listed)),
        checked,
        tuple(notices),
        has_items=True,
        published_items=len(read.labels),
        empty=read.empty,
        known=known,
        weakest=tuple(item_audit.weakest(people, counted)),
        persons=persons,
    )


def _answer(
    asked: AuditQuestion, given: Mapping[str, Hierarchy], earlier: Sequence[Source], named: bool, strongest: bool
) -> Audit:
    counts = [asked.count((name,)) for name in asked.sensitive] or [asked.count(())]
    plain, left_out = counts[0]
    notices = [*asked.file.engine.notices, *(asked.original.engine.notices if asked.original else ())]
    notices += star_notices(asked, plain, left_out)
    matching = _matching(asked, plain, earlier)
    grouped = matching is None or asked.group is not None
    attributes = {
        name: questions.attribute_of(asked, name, counted, given.get(name))
        for name, (counted, _) in zip(asked.sensitive if grouped else (), counts, strict=False)
    }
    one = next(iter(attributes.values()), None) or PublishedAttribute(plain, *plain.number(asked.grouping), None)
    sizes = questions.group_sizes(one)
    total = None if asked.original is None else asked.original.count(()).records
    suppressed = (left_out or None) if total is None else max(total - plain.records, 0)
    by_sensitive = {
        name: attribute.profile.measures() for name, attribute in attributes.items() if attribute.profile is not None
    }
    alike = sizes if asked.group is None else _alike(asked, plain)
    measures = {
        **(size_measures(sizes, alike) if grouped else {}),
        **suppression_measures(sizes if grouped else None, suppressed),
        **({} if matching is None else matching.measures()),
        **worst_of(by_sensitive),
    }
    checked = households = None
    if asked.original is not None:
        domains, words = _domains(asked, given)
        measures |= losses(asked.covering(plain), asked.quasi, domains, suppressed or 0, asked.weights)
        checked = _coverage(asked, domains, given)
        households = _households(asked, domains)
        notices += [words, *weights_in_words(asked.weights), *unreadable(asked.covering(plain), asked.quasi, domains)]
    notices += [*empty_notices(asked, plain, attributes), *missing_notices(asked, plain, matching)]
    notices += [*notices_of(asked, attributes, given)]
    ungrouped = matching if matching is not None and not grouped else None
    repeated = _repeated(asked, given, earlier, attributes, named)
    notices += repeated.pop("notices", ())
    others = _neutral(asked.file, asked.quasi, asked.sensitive, asked.apart) if asked.group is None else ()
    wanted = () if asked.require is None else requirement(asked.require).parts
    judged = [part.strengthen(measures, by_sensitive) for part in wanted] if strongest else wanted
    failed = _failures(asked, _joined(judged), attributes, one, sizes, ungrouped)
    if failed and strongest:  # as a gate the audit may count fewer values than it measures
        failing = {failure.requirement for failure in failed}
        judged = [part if str(kept) in failing else kept for part, kept in zip(wanted, judged, strict=True)]
        failed = _failures(asked, _joined(judged), attributes, one, sizes, ungrouped)
    return Audit(
        file=asked.file.origin,
        records=plain.records,
        groups=len(sizes),
        quasi=asked.quasi,
        sensitive=asked.sensitive,
        group=asked.group,
        neutral=asked.neutral,
        with_neutral=group_sizes_in(asked.file.engine, (*asked.quasi, *others)) if others else None,
        relative_to="the file" if asked.original is None else f"the original, {asked.original.origin}",
        measures=measures,
        by_sensitive=by_sensitive,
        worst=questions.worst_groups(asked, attributes, one, sizes if ungrouped is None else ungrouped.frequencies),
        uniques=int((alike == 1).sum()) if matching is None else matching.uniques,
        missing=asked.missing,
        require=_joined(judged) if strongest else asked.require,
        failures=failed,
        coverage=checked,
        **repeated,
        households=households,
        notices=tuple(notices),
    )


# -- reading -------------------------------------------------------------------------------------------------------

OF_FILE = ("delimiter", "encoding", "sheet", "header", "header_row", "columns", "engine")
"""Reading options of published files; the others concern the original, some both."""


def _readings(options: Mapping[str, Any]) -> tuple[Reading, Reading]:
    """Return the reading options of the published files and of the original."""
    lists = {one.name for one in fields(Reading) if one.default == ()}
    known: dict[str, Any] = {name: _names(value) if name in lists else value for name, value in options.items()}
    both: dict[str, Any] = {name: known.pop(name) for name in ("memory", "spill") if name in known}
    of_file = {name: known.pop(name) for name in OF_FILE if name in known}
    return Reading(**both, **of_file), Reading(**both, encoding=known.pop("original_encoding", None), **known)


def _opened(original: Any, reading: Reading, items: item_audit.ItemQuestion | None) -> Source:
    """Open the original; its items are read unchanged."""
    source = open_source(original, reading)
    if items is None or not isinstance(original, str | Path):
        return source
    if items.column not in source.engine.columns or items.column in source.engine.nested:
        return source
    return open_source(original, replace(reading, as_written=(*reading.as_written, items.column)))


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _joined(parts: Iterable[Requirement]) -> str | None:
    """Return the text of a requirement's parts; None without parts."""
    return " & ".join(map(str, parts)) or None


def _neutral(file: Source, *others: Sequence[str]) -> tuple[str, ...]:
    """List the columns of a file without other roles."""
    known = {*file.engine.nested, *(name for names in others for name in names)}
    return tuple(name for name in file.engine.columns if name not in known)


def _included(
    file: Source, roles: tuple[Sequence[str], Sequence[str]], group: str | None, earlier: Any
) -> tuple[str, ...]:
    """List the neutral columns of a file that define groups, if requested."""
    if group is not None or earlier is not None:
        other = "--group" if group is not None else "--with"
        raise refusal("include_neutral_counts_groups", other=other)
    neutral = _neutral(file, *roles)
    if not neutral:
        raise refusal("audit_error.no_neutral", origin=file.origin)
    return neutral


def _alike(asked: AuditQuestion, counted: Counted) -> Counts:
    """Count the records that show each combination of quasi-identifiers."""
    return np.bincount(counted.number(asked.quasi)[1], weights=counted.counts).astype(np.int64)


def _matching(asked: AuditQuestion, plain: Counted, earlier: Sequence[Source]) -> Matching | None:
    """Count the matching records of each one, if a missing value matches everything and some record lacks one."""
    known = (*asked.quasi, *asked.neutral)
    if asked.missing == "value" or not misses_a_value(plain, known):
        return None
    if earlier:
        raise refusal("audit_error.no_groups_to_compare")
    return Matching.of(plain, known)


# -- against the original ------------------------------------------------------------------------------------------


def _domains(asked: AuditQuestion, given: Mapping[str, Hierarchy]) -> tuple[dict[str, Hierarchy], str]:
    """Return the domain of every quasi-identifier: its hierarchy, or one made from the original's values."""
    assert asked.original is not None
    domains = {}
    for name in asked.quasi:
        original = asked.original.count((name,))
        domain = given[name] if name in given else observed_hierarchy(name, original)
        domains[name] = domain.with_missing() if "" in original.columns[name].texts else domain
    observed = [name for name in asked.quasi if name not in given]
    words = t("notice.loss_measured_hierarchies_given")
    if observed:
        words = t("notice.loss_measured_values_occur", observed=", ".join(observed))
        words += t("notice.hierarchies_given_rest") if len(observed) < len(asked.quasi) else ""
    return domains, words


def _by_persons(answer: Audit, asked: AuditQuestion, given: Mapping[str, Hierarchy], named: Source | None) -> Audit:
    """Count persons instead of records: in the requirement, and in the risks, which replace those of records.

    `named` rows have their persons; otherwise the original determines the possible persons of a row.
    """
    assert asked.original is not None and asked.person is not None
    person, wanted = asked.person, None if answer.require is None else requirement(answer.require)
    others = [name for name in _others(asked) if name in asked.sensitive or _few(asked)]
    original = asked.original.count([*asked.quasi, *others, person])
    nobody = np.array([text == "" for text in original.columns[person].texts])[original.columns[person].codes]
    if nobody.any():
        raise refusal(
            "records_no_value_person",
            origin=asked.original.origin,
            counts=int(original.counts[nobody].sum()),
            person=person,
        )

    def called(name: str, column: TextColumn) -> TextColumn:
        return questions.canonical(name, column, given.get(name))

    if named is not None:
        found = evidence_of_rows(asked.file, named, person, asked.quasi, asked.sensitive, original)
    else:
        published = asked.covering(asked.count(others)[0])
        for name in asked.sensitive:
            published = published.replaced(name, called(name, published.columns[name]))
            original = original.replaced(name, called(name, original.columns[name]))
        domains = _domains(asked, given)[0]
        notations = {name: Notation(domains[name], _values(original, name)) for name in asked.quasi}
        columns = asked.quasi, others, asked.sensitive
        found = evidence_of_original(published, original, person, *columns, notations)
    whose = original.columns[person].codes.astype(np.int64)
    table = {name: (original.columns[name], whose, original.counts) for name in asked.sensitive}
    persons, failed = judged_by_persons(person, found, wanted, asked.sensitive, called, table, given)
    kept = {name: value for name, value in answer.measures.items() if name in OF_RECORDS}
    by_sensitive = measured_values(found, asked.sensitive, called, table, given)
    return replace(
        answer,
        measures={**persons.measures(), **measured_groups(found), **worst_of(by_sensitive), **kept},
        by_sensitive=by_sensitive,
        worst=tuple(group for group in answer.worst if group.why == "smallest"),
        require=None if wanted is None else str(wanted.by_persons),
        failures=failed,
        persons=persons,
    )


def _others(asked: AuditQuestion) -> list[str]:
    """List the other columns that both files have."""
    assert asked.original is not None
    known = [name for name in asked.file.engine.columns if name in asked.original.engine.columns]
    return [name for name in known if name not in (*asked.quasi, *asked.apart, asked.group, asked.person)]


def _few(asked: AuditQuestion) -> bool:
    """Whether the original is so small that rows are matched by neutral columns, too."""
    assert asked.original is not None
    return asked.original.engine.row_count <= MOST_MATCHED


def _coverage(asked: AuditQuestion, domains: Mapping[str, Hierarchy], given: Mapping[str, Hierarchy]) -> Coverage:
    """Check that the rows match original records."""
    others = _others(asked)
    apart = [name for name in others if name not in asked.sensitive]
    if _few(asked) or not apart:
        return _covered(asked, domains, given, others)
    coverage = _covered(asked, domains, given, [name for name in others if name in asked.sensitive])
    beside = carried_values(asked, apart)
    return Coverage(
        coverage.checked + beside.checked,
        coverage.exact,
        coverage.uncovered + beside.uncovered,
        (*beside.examples, *coverage.examples),
    )


def _covered(
    asked: AuditQuestion, domains: Mapping[str, Hierarchy], given: Mapping[str, Hierarchy], others: Sequence[str]
) -> Coverage:
    """Check that the rows match original records that agree in the other columns."""
    assert asked.original is not None
    published = asked.covering(asked.count(others)[0])
    original = asked.original.count([*asked.quasi, *others])
    for name in asked.sensitive:
        published, original = (
            counted.replaced(name, questions.canonical(name, counted.columns[name], given.get(name)))
            for counted in (published, original)
        )
    notations = {name: Notation(domains[name], _values(original, name)) for name in asked.quasi}
    if asked.group is None:
        return coverage(published, original, asked.quasi, others, notations)
    neutral = [name for name in others if name not in asked.sensitive]
    return bucket_coverage(published, original, asked.quasi, neutral, asked.sensitive, asked.group, notations)


def _households(asked: AuditQuestion, domains: Mapping[str, Hierarchy]) -> Together | None:
    """Check that members of a household show the same shared values."""
    assert asked.original is not None
    if asked.household is None:
        return None
    original = asked.original.count([asked.household, *asked.quasi])
    notations = {name: Notation(domains[name], _values(original, name)) for name in asked.quasi}
    return together(asked.covering(asked.count(())[0]), original, asked.household, asked.quasi, domains, notations)


# -- findings ------------------------------------------------------------------------------------------------------


def _failures(
    asked: AuditQuestion,
    require: str | None,
    attributes: Mapping[str, PublishedAttribute],
    one: PublishedAttribute,
    sizes: Counts,
    matching: Matching | None,
) -> tuple[Failure, ...]:
    if require is None:
        return ()
    if matching is not None:
        return matching.failures(requirement(require))

    def texts_of(column: str | None, group: int) -> dict[str, str]:
        return (one if column is None else attributes[column]).shown(group, asked.grouping)

    profiles = {name: attribute.profile for name, attribute in attributes.items() if attribute.profile is not None}
    return tuple(failures(requirement(require), profiles, sizes, texts_of))


def _repeated(
    asked: AuditQuestion,
    given: Mapping[str, Hierarchy],
    earlier: Sequence[Source],
    attributes: Mapping[str, PublishedAttribute],
    named: bool,
) -> dict[str, Any]:
    """Compare with earlier releases, for each common sensitive attribute; a `named` release must have one."""
    if not earlier:
        return {}
    original = None if asked.original is None else asked.original.count(asked.quasi)
    notations = {name: Notation(given.get(name), _values(original, name)) for name in asked.quasi}
    seen: dict[str, list[tuple[Seen, Seen]]] = {}
    found: dict[str, list[Any]] = {"repeated": [], "differences": [], "notices": []}
    for source in earlier:
        before = _before(asked, source, attributes)
        for name in before.sensitive:
            theirs, ours = _both(asked, before, name, attributes[name], given.get(name))
            together = intersect(theirs, ours, source.origin, notations, original)
            if together is None and named:
                wrong = t("notice.no_group_person_common")
                raise BadInputError(f"{source.origin}: {wrong}")
            if together is None:
                found["notices"].append(t("notice.nobody_can_group", origin=source.origin, origin_2=asked.file.origin))
            else:
                found["repeated"].append(together)
            if theirs.grouping == ours.grouping and asked.group is None:
                seen.setdefault(name, []).append((theirs, ours))
                taken = difference(theirs, ours, source.origin)
                found["differences"] += [] if taken is None else [taken]
    found["throughout"] = [throughout(pairs) for pairs in seen.values() if len(pairs) == len(earlier) > 1]
    return {name: tuple(values) for name, values in found.items()}


def _before(asked: AuditQuestion, earlier: Source, attributes: Mapping[str, PublishedAttribute]) -> AuditQuestion:
    """Return the question about an earlier release."""
    common = tuple(name for name in asked.quasi if name in earlier.engine.columns)
    shared = tuple(name for name in attributes if name in earlier.engine.columns)
    if not common or not shared:
        what = "quasi-identifier" if not common else "sensitive column"
        raise refusal("no_later_file_earlier", origin=earlier.origin, what=what)
    group = asked.group if asked.group in earlier.engine.columns else None
    return AuditQuestion(earlier, common, shared, None, group, asked.suppressed)


def _values(original: Counted | None, name: str) -> frozenset[str]:
    return frozenset() if original is None else frozenset(original.columns[name].texts) - {"*"}


def _both(
    asked: AuditQuestion, before: AuditQuestion, name: str, attribute: PublishedAttribute, hierarchy: Hierarchy | None
) -> tuple[Seen, Seen]:
    """Read both releases over the values of either, with the same Q."""
    counted, _ = before.count((name,))
    texts = questions.canonical(name, counted.columns[name], hierarchy)
    assert attribute.profile is not None and attribute.column is not None
    known = attribute.profile.baseline
    if asked.judges_values:
        texts = texts.called(name_alike((*known.values, *texts.texts))[len(known.values) :])
    every = TextColumn(known.values, np.arange(len(known.values), dtype=np.int32))
    compared = baseline(name, every, known.counts, texts.texts, hierarchy)
    number = counted.number(before.grouping)[1]
    theirs = Profile.of(compared, texts, number, counted.counts)
    ours = Profile.of(compared, attribute.column, attribute.number, attribute.counted.counts)
    return (
        Seen.of(counted, before.quasi, before.grouping, theirs),
        Seen.of(attribute.counted, asked.quasi, asked.grouping, ours),
    )


MOST_SHOWN = 5
"""The most values that a sentence names."""


def star_notices(asked: AuditQuestion, plain: Counted, left_out: int) -> list[str]:
    """Report the treatment of rows with `*` only."""
    if left_out:
        return [t("audit_notice.stars_left_out", left_out=left_out, of=left_out + plain.records)]
    stars = int(plain.counts[plain.all_stars(asked.quasi)].sum())
    if not stars:
        return []
    if asked.suppressed == "keep":
        return [t("notice.rows_all_quasi_identifiers", stars=stars)]
    if stars == plain.records:
        return [t("notice.every_row_shows_all")]
    return [t("audit_notice.stars_counted", stars=stars, records=plain.records)]


def empty_notices(asked: AuditQuestion, plain: Counted, attributes: Mapping[str, PublishedAttribute]) -> list[str]:
    """Report where missing values and empty texts are distinguished, and where they are not."""
    notices = [
        t("audit_notice.empty_texts", name=name, empty_shown=EMPTY_SHOWN)
        for name in dict.fromkeys((*asked.quasi, *asked.grouping))
        if EMPTY in plain.columns[name].texts
    ]
    for name, attribute in attributes.items():
        missing = "" in attribute.counted.columns[name].texts
        if missing and EMPTY in asked.file.count((name,)).columns[name].texts:
            notices.append(t("notice.sensitive_column_values", name=name))
    return notices


def missing_notices(asked: AuditQuestion, plain: Counted, matching: Matching | None) -> list[str]:
    """Report the treatment of missing values."""
    if asked.missing == "value":
        return []
    if matching is None:
        return [t("notice.no_record_misses_quasi")]
    if asked.group is not None:
        return [GENEROUS]
    rest = t("notice.smallest_group")
    rest += t("notice.groups_tell", sensitive=", ".join(asked.sensitive)) if asked.sensitive else ""
    return [GENEROUS, t("notice.not_given", rest=rest)]


def notices_of(
    asked: AuditQuestion, attributes: Mapping[str, PublishedAttribute], given: Mapping[str, Hierarchy]
) -> list[str]:
    """Return notices that are needed to understand the numbers."""
    notices = []
    if asked.original is None:
        notices.append(t("notice.without_original"))
    if asked.group is not None:
        notices.append(t("audit_notice.buckets", group=asked.group))
    for name, attribute in attributes.items():
        assert attribute.profile is not None
        notices += _value_notices(attribute.profile.baseline)
        notices += name_look_alikes(name, attribute.texts, asked.judges_values)
        notices += name_unknown_values(name, attribute.profile) if asked.judges_values else []
    unknown = [
        name
        for name in asked.file.engine.columns
        if name not in (*asked.quasi, *asked.sensitive, *asked.neutral, *asked.apart, asked.group)
    ]
    if unknown:
        notices.append(t("audit_notice.no_role", unknown=", ".join(unknown)))
    return notices


def _value_notices(compared: Baseline) -> list[str]:
    notices = []
    if compared.known == 1:
        only = compared.values[int(np.flatnonzero(compared.counts)[0])]
        notices.append(t("notice.sensitive_column_value_only", name=compared.name, only=only))
    elif compared.order != "the hierarchy":
        how = "as numbers" if compared.order == "number" else "as text"
        notices.append(t("notice.ordered_takes_values_rising", name=compared.name, how=how))
    strange = [value for value, count in zip(compared.values, compared.counts, strict=True) if count == 0]
    if strange:
        examples = ", ".join(map(repr, strange[:MOST_SHOWN]))
        notices.append(t("notice.sensitive_column_values_no", name=compared.name, examples=examples))
    return notices


def name_look_alikes(name: str, texts: Iterable[str], gate: bool) -> list[str]:
    """Report sensitive values that look alike: as a gate the audit counts them as one value."""
    alike = find_look_alikes(texts)
    if not alike:
        return []
    examples = "; ".join(", ".join(map(ascii_where_unclear, values[:MOST_SHOWN])) for values in alike[:MOST_SHOWN])
    more = "" if len(alike) <= MOST_SHOWN else t("notice.other_sets", alike=len(alike) - MOST_SHOWN)
    if gate:
        return [t("notice.sensitive_column_look", name=name, examples=examples, more=more)]
    return [t("audit_notice.look_alikes", name=name, examples=examples, more=more)]


def name_unknown_values(name: str, profile: Profile) -> list[str]:
    """Report the number of ambiguous sensitive values, and how a requirement reads them."""
    rows = int(profile.count[profile.open].sum())
    if not rows:
        return []
    return [t("audit_notice.open_values", name=name, rows=rows)]
