"""Items in files and in texts: sets of items one per line, and items named singly or by a node of the tree."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets, items_in_words
from sfumato.engines.item_files import numbered_lines, separator_of, split_line
from sfumato.errors import BadInputError

Itemset = tuple[int, ...]


COMMENT = "# "
"""A line that begins so is passed over, unless an item is called so."""


def itemsets_of(baskets: Baskets, file: str) -> list[tuple[int, Itemset]]:
    """Read a file of item sets, one per line, as codes; a line that is the name of an item is that item alone."""
    return [(number, codes_of(baskets, labels, file, number)) for number, labels in labels_of(baskets, file)]


def labels_of(baskets: Baskets, file: str) -> list[tuple[int, list[str]]]:
    """Read the names on every line of a file; each name once, in order."""
    lines, mark = lines_of(baskets, file)
    return [(number, names_in(baskets, text, mark)) for number, text in lines]


def lines_of(baskets: Baskets, file: str) -> tuple[list[tuple[int, str]], str]:
    """Read the lines of a file that have names and are no comments, with their numbers; and what separates names."""
    named = [(number, text.strip()) for number, text in numbered_lines(Path(file)) if text.strip()]
    lines = [(number, text) for number, text in named if text in baskets.places or not is_comment(text)]
    if not lines:
        raise BadInputError(f"{file}: there is no line with items; write one set of items per line")
    return lines, separator_of([text for _, text in lines])


def names_in(baskets: Baskets, text: str, mark: str) -> list[str]:
    """Split a text into names, each once; what is the name of an item as a whole is that item alone."""
    text = text.strip()
    return [text] if text in baskets.places else list(dict.fromkeys(split_line(text, mark)))


def is_comment(text: str) -> bool:
    """Say whether a line is for people.

    >>> is_comment("# made by sfumato policy"), is_comment("#1 seller")
    (True, False)
    """
    return f"{text} ".startswith(COMMENT)


def codes_of(baskets: Baskets, labels: Iterable[str], file: str, line: int) -> Itemset:
    """Return the codes of items, ascending; one that no basket has is an error."""
    lacking = [label for label in labels if label not in baskets.places]
    if lacking:
        raise BadInputError(f"{file}, line {line}: {items_in_words(lacking)} in no basket of {baskets.origin}")
    return tuple(sorted({baskets.places[label] for label in labels}))


def named_items(baskets: Baskets, names: Iterable[str], what: str) -> Itemset:
    """Return the codes of items that are named singly or by a node of the tree, ascending; `what` says whose they are.

    >>> from sfumato.data.items import baskets_of
    >>> named_items(baskets_of([{"a", "b"}]), ["b"], "sensitive")
    (1,)
    """
    codes: set[int] = set()
    for name in names:
        under = under_node(baskets, name)
        if name in baskets.places:
            codes.add(baskets.places[name])
        elif under:
            codes.update(under)
        else:
            tree = "" if baskets.tree is None else ", and no node of the tree has such an item"
            raise BadInputError(
                f"{what}: the item {name!r} is in no basket of {baskets.origin}{tree}; name one that is"
            )
    return tuple(sorted(codes))


def under_node(baskets: Baskets, name: str) -> Itemset:
    """Return the codes of the items that occur under a node of the tree; none where there is no such node."""
    if baskets.tree is None:
        return ()
    spans = spans_of(baskets.tree, name)
    return tuple(code for code, leaf in enumerate(baskets.leaf.tolist()) if any(leaf in span for span in spans))


def spans_of(tree: Hierarchy, name: str) -> list[range]:
    """Return the leaves under every node of a name; nodes over the same leaves may have several, level by level."""
    return [
        range(lo, hi)
        for level in tree.levels[1:]
        for lo, hi, label in zip(level.starts, (*level.starts[1:], tree.size), level.labels, strict=True)
        if label == name
    ]
