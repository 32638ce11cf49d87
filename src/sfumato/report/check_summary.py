"""The printed check of data for data stewards, with established thresholds.

Also the printed hierarchy of a column: its tree with counts, and the effect of each level on k.
"""

from collections.abc import Iterator
from typing import Any

from sfumato.measures.group_risk import THRESHOLDS
from sfumato.measures.superpopulation import SMALL_FRACTION
from sfumato.requirements.items import known_in_words
from sfumato.texts.catalogue import counted, ended, percent, t
from sfumato.tradeoff._check_items import BasketCheck, ItemsCheck, MixedCheck
from sfumato.tradeoff.check import Check, RepeatedPersons
from sfumato.tradeoff.hierarchy_levels import SMALL, ColumnHierarchy, Node

KNOWN_FOR = {11: t("threshold.policy")}
SENTENCE = 5
"""The smallest group that sentences about attributes use."""

LONGEST = 100
"""The maximum length of a set of items."""


BEHIND_DETAILS = frozenset(("attributes", "subsets", "worst", "sets", "rarest"))
"""The paragraphs of a check that are printed with `--details`."""


def check_in_words(check: Check | ItemsCheck, details: bool = True) -> str:
    """Return a check as paragraphs."""
    parts = check_parts(check)
    shown = ["\n".join(lines) for name, lines in parts.items() if details or name not in BEHIND_DETAILS]
    return "\n\n".join(shown) if len(shown) == len(parts) else "\n".join([*shown, t("check.more")])


def check_parts(check: Check | ItemsCheck) -> dict[str, list[str]]:
    """Return the nonempty paragraphs of a check by topic."""
    parts: dict[str, Iterator[str]]
    if isinstance(check, MixedCheck):
        parts = {"study": _study_of_items(check), "table": _mixed_table(check), "known": _known(check)}
    elif isinstance(check, BasketCheck):
        parts = {
            "study": _study_of_items(check),
            "baskets": _baskets(check),
            "known": _known_items(check),
            "sets": _sets(check),
            "rarest": _rarest(check),
        }
    else:
        assert isinstance(check, Check)
        persons = {f"persons {each.identifier}": _persons(check, each) for each in check.persons}
        parts = {
            "study": _study(check),
            "table": _table(check),
            "risk": _risk(check),
            "attributes": _attributes(check),
            "subsets": _subsets(check),
            "worst": _worst(check),
            "neutral": _neutral(check),
            **persons,
            "population": _population(check),
            "household": _household(check),
        }
    written = {name: list(lines) for name, lines in parts.items()}
    return {name: lines for name, lines in written.items() if lines}


def _lines(id: str, /, **places: Any) -> list[str]:
    """Fill in a text of several lines."""
    return t(f"check.{id}", **places).split("\n")


def _study(check: Check) -> Iterator[str]:
    if check.study is None:
        return
    failed = [problem for problem in check.problems if problem.kind == "failed"]
    infeasible = [problem for problem in check.problems if problem.kind == "infeasible"]
    if not check.problems:
        yield t("check.explorable", check=check)
    for problems, id in ((failed, "check.would_fail"), (infeasible, "check.infeasible")):
        if problems:
            yield t(id, check=check, number=len(problems))
            yield from (t("check.problem", problem=problem) for problem in problems)


def _table(check: Check) -> Iterator[str]:
    yield ended(t("check.table", check=check))
    if check.dropped:
        yield t("check.dropped", check=check)
    elif check.missing != "value":
        yield t(f"check.missing_{check.missing}")


def _risk(check: Check) -> Iterator[str]:
    yield from _lines("risk", risk=check.risk)
    for smallest, threshold in THRESHOLDS.items():
        known = KNOWN_FOR.get(smallest, "")
        share = check.risk.above(smallest)
        yield t("check.risk_below", share=percent(share), smallest=smallest, risk=threshold, known=known)


def _attributes(check: Check) -> Iterator[str]:
    if len(check.quasi) < 2:
        return
    yield from _lines("attributes", smallest=SENTENCE)
    rows = [(each.name, f"{each.values:,}", each.without) for each in check.attributes if each.without is not None]
    for name, values, risk in [*rows, (t("check.as_it_stands"), "", check.risk)]:
        below, alone = percent(risk.above(SENTENCE)), percent(risk.uniques_share)
        yield t("check.attribute", name=name, values=values, below=below, alone=alone, risk=risk)
    first, risk = check.attributes[0], check.risk
    if first.without is not None and first.without.below[SENTENCE] < risk.below[SENTENCE]:
        shares = {"below": first.without.above(SENTENCE), "now": risk.above(SENTENCE)}
        yield t("check.without", name=first.name, **shares, smallest=SENTENCE)


def _subsets(check: Check) -> Iterator[str]:
    if len(check.quasi) < 2:
        return
    yield t("check.subsets")
    for size in sorted({len(names) for names in check.subsets}):
        risks = {names: risk for names, risk in check.subsets.items() if len(names) == size}
        if size == len(check.quasi):
            continue
        names, risk = max(risks.items(), key=lambda item: (item[1].average, item[1].uniques))
        yield t("check.subset", size=size, share=percent(risk.uniques_share), names=names)
    yield t("check.separation", share=check.risk.separation)
    if not check.all_subsets:
        yield t("check.some_subsets")
    few = sum(count for size, count in check.unique_by.items() if 0 < size <= 2)
    if few:
        yield t("check.unique_by_few", few=few)


def _worst(check: Check) -> Iterator[str]:
    yield t("check.worst", check=check)
    for group in check.worst:
        values = ", ".join(f"{name} {value or t('check.missing')}" for name, value in group.quasi.items())
        alone = 0 < len(group.unique_by) < len(check.quasi)
        yield t("check.group", group=group, values=values, why=t("check.would_do", group=group) if alone else "")


def _neutral(check: Check) -> Iterator[str]:
    if check.with_neutral is not None:
        smallest, alone = check.with_neutral
        yield t("check.neutral", check=check, smallest=smallest, alone=alone)


def _persons(check: Check, persons: RepeatedPersons) -> Iterator[str]:
    if not persons.repeated:
        yield t("check.persons_alone", persons=persons)
    else:
        declared = check.person is not None
        yield from _lines("persons_declared" if declared else "persons_repeated", persons=persons, risk=check.risk)
    if persons.unnamed:
        yield t("check.persons_unnamed", persons=persons)


def _population(check: Check) -> Iterator[str]:
    individual, estimate = check.individual, check.population
    if individual is not None:
        above = ", ".join(t("check.above", share=share, risk=risk) for risk, share in individual.above.items())
        expected = _expected(individual.expected)
        yield from _lines("individual", individual=individual, expected=expected, above=above)
    if estimate is None:
        if individual is not None:
            yield t("check.no_population", why=check.why_no_population)
        return
    yield t("check.population", estimate=estimate, name=t(f"check.model_{estimate.model}"))
    if estimate.pitman is None:
        yield t("check.no_pitman", why=estimate.why_not_pitman)
    else:
        zayatz, pitman = estimate.zayatz / estimate.population, estimate.pitman / estimate.population
        by_pitman = estimate.model == "pitman"
        other = t("check.other_zayatz", share=zayatz) if by_pitman else t("check.other_pitman", share=pitman)
        side = t("check.up_to" if estimate.sampling_fraction <= SMALL_FRACTION else "check.beyond")
        yield t("check.models", other=other, estimate=estimate, side=side, fraction=SMALL_FRACTION)


def _household(check: Check) -> Iterator[str]:
    household = check.household
    if household is None:
        return
    first = list(household.sizes.items())[:8]
    sizes = ", ".join(t("check.with_members", count=count, size=size) for size, count in first)
    more = t("check.other_sizes", more=len(household.sizes) - 8) if len(household.sizes) > 8 else ""
    expected = _expected(household.expected)
    yield from _lines(
        "households", household=household, column=check.household_column, sizes=sizes, more=more, expected=expected
    )
    id = "check.shared" if check.shared else "check.nothing_shared"
    yield t(id, shared=check.shared, count=len(check.shared), household=household)


def _expected(number: float) -> str:
    """Format an expected number of records, which need not be whole."""
    return t("check.expected_many" if number >= 100 else "check.expected", number=number)


# -- items


def _study_of_items(check: ItemsCheck) -> Iterator[str]:
    """Describe the infeasible parts of a study."""
    if check.study is None:
        return
    yield t("check.unmade" if check.problems else "check.explorable", check=check)
    yield from (t("check.problem", problem=problem) for problem in check.problems)


def _items(check: ItemsCheck) -> Iterator[str]:
    """Describe unusual properties of the items."""
    if check.empty:
        yield t("check.empty", check=check)
    if not check.tree:
        yield t("check.no_tree")


def _baskets(check: BasketCheck) -> Iterator[str]:
    yield t("check.baskets", check=check, lengths=t("check.lengths", **check.lengths))
    yield from _items(check)


def _known_items(check: BasketCheck) -> Iterator[str]:
    yield from _lines("known_items", check=check)
    for known, alone in check.alone.items():
        below = percent(check.below[known])
        yield t("check.known_item", known=counted(known, "item"), alone=percent(alone), below=below)


def _sets(check: BasketCheck) -> Iterator[str]:
    yield t("check.sets", check=check, known=known_in_words(check.known))
    for k, risk in THRESHOLDS.items():
        share, rare, known = percent(check.rare_sets[k]), check.rare_items[k], KNOWN_FOR.get(k, "")
        yield t("check.rare_sets", share=share, rare=rare, check=check, k=k, risk=risk, known=known)


def _rarest(check: BasketCheck) -> Iterator[str]:
    yield t("check.rarest")
    for records, items in check.weakest:
        text = " + ".join(items)
        yield t(
            "check.rare",
            number=counted(records, check.unit),
            items=text if len(text) <= LONGEST else text[:LONGEST] + " ...",
        )


def _mixed_table(check: MixedCheck) -> Iterator[str]:
    yield t("check.mixed", check=check, lengths=t("check.lengths", **check.lengths))
    yield from _items(check)


def _known(check: MixedCheck) -> Iterator[str]:
    few = t("check.fewer", below=check.below)
    yield t("check.mixed_known", few=few)
    who = [(t("check.who_columns", quasi=check.quasi), check.alone_by_quasi, check.few_by_quasi)]
    for id, alone_by, few_by in (
        ("check.who_items", check.alone_by_items, check.few_by_items),
        ("check.who_both", check.alone_by_both, check.few_by_both),
    ):
        who += [(t(id, items=known_in_words(known)), alone, few_by[known]) for known, alone in alone_by.items()]
    for text, alone, fit in who:
        yield text
        yield t("check.fit", alone=alone, few=few, fit=fit)


FOLDED = 12
"""The most child nodes shown of a node."""

WIDEST = 40
"""The maximum length of a label."""


def hierarchy_in_words(looked_at: ColumnHierarchy, level: int | None = None) -> Iterator[str]:
    """Return the tree down to a level, then the effect of publishing the column at each level."""
    tree = looked_at.hierarchy
    yield (t("levels.column_above", looked_at=looked_at, tree=tree))
    yield t("levels.publisher_s")
    if tree.observed:
        yield t("levels.values_taken")
    yield ""
    yield from _hierarchy_lines(looked_at.tree(level), "  ")
    yield ""
    yield from _effects(looked_at)


def _effects(looked_at: ColumnHierarchy) -> Iterator[str]:
    """Return a table of the levels: risky records by this column alone, and with the others."""
    yield t("levels.what_publishing", looked_at=looked_at, small=SMALL)
    yield t("levels.alone_k")
    if looked_at.others:
        yield t("levels.others_as", looked_at=looked_at)
    examples = [_label(risk.example) for risk in looked_at.levels]
    width = max(7, *map(len, examples))
    heads = [t("levels.alone_2"), *([t("levels.others")] if looked_at.others else [])]
    yield ""
    yield f"  {'':5}  {'':{width}}" + "".join(f"  {head:>31}" for head in heads)
    yield (
        f"  {t('levels.level'):5}  {t('levels.such_as'):{width}}"
        + f"  {t('levels.below', small=SMALL):>11} {t('levels.alone'):>9} {'k':>9}" * len(heads)
    )
    for risk, example in zip(looked_at.levels, examples, strict=True):
        risks = [risk.alone, *([] if risk.together is None else [risk.together])]
        columns = (f"  {each.below[SMALL]:>11,} {each.uniques:>9,} {each.smallest:>9,}" for each in risks)
        yield f"  {risk.level:<5}  {example:{width}}{''.join(columns)}"


def _hierarchy_lines(node: Node, indent: str) -> Iterator[str]:
    """Return a node and its subtree; of many nodes the first ones."""
    yield f"{indent}{_label(node.label):{max(1, 50 - len(indent))}} {node.records:>12,}"
    children = node.children if len(node.children) <= FOLDED + 1 else node.children[:FOLDED]
    for child in children:
        yield from _hierarchy_lines(child, f"{indent}  ")
    folded = node.children[len(children) :]
    if folded:
        text = t("levels.more", folded=len(folded))
        yield f"{indent}  {text:{max(1, 48 - len(indent))}} {sum(child.records for child in folded):>12,}"


def _label(text: str) -> str:
    from sfumato.data.guessing import shown

    return shown(text, WIDEST) if text else "(missing)"
