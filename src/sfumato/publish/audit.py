"""The audit of a published file, whoever made it: the second opinion.

It reads the file that was published and nothing else of its maker: records with equal published texts form a group (or
those with the same value of a group column), and everything that is said of them is worked out anew from the
definitions, in `assessing` and `deciding`. With the original it also says what the file loses, and whether its rows can
be those of the original; with an earlier release of the same people, what the two give away together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.configuration import check_choice
from sfumato.errors import BadInputError
from sfumato.plain import json_text
from sfumato.publish.assessing import Baseline, Profile, baseline, leaf_codes, size_measures, worst_of
from sfumato.publish.counting import STAR, Counted, Counts, Source, TextColumn, open_source
from sfumato.publish.covering import Coverage, bucket_coverage, coverage
from sfumato.publish.losing import losses, observed_hierarchy, unreadable
from sfumato.publish.matching import GENEROUS, Matching, misses_a_value, reread
from sfumato.publish.notation import Notation
from sfumato.table import DATASETS, Hierarchy, Table, bundled, read_hierarchies
from sfumato.table.declared import Declared, declared

if TYPE_CHECKING:
    from sfumato.publish.deciding import Failure
    from sfumato.publish.repeating import Intersection, Seen
    from sfumato.publish.together import Together

Suppressed = Literal["keep", "leave-out"]
Missing = Literal["value", "any"]
MOST_WORST = 3
"""How many groups are shown for each way of being the worst."""


@dataclass(frozen=True)
class WorstGroup:
    """A group that stands out, by what a reader of the file sees of it."""

    why: str
    sensitive: str | None
    shows: Mapping[str, str]
    size: int
    dominant: str | None
    """The commonest sensitive value."""

    share: float | None
    """The share of that value in the group."""

    measures: Mapping[str, float]


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    file: str
    records: int
    groups: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    group: str | None
    relative_to: str
    """The table whose distribution Q is compared with: the original, or the file itself."""

    measures: Mapping[str, float]
    by_sensitive: Mapping[str, Mapping[str, float]]
    worst: tuple[WorstGroup, ...]
    uniques: int
    """Records that no other record looks like by its quasi-identifiers."""

    missing: Missing = "value"
    """What a missing quasi-identifier is: a value of its own, or any value."""

    require: str | None = None
    failures: tuple[Failure, ...] = ()
    coverage: Coverage | None = None
    repeated: tuple[Intersection, ...] = ()
    households: Together | None = None
    notices: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether the requirement holds, every row is covered and households are treated alike, as far as asked."""
        asked = [own for own in (self.coverage, self.households) if own is not None]
        return not self.failures and all(own.holds for own in asked)

    def __getitem__(self, name: str) -> float:
        return self.measures[name]

    def content(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"holds": self.holds, **asdict(self)}

    def to_json(self) -> str:
        """Write everything as a JSON document."""
        return json_text(self.content())


def audit(
    path: str | Path | Any,
    quasi: Iterable[str],
    sensitive: Iterable[str] = (),
    original: str | Path | Table | Any | None = None,
    group: str | None = None,
    require: str | None = None,
    hierarchies: Mapping[str, Declared] | str | Path | None = None,
    earlier: str | Path | Any | None = None,
    suppressed: Suppressed | None = None,
    household: str | None = None,
    missing: Missing = "value",
    na: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    original_encoding: str = "utf-8",
) -> Audit:
    """Measure any published file from what stands in it.

    `original` is the table it was made of: a path, a frame, a bundled name or an open `Table` (whose hierarchies are
    then used). `group` names the column that tells the groups of a bucketized file. `suppressed` says what rows with
    `*` in all quasi-identifiers are: suppressed records to "leave-out" (the default, unless all rows are such), or a
    group to "keep". `earlier` is another release of the same people. `household` names the original's column that says
    who lives together: do members show the same value of what they share? `missing="any"` lets a missing
    quasi-identifier match everything. `na` lists texts that mean missing in the original, and then in the file too;
    `encoding` is that of the published files.
    """
    asked = Question(
        open_source(path, delimiter, encoding),
        _names(quasi),
        _names(sensitive),
        None if original is None else open_source(original, encoding=original_encoding, na=na),
        group,
        suppressed,
        household,
        missing,
        tuple(na),
    )
    asked.check()
    given = _hierarchies(asked, original, hierarchies)
    return _answer(asked, given, require, None if earlier is None else open_source(earlier, delimiter, encoding))


@dataclass(frozen=True)
class Question:
    """Which file is audited, by which columns, against what."""

    file: Source
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    original: Source | None
    group: str | None
    suppressed: Suppressed | None
    household: str | None = None
    missing: Missing = "value"
    na: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise unless all columns exist and each has one role."""
        if not self.quasi:
            raise BadInputError("there is no quasi-identifier; name the columns an outsider may know (--quasi)")
        named = (*self.quasi, *self.sensitive, *(() if self.group is None else (self.group,)))
        twice = [name for name in named if named.count(name) > 1]
        if twice:
            raise BadInputError(f"column {twice[0]!r} is named twice; give it one role")
        check_choice("missing", self.missing, ("value", "any"))
        if self.suppressed is not None:
            check_choice("suppressed", self.suppressed, ("keep", "leave-out"))
        self.file.check(self.quasi, "--quasi")
        self.file.check(self.sensitive, "--sensitive")
        self.file.check([] if self.group is None else [self.group], "--group")
        if self.household is not None and self.original is None:
            raise BadInputError(
                "who lives together does not stand in a published file: give the table it was made of too (--original)"
            )
        if self.original is not None:
            self.original.check([] if self.household is None else [self.household], "--household, in the original")
            self.original.check(self.quasi, "--quasi, in the original")
            self.original.check(self.sensitive, "--sensitive, in the original")

    @property
    def grouping(self) -> tuple[str, ...]:
        """The columns whose texts tell groups apart."""
        return self.quasi if self.group is None else (self.group,)

    def count(self, more: Sequence[str]) -> tuple[Counted, int]:
        """Count the file over the columns that tell groups apart and some more; also the rows of `*` left out."""
        columns = [*(() if self.group is None else (self.group,)), *self.quasi, *more]
        counted = self.file.count(columns)
        if self.missing == "any":
            counted = reread(counted, self.quasi, dict.fromkeys(self.na, ""))
        stars = counted.all_stars(self.quasi)
        left_out = int(counted.counts[stars].sum())
        if self.suppressed == "keep" or left_out == 0 or (self.suppressed is None and left_out == counted.records):
            return counted, 0
        if left_out == counted.records:
            raise BadInputError(
                f"{self.file.origin}: every row shows * in all quasi-identifiers, so none is left; "
                "they are one group with --suppressed keep"
            )
        return counted.where(~stars), left_out

    def covering(self, counted: Counted) -> Counted:
        """Return what the counted texts cover: a missing value everything, where it matches everything."""
        return counted if self.missing == "value" else reread(counted, self.quasi, {"": STAR})


@dataclass(frozen=True, eq=False)
class Attribute:
    """One sensitive attribute as the file shows it (or none): the counted tuples, and the group of each."""

    counted: Counted
    first: Counts
    number: Counts
    profile: Profile | None

    def shown(self, group: int, names: Sequence[str]) -> dict[str, str]:
        """Return what a group shows."""
        return self.counted.show(int(self.first[group]), names)


def _answer(asked: Question, given: Mapping[str, Hierarchy], require: str | None, earlier: Source | None) -> Audit:
    counts = [asked.count((name,)) for name in asked.sensitive] or [asked.count(())]
    plain, left_out = counts[0]
    notices = _star_notices(asked, plain, left_out)
    matching = _matching(asked, plain, earlier)
    grouped = matching is None or asked.group is not None
    attributes = {
        name: _attribute(asked, name, counted, given.get(name))
        for name, (counted, _) in zip(asked.sensitive if grouped else (), counts, strict=False)
    }
    one = next(iter(attributes.values()), None) or Attribute(plain, *plain.number(asked.grouping), None)
    sizes = _sizes(one)
    total = None if asked.original is None else asked.original.count(()).records
    suppressed = left_out if total is None else max(total - plain.records, 0)
    by_sensitive = {name: own.profile.measures() for name, own in attributes.items() if own.profile is not None}
    alike = sizes if asked.group is None else _alike(asked, plain)
    measures = {
        **(size_measures(sizes, alike, suppressed) if grouped else {"suppressed": suppressed}),
        **({} if matching is None else matching.measures()),
        **worst_of(by_sensitive),
    }
    checked = households = None
    if asked.original is not None:
        domains, words = _domains(asked, given)
        measures |= losses(asked.covering(plain), asked.quasi, domains, suppressed)
        checked = _coverage(asked, domains, given)
        households = _households(asked, domains)
        notices += [words, *unreadable(asked.covering(plain), asked.quasi, domains)]
    notices += [*_missing_notices(asked, plain, matching), *_notices(asked, attributes, given)]
    told = matching if matching is not None and not grouped else None
    return Audit(
        file=asked.file.origin,
        records=plain.records,
        groups=len(sizes),
        quasi=asked.quasi,
        sensitive=asked.sensitive,
        group=asked.group,
        relative_to="the file" if asked.original is None else f"the original, {asked.original.origin}",
        measures=measures,
        by_sensitive=by_sensitive,
        worst=_worst(asked, attributes, one, sizes if told is None else told.frequencies),
        uniques=int((alike == 1).sum()) if matching is None else matching.uniques,
        missing=asked.missing,
        require=require,
        failures=_failures(asked, require, attributes, one, sizes, told),
        coverage=checked,
        repeated=_repeated(asked, given, earlier, attributes),
        households=households,
        notices=tuple(notices),
    )


# -- reading -------------------------------------------------------------------------------------------------------


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _hierarchies(asked: Question, original: Any, given: Any) -> dict[str, Hierarchy]:
    """Build the hierarchies that were given, or those of the table that the original is."""
    if given is None and isinstance(original, Table):
        return dict(original.hierarchies)
    if given is None and isinstance(original, str) and original in DATASETS and not Path(original).exists():
        given = bundled.hierarchies(original)
    entries = read_hierarchies(Path(given)) if isinstance(given, str | Path) else dict(given or {})
    wanted = {*asked.quasi, *asked.sensitive}
    return {name: declared(name, entry, _observed(asked, name)) for name, entry in entries.items() if name in wanted}


def _observed(asked: Question, name: str) -> Any:
    def values() -> tuple[list[str], list[int]]:
        if asked.original is None:
            raise BadInputError("this hierarchy is made of the values of the table: give it too (--original)")
        found = asked.original.engine.distinct(name, asked.original.complete)
        pairs = [(value, int(count)) for value, count in zip(found.values, found.counts, strict=True) if value]
        return [value for value, _ in pairs], [count for _, count in pairs]

    return values


def _attribute(asked: Question, name: str, counted: Counted, hierarchy: Hierarchy | None) -> Attribute:
    """Count one sensitive attribute in every group, and in the table that is compared with."""
    own = _canonical(name, counted.columns[name], hierarchy)
    if asked.original is None:
        table, weights = own, counted.counts
    else:
        original = asked.original.count((name,))
        table, weights = _canonical(name, original.columns[name], hierarchy), original.counts
    compared = baseline(name, table, weights, own.texts, hierarchy)
    first, number = counted.number(asked.grouping)
    return Attribute(counted, first, number, Profile.of(compared, own, number, counted.counts))


def _canonical(name: str, column: TextColumn, hierarchy: Hierarchy | None) -> TextColumn:
    """Call sensitive values by the labels of their leaves, if they have a hierarchy (`22` may stand as `20-24`)."""
    if hierarchy is None:
        return column
    own = hierarchy.with_missing() if "" in column.texts else hierarchy
    labels = [own.leaves[code] for code in leaf_codes(name, own, column.texts)]
    known = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return TextColumn(tuple(known), np.array([known[label] for label in labels], np.int32)[column.codes])


def _sizes(attribute: Attribute) -> Counts:
    return np.bincount(attribute.number, weights=attribute.counted.counts).astype(np.int64)


def _alike(asked: Question, counted: Counted) -> Counts:
    """Count the records that show each combination of quasi-identifiers."""
    return np.bincount(counted.number(asked.quasi)[1], weights=counted.counts).astype(np.int64)


def _matching(asked: Question, plain: Counted, earlier: Source | None) -> Matching | None:
    """Count the records that match each one, where a missing value matches everything and some record misses one."""
    if asked.missing == "value" or not misses_a_value(plain, asked.quasi):
        return None
    if earlier is not None:
        raise BadInputError(
            "--with compares the groups of two files, and where a missing value matches everything there are none; "
            "leave --missing any out"
        )
    return Matching.of(plain, asked.quasi)


# -- against the original ------------------------------------------------------------------------------------------


def _domains(asked: Question, given: Mapping[str, Hierarchy]) -> tuple[dict[str, Hierarchy], str]:
    """Find the domain of every quasi-identifier: its hierarchy, or one made of the original's values."""
    assert asked.original is not None
    domains = {}
    for name in asked.quasi:
        values = asked.original.count((name,)).columns[name].texts
        domain = given[name] if name in given else observed_hierarchy(name, values)
        domains[name] = domain.with_missing() if "" in values else domain
    own = [name for name in asked.quasi if name not in given]
    words = "loss is measured by the hierarchies given"
    if own:
        words = f"loss is measured by the values that occur in the original for {', '.join(own)}"
        words += " and by the hierarchies given for the rest" if len(own) < len(asked.quasi) else ""
    return domains, words


def _coverage(asked: Question, domains: Mapping[str, Hierarchy], given: Mapping[str, Hierarchy]) -> Coverage:
    """Check that the rows can be those of original records."""
    assert asked.original is not None
    columns = asked.original.engine.columns
    known = [name for name in asked.file.engine.columns if name in columns]
    others = [name for name in known if name not in asked.quasi and name != asked.group]
    published = asked.covering(asked.count(others)[0])
    original = asked.original.count([*asked.quasi, *others])
    for name in asked.sensitive:
        published, original = (
            counted.replaced(name, _canonical(name, counted.columns[name], given.get(name)))
            for counted in (published, original)
        )
    notations = {name: Notation(domains[name], frozenset(original.columns[name].texts) - {"*"}) for name in asked.quasi}
    if asked.group is None:
        return coverage(published, original, asked.quasi, others, notations)
    neutral = [name for name in others if name not in asked.sensitive]
    return bucket_coverage(published, original, asked.quasi, neutral, asked.sensitive, asked.group, notations)


def _households(asked: Question, domains: Mapping[str, Hierarchy]) -> Together | None:
    """Check that members of a household show the same value of what they share."""
    assert asked.original is not None
    if asked.household is None:
        return None
    from sfumato.publish.together import together

    original = asked.original.count([asked.household, *asked.quasi])
    notations = {name: Notation(domains[name], _values(original, name)) for name in asked.quasi}
    return together(asked.covering(asked.count(())[0]), original, asked.household, asked.quasi, domains, notations)


# -- findings ------------------------------------------------------------------------------------------------------


def _worst(
    asked: Question, attributes: Mapping[str, Attribute], one: Attribute, sizes: Counts
) -> tuple[WorstGroup, ...]:
    """Show the smallest groups, and for every sensitive attribute the least diverse and those farthest from Q."""
    found = []
    name = next(iter(attributes), None)
    for place in _least(sizes, sizes):
        found.append(_described(asked, "smallest", name, one, place, sizes))
    for name, own in attributes.items():
        assert own.profile is not None
        profile = own.profile
        for why, goodness in (("least diverse", profile.l_frequency), ("farthest from Q", -profile.t_js)):
            places = _least(goodness, profile.sizes)
            found += [_described(asked, why, name, own, place, profile.sizes) for place in places]
    return tuple(found)


def _least(values: NDArray[Any], sizes: Counts) -> list[int]:
    """Find the groups with the least values, the smallest first among equals."""
    last = min(MOST_WORST, len(values)) - 1
    candidates = np.flatnonzero(values <= np.partition(values, last)[last])
    order = np.lexsort((sizes[candidates], values[candidates]))
    return [int(place) for place in candidates[order[:MOST_WORST]]]


def _described(asked: Question, why: str, name: str | None, own: Attribute, place: int, sizes: Counts) -> WorstGroup:
    shows = own.shown(place, asked.grouping)
    if own.profile is None:
        return WorstGroup(why, None, shows, int(sizes[place]), None, None, {})
    value, share = own.profile.dominant(place)
    told = {"l_frequency": own.profile.l_frequency, "l_distinct": own.profile.distinct, "t_js": own.profile.t_js}
    measures = {measure: values[place].item() for measure, values in told.items()}
    return WorstGroup(why, name, shows, int(sizes[place]), value, share, measures)


def _failures(
    asked: Question,
    require: str | None,
    attributes: Mapping[str, Attribute],
    one: Attribute,
    sizes: Counts,
    matching: Matching | None,
) -> tuple[Failure, ...]:
    if require is None:
        return ()
    from sfumato.publish.deciding import failures
    from sfumato.requirements import requirement

    if matching is not None:
        return matching.failures(requirement(require))

    def shown(column: str | None, group: int) -> dict[str, str]:
        return (one if column is None else attributes[column]).shown(group, asked.grouping)

    profiles = {name: own.profile for name, own in attributes.items() if own.profile is not None}
    return tuple(failures(requirement(require), profiles, sizes, shown))


def _repeated(
    asked: Question, given: Mapping[str, Hierarchy], earlier: Source | None, attributes: Mapping[str, Attribute]
) -> tuple[Intersection, ...]:
    """Compare with an earlier release of the same people, for every sensitive attribute that both have."""
    if earlier is None:
        return ()
    from sfumato.publish.repeating import intersect

    common = tuple(name for name in asked.quasi if name in earlier.engine.columns)
    shared = tuple(name for name in attributes if name in earlier.engine.columns)
    if not common or not shared:
        what = "quasi-identifier" if not common else "sensitive column"
        raise BadInputError(f"{earlier.origin}: no {what} of the later file is in the earlier one (--with)")
    group = asked.group if asked.group in earlier.engine.columns else None
    before = Question(earlier, common, shared, None, group, asked.suppressed)
    original = None if asked.original is None else asked.original.count(asked.quasi)
    notations = {name: Notation(given.get(name), _values(original, name)) for name in asked.quasi}
    found = []
    for name in shared:
        theirs, ours = _both(asked, before, name, attributes[name], given.get(name))
        found.append(intersect(theirs, ours, earlier.origin, notations, original))
    return tuple(found)


def _values(original: Counted | None, name: str) -> frozenset[str]:
    return frozenset() if original is None else frozenset(original.columns[name].texts) - {"*"}


def _both(
    asked: Question, before: Question, name: str, own: Attribute, hierarchy: Hierarchy | None
) -> tuple[Seen, Seen]:
    """Read both releases over the values that either has, against the same Q."""
    from sfumato.publish.repeating import Seen

    counted, _ = before.count((name,))
    texts = _canonical(name, counted.columns[name], hierarchy)
    mine = _canonical(name, own.counted.columns[name], hierarchy)
    assert own.profile is not None
    known = own.profile.baseline
    every = TextColumn(known.values, np.arange(len(known.values), dtype=np.int32))
    compared = baseline(name, every, known.counts, texts.texts, hierarchy)
    number = counted.number(before.grouping)[1]
    theirs = Profile.of(compared, texts, number, counted.counts)
    ours = Profile.of(compared, mine, own.number, own.counted.counts)
    return (
        Seen.of(counted, before.quasi, before.grouping, theirs),
        Seen.of(own.counted, asked.quasi, asked.grouping, ours),
    )


# -- notices -------------------------------------------------------------------------------------------------------


def _star_notices(asked: Question, plain: Counted, left_out: int) -> list[str]:
    if left_out:
        return [
            f"rows with * in all quasi-identifiers ({left_out:,} of {left_out + plain.records:,}) were taken for "
            "suppressed records and left out (--suppressed keep makes them a group)"
        ]
    stars = int(plain.counts[plain.all_stars(asked.quasi)].sum())
    if stars == plain.records:
        return ["every row shows * in all quasi-identifiers: this was taken for one group, not for suppressed records"]
    return [f"rows with * in all quasi-identifiers ({stars:,}) were kept as a group, as asked"] if stars else []


def _missing_notices(asked: Question, plain: Counted, matching: Matching | None) -> list[str]:
    """Say what is read into missing values."""
    if asked.missing == "value":
        return []
    if matching is None:
        return ["no record misses a quasi-identifier, so --missing any changes nothing"]
    if asked.group is not None:
        return [GENEROUS]
    rest = "smallest_group, average_group, weighted_k and discernibility"
    rest += f", and what groups tell of {', '.join(asked.sensitive)}" if asked.sensitive else ""
    return [GENEROUS, f"{rest} are not given: records that match one record need not match each other"]


def _notices(asked: Question, attributes: Mapping[str, Attribute], given: Mapping[str, Hierarchy]) -> list[str]:
    """Say what a reader must know to understand the numbers."""
    notices = []
    if asked.original is None:
        notices.append("without the original, Q is the distribution of the file itself (--original gives the true one)")
    if asked.group is not None:
        notices.append(
            f"groups are told by the column {asked.group!r}; the exact quasi-identifiers are in the file, so it does "
            "not hide who is in the table: k is counted from them, and k-anonymity in a requirement is a group size"
        )
    for own in attributes.values():
        assert own.profile is not None
        notices += _value_notices(own.profile.baseline)
    unknown = [name for name in asked.file.engine.columns if name not in (*asked.quasi, *asked.sensitive, asked.group)]
    if unknown:
        notices.append(
            f"columns that were not looked at: {', '.join(unknown)}; one that an outsider may know belongs to --quasi"
        )
    return notices


def _value_notices(compared: Baseline) -> list[str]:
    notices = []
    if compared.known == 1:
        only = compared.values[int(np.flatnonzero(compared.counts)[0])]
        notices.append(f"sensitive column {compared.name!r} has one value only ({only!r}): everybody has it")
    elif compared.order != "the hierarchy":
        how = "as numbers" if compared.order == "number" else "as text"
        notices.append(f"t_ordered takes the values of {compared.name!r} {how} in rising order (it has no hierarchy)")
    strange = [value for value, count in zip(compared.values, compared.counts, strict=True) if count == 0]
    if strange:
        shown = ", ".join(map(repr, strange[:5]))
        notices.append(f"sensitive column {compared.name!r} has values that no original record has: {shown}")
    return notices
