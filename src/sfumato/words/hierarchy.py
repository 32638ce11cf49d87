"""The hierarchy of a column in words: its tree with counts, and what each level would do to k."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.texts.catalogue import t
from sfumato.tradeoff.levels import SMALL, ColumnHierarchy, Node

FOLDED = 12
"""A node shows at most so many of the nodes below it."""

WIDEST = 40
"""Letters of a label."""


def hierarchy_in_words(looked_at: ColumnHierarchy, level: int | None = None) -> Iterator[str]:
    """Write the tree down to a level, then what publishing the column at each level would do."""
    tree = looked_at.hierarchy
    yield (t("levels.column_above", looked_at=looked_at, tree=tree))
    yield t("levels.publisher_s")
    if tree.observed:
        yield t("levels.values_taken")
    yield ""
    yield from _lines(looked_at.tree(level), "  ")
    yield ""
    yield from _effects(looked_at)


def _effects(looked_at: ColumnHierarchy) -> Iterator[str]:
    """Write a table of the levels: who would stand out by this column alone, and with the others."""
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


def _lines(node: Node, indent: str) -> Iterator[str]:
    """Write a node and, deeper, the nodes below it; of many the first ones."""
    yield f"{indent}{_label(node.label):{max(1, 50 - len(indent))}} {node.records:>12,}"
    children = node.children if len(node.children) <= FOLDED + 1 else node.children[:FOLDED]
    for child in children:
        yield from _lines(child, f"{indent}  ")
    folded = node.children[len(children) :]
    if folded:
        text = t("levels.more", folded=len(folded))
        yield f"{indent}  {text:{max(1, 48 - len(indent))}} {sum(child.records for child in folded):>12,}"


def _label(text: str) -> str:
    from sfumato.table.guess.guess import shown

    return shown(text, WIDEST) if text else "(missing)"
