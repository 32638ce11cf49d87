"""What a certificate says first, in plain sentences, to somebody who has never heard of any of it.

Everything here is read off the public certificate, so it tells nothing that this one does not: at most ten sentences on
what the file is, what it protects and what it does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate
from math import ceil, exp, log
from typing import Any

from sfumato.data.reading import Unit
from sfumato.release.changes import EXACT, text_pieces
from sfumato.requirements.requirement import requirement
from sfumato.texts.catalogue import t
from sfumato.texts.format import counted, ended, listed, percent, worst_share

MOST_NAMES, MOST_LETTERS = 8, 90
"""Columns that are named in a sentence, and their letters together; of more, it says how many."""

HIDDEN = 3
"""The fewest rows that fit a person where that is called protection: the weakest threshold in use."""

PROTECTED = 2
"""One over the largest share of a group that may have the same sensitive value where that is called protection."""

MOST_SENSITIVE = 2
"""Sentences about sensitive columns, those first of which the file tells most; the exact part speaks of all."""

FAR_COUNTS = "Counts of items may be far from the truth: where sets are large, an answer of 0 may be nearer."
"""For everybody: the error of counts depends on the original."""

NEARLY_SURE = 0.99
"""Where even odds may become this belief, a promise is too weak to be left without a warning."""

NOISE_PREVAILS = "more noise than records"
"""What is said first of counts that drown in noise."""

DROPPED, NOT_SHOWN, NOTHING_CLAIMED = (t(f"certificate.{name}") for name in ("dropped", "not_shown", "nothing_claimed"))

PlainWords = dict[str, list[str]]
"""Sentences by what they are about: `is`, `protects`, `does_not`."""


def in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say what a file is, what it protects and what it does not, of its public certificate alone."""
    promise = certificate["promise"]
    if "differential_privacy" in promise:
        return draw_in_plain_words(certificate)
    if "claimed" in promise:
        return external_in_plain_words(certificate)
    if "baskets" in certificate:
        return baskets_in_plain_words(certificate)
    if "items" in certificate:
        return items_in_plain_words(certificate)
    if promise["form"] in ("changed records", "synthetic records"):
        return records_in_plain_words(certificate)
    return table_in_plain_words(certificate)


def belief(epsilon: float, delta: float = 0.0) -> float:
    """Return how sure somebody can become of what was as likely as not before: e^epsilon / (1 + e^epsilon).

    With a delta it is how often the best guess is right: (e^epsilon + delta) / (1 + e^epsilon).
    """
    return min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon)))


def promise_in_words(epsilon: float, delta: float = 0.0) -> str:
    """Say what a budget promises; with a delta of guesses, since single files are bounded by delta alone.

    To have another value is one record less and one more: 2 epsilon, and a delta of (1 + e^epsilon) delta.
    """
    twice = belief(2 * epsilon, delta * (1 + exp(min(epsilon, 700))))
    factor = f"{exp(epsilon):.3g}" if epsilon < log(1e6) else f"10^{epsilon / log(10):.0f}"
    once, again = (
        "100 % (as good as)" if sure > 0.9995 else percent(sure, 3) for sure in (belief(epsilon, delta), twice)
    )
    return t(f"certificate.{'delta' if delta else 'epsilon'}", factor=factor, delta=delta, once=once, twice=again)


def table_in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say of a table in groups what it is, what it protects and what it does not."""
    columns, promise = certificate["columns"], certificate["promise"]
    exact = any(warning["about"] == "identity" for warning in certificate["warnings"])
    bucketized = promise["form"] == "bucketization"
    protects, does_not = ([] if bucketized else _hidden(certificate)), []
    if not protects and not exact and not bucketized:
        does_not.append(_found(certificate))
    if exact:
        does_not.append(ended(f"It does not hide who is in it: it has the exact values of {named(columns['quasi'])}"))
    kept, guesses = _guesses(certificate["by_sensitive"], "bucket" if bucketized else "group of rows that look alike")
    protects += kept
    does_not += guesses
    protects.append(_checked(promise["parts"]))
    does_not += _neutral(certificate)
    does_not += _not_counted(certificate)
    does_not += [
        "It does not hide whether somebody is in it at all: who knows a person can often tell.",
        f"It promises nothing against somebody who knows more of a person than {named(columns['quasi'])}, or who holds "
        "another file about the same people.",
    ]
    return {
        "is": [_rows(certificate), *_shown(columns, _values(certificate), exact, bucketized)],
        "protects": protects,
        "does_not": does_not,
    }


def _values(certificate: Mapping[str, Any]) -> dict[str, Collection[str]]:
    """Return the texts of the sensitive columns in the file, as far as the certificate lists them."""
    return {name: each.get("file", {}).keys() for name, each in certificate["baselines"].items()}


def _shown(
    columns: Mapping[str, Any], values: Mapping[str, Collection[str]], exact: bool, bucketized: bool
) -> list[str]:
    """Say how the columns are shown."""
    quasi, sensitive, neutral = columns["quasi"], columns["sensitive"], columns["neutral"]
    if bucketized:
        dealt = f"The values of {named(sensitive)} are dealt out by chance within buckets of rows."
        return [ended(f"Shown as they are: {named([*quasi, *neutral])}"), dealt]
    if exact:
        return [ended(f"Shown as they are: {named([*quasi, *sensitive, *neutral])}")]
    stretched = [name for name in sensitive if _in_stretches(values.get(name, ()))]
    single = [name for name in (*sensitive, *neutral) if name not in stretched]
    phrases = [f"as they are: {named(single)}"] if single else []
    phrases += [f"in stretches: {named(stretched)}"] if stretched else []
    coarser = ended(f"Made coarser where that was needed (a range, a set, * for anything): {named(quasi)}")
    return [coarser, *([ended(f"Shown {'; '.join(phrases)}")] if phrases else [])]


def _in_stretches(texts: Collection[str]) -> bool:
    """Say whether some texts of a column are stretches."""
    return any(piece.noun != EXACT.noun for piece in text_pieces(list(texts)))


def _rows(certificate: Mapping[str, Any]) -> str:
    name, rows = certificate["files"][0]["name"], counted(certificate["rows"], "row")
    most = certificate["promise"]["suppress_at_most"]
    left_out = f" Up to {percent(most, 3)} of the records were allowed to be left out." if most else ""
    if any(meaning["text"] == DROPPED for meaning in certificate["meanings"]):
        left_out = f" {DROPPED}{left_out.replace('the records', 'the others')}"
    return f"{name} has {rows}, each made of one record of {TABLES[_unit(certificate)]}.{left_out}"


def _not_counted(certificate: Mapping[str, Any]) -> list[str]:
    """Say what is not promised because of what was counted."""
    unit, promise = _unit(certificate), requirement(certificate["promise"]["requirement"])
    if unit == "records":
        return ["It may hide a person with several records less well: records were counted, not persons."]
    if unit == "one each":
        return []
    several = ["It promises nothing against somebody who knows several records of one person."]
    sensitive = certificate["columns"]["sensitive"]
    if not sensitive or any(part.about_sensitive for part in promise.parts):
        return several
    return [
        *several,
        f"It promises nothing about {named(sensitive)}: what all rows of a group show is known of its persons.",
    ]


TABLES: Mapping[Unit, str] = {
    "records": "a table about people. Records were counted, not persons",
    "one each": "a table about people, each of whom has one record in it, as the publisher declares",
    "persons": "a table about people, of whom one may have several records; persons were counted",
}
"""What a file was made of, by what was counted."""


def _unit(certificate: Mapping[str, Any]) -> Unit:
    """Return what was counted; of records in place of records, records."""
    unit: Unit = certificate["promise"].get("counted", {}).get("unit", "records")
    return unit


def _hidden(certificate: Mapping[str, Any]) -> list[str]:
    """Say among how many a person is hidden: a fact of the file, which everybody can count."""
    k, quasi = int(certificate["measures"].get("k", 1)), named(certificate["columns"]["quasi"])
    if _unit(certificate) == "persons":
        return _hidden_persons(certificate["promise"], quasi)
    if k < HIDDEN:
        return []
    alone = ", where the person has one row" if _unit(certificate) == "records" else ""
    return [
        f"Whoever knows {quasi} of a person finds at least {k:,} rows that fit, or none.",
        f"By these columns alone, a guess which row is the person's is right at most 1 time in {k:,}{alone}.",
    ]


def _hidden_persons(promise: Mapping[str, Any], quasi: str) -> list[str]:
    """Say among how many persons one is hidden, as it was required: the file does not tell whose its rows are."""
    rule = requirement(promise["requirement"]).of_persons
    if rule.k < 2:
        return []
    right = f"1 time in {rule.k:,}" if rule.share * rule.k <= 1 else f"{percent(rule.share, 3)} of the time"
    return [
        f"Whoever knows {quasi} of a person finds rows of at least {rule.k:,} different persons that fit, or none.",
        f"No person has more than {percent(rule.share, 3)} of these rows: a guess which one is a person's is right at "
        f"most {right}.",
    ]


def _found(certificate: Mapping[str, Any]) -> str:
    """Say how few rows fit a person, where these are too few to hide among."""
    k, quasi = int(certificate["measures"].get("k", 1)), named(certificate["columns"]["quasi"])
    fits = "a single row that fits" if k < 2 else f"as few as {k} rows that fit"
    return f"It does not hide everybody: whoever knows {quasi} of a person may find {fits}."


def _neutral(certificate: Mapping[str, Any]) -> list[str]:
    """Say what is left of k for an attacker who also knows the neutral columns."""
    neutral, found = certificate["columns"]["neutral"], certificate.get("including_neutral")
    if not neutral:
        return []
    if found is None:
        return [f"Nobody judged whether the values of {named(neutral)} tell who somebody is."]
    rows, alone = counted(certificate["rows"], "row"), found["alone"]
    fits = "a single row that fits" if found["k"] == 1 else f"as few as {found['k']:,} rows that fit"
    are = "is" if alone == 1 else "are"
    unlike = f": {alone:,} of {rows} {are} like no other" if alone else ""
    return [f"Whoever also knows {named(neutral)} of a person may find {fits}{unlike}."]


def _guesses(by_sensitive: Mapping[str, Mapping[str, float]], group: str) -> tuple[list[str], list[str]]:
    """Say how sure a reader can become of each sensitive value where the file tells most; the surest first.

    It protects a column where no guess is more often right than wrong, as the public is promised; else it does not.
    """
    known = {name: measures["l_frequency"] for name, measures in by_sensitive.items() if "l_frequency" in measures}
    names = sorted(known, key=lambda name: (known[name], name))
    open_ = [name for name in names if known[name] <= 1]
    exposed = [name for name in names if 1 < known[name] < PROTECTED]
    kept = [name for name in names if known[name] >= PROTECTED][: MOST_SENSITIVE - bool(open_) - bool(exposed)]
    does_not = []
    if open_:
        does_not.append(f"It does not hide {named(open_)} of everybody: there is a {group} in which all have the same.")
    if exposed:
        shares = [f"one in which {worst_share(1 / known[name])} have the same {name}" for name in exposed]
        does_not.append(ended(f"There is {listed(shares)}".replace("one in", f"a {group} in", 1)))
    return (
        [ended(f"In no {group} do more than {at_most(1 / known[name])} have the same {name}") for name in kept],
        does_not,
    )


def _checked(parts: Iterable[Mapping[str, Any]]) -> str:
    """Say who can check what is promised."""
    alone = [part["confirmed_by_the_file"] for part in parts if part["checked"] != NOT_SHOWN]
    if not alone:
        return "What is promised is about sensitive values, and none is in the file."
    who = (
        "anybody can check it again"
        if all(alone)
        else "a part of it only the publisher can check"
        if any(alone)
        else "only the publisher can check it again"
    )
    return f"What is promised was checked on the written file, and {who}."


def draw_in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say of a noisy draw what it is, what it protects and what it does not."""
    columns, promise = certificate["columns"], certificate["promise"]["differential_privacy"]
    epsilon, name = promise["epsilon"], certificate["files"][0]["name"]
    delta = promise.get("delta", 0.0)
    sure, topics = belief(epsilon, delta), {warning["about"] for warning in certificate["warnings"]}
    bound = (
        "Who thinks it as likely as not that you are in the table, and guesses by this file, is right at most "
        f"{at_most(sure)} of the time, whatever else they know."
        if delta and sure <= NEARLY_SURE
        else f"Who thinks it as likely as not that you are in the table can become at most {at_most(sure)} sure of it "
        "by this file, whatever else they know."
        if sure <= NEARLY_SURE
        else f"The promise is weak: with an epsilon of {epsilon:g}, even odds may become near certainty."
    )
    return {
        "is": [
            f"{name} has {counted(certificate['rows'], 'row')}, and nobody is behind any of them: they were drawn by "
            "chance from counts of records to which noise was added.",
            f"It has the columns {named([*columns['quasi'], *columns['sensitive']])}, and serves questions about many "
            "people at once.",
        ],
        "protects": [
            "Whether you were in the table or not, nearly the same file could have come out (differential privacy, "
            f"epsilon {epsilon:g}{f', delta {delta:g}' if delta else ''}).",
            bound,
            "Nobody can check this on the file itself: it rests on how the file was drawn.",
        ],
        "does_not": [
            "A row that fits you fits by chance, and says nothing of you.",
            "What the file teaches of everybody like you, it teaches of you too.",
            "Most of this file is noise: on average its counts are smaller than the noise in them."
            if NOISE_PREVAILS in topics
            else "Counts of few records are mostly noise: draw no conclusion from them.",
            "Other files about the same people add to what is told of you.",
        ],
    }


def records_in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say of perturbed or synthetic records what they are, what they protect and what they do not."""
    columns, promise = certificate["columns"], certificate["promise"]
    name, rows = certificate["files"][0]["name"], counted(certificate["rows"], "row")
    synthetic = promise["form"] == "synthetic records"
    dropped = f" {DROPPED}" if any(meaning["text"] == DROPPED for meaning in certificate["meanings"]) else ""
    made = (
        "and nobody is behind any of them: they were drawn from a model learned from a table about people."
        if synthetic
        else "each made of one record of a table about people, with values that may not be those that were recorded."
    )
    protects = _hidden(certificate) if promise["parts"] else []
    return {
        "is": [
            f"{name} has {rows}, {made}{dropped}",
            ended(f"It has the columns {named([*columns['quasi'], *columns['sensitive']])}"),
        ],
        "protects": [*protects, _checked(promise["parts"])]
        if promise["parts"]
        else [
            "What a row says need not be true of anybody: that is all the protection there is, and none is proved.",
        ],
        "does_not": [
            "A row that fits you may be your own record: "
            + ("the model can have kept it." if synthetic else "some may be published as they are."),
            "It does not hide whether somebody is in the table from a reader who knows that person's record.",
            "What the file says of few people may not be true: draw no conclusion about anybody.",
            "Other files about the same people add to what is told of you.",
        ],
    }


def baskets_in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say of baskets what they are, what is protected and what is not."""
    name, baskets = certificate["files"][0]["name"], certificate["baskets"]
    parts = certificate["promise"]["parts"]
    items = counted(baskets["published_items"], "different published item")
    rules = [part["in_words"] for part in parts]
    return {
        "is": [
            f"{name} has {counted(certificate['rows'], 'record')} of what people have, such as what they bought, with "
            f"{items}.",
            "A published item is the item itself, or stands for several: then the record has one or more of them.",
        ],
        "protects": [*(ended(f"{rule[:1].upper()}{rule[1:]}") for rule in rules), _checked(parts)],
        "does_not": [
            "It promises nothing against somebody who knows more of a person than that, or items that the person does "
            "not have.",
            "All records that fit may have further items in common: these are then known of the person too.",
            FAR_COUNTS,
            "It does not hide whether somebody is in it at all, nor what another file about the same people adds.",
        ],
    }


def _sets_in_words(listed: bool) -> list[str]:
    """Say what a set tells of its group, where it tells more than it stands for."""
    told = "What stands for several items lists items of its group: somebody in the group has each of them."
    return [told] if listed else []


def items_in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say of a table with items what it is, what it protects and what it does not."""
    columns, promise = certificate["columns"], certificate["promise"]
    rules = [part["in_words"] for part in promise["parts"]]
    items, quasi = columns["items"], columns["quasi"]
    shown = [ended(f"Shown in ranges, groups or as they are: {named(quasi)}")]
    if columns["sensitive"]:
        shown.append(ended(f"Shown as they are: {named(columns['sensitive'])}"))
    alone = all(part["confirmed_by_the_file"] for part in promise["parts"])
    removed = f" {DROPPED}" if any(meaning["text"] == DROPPED for meaning in certificate["meanings"]) else ""
    return {
        "is": [
            f"{certificate['files'][0]['name']} has {counted(certificate['rows'], 'record')}, each with a set of items "
            f"({items}), such as what a patient was treated for.{removed}",
            *shown,
            "A published item is the item itself, or stands for several: then the record has one or more of them.",
        ],
        "protects": [
            *(ended(f"{rule[:1].upper()}{rule[1:]}") for rule in rules),
            "Anybody can check this on the file alone."
            if alone
            else "Some of this can be checked on the file alone; the rest was checked by the publisher.",
        ],
        "does_not": [
            f"It promises nothing against somebody who knows more of a person than {named(quasi)} and so many items, "
            "or items that the person does not have.",
            "All records that fit may have further items in common: these are then known of the person too.",
            FAR_COUNTS,
            *_sets_in_words(certificate["items"]["sets_list_items_of_groups"]),
            "It does not hide whether somebody is in it at all, nor what another file about the same people adds.",
        ],
    }


def external_in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say of what was made elsewhere what it is, what it protects and what it does not."""
    promise, columns = certificate["promise"], certificate["columns"]
    name, rows = certificate["files"][0]["name"], counted(certificate["rows"], "row")
    maker = f" ({promise['made_by']})" if promise["made_by"] else ""
    people = "each said to be made of one record of a table about people"
    nobody = "which are said to be nobody's: made up to look like people of a table"
    protects = []
    k = int(certificate["measures"].get("k", 1))
    if k > 1:
        protects.append(
            f"Whoever knows {named(columns['quasi'])} of a person finds at least {k:,} rows with the same texts, or "
            "none: everybody can count that."
        )
    if promise["claimed"]:
        confirmed = [part["confirmed_by_the_file"] for part in promise["parts"]]
        state = "The file confirms it" if confirmed and all(confirmed) else "The file alone does not confirm it"
        protects.append(f"Claimed by who made it: {promise['claimed']}. {state}. {promise['why_not_checked']}".rstrip())
    else:
        protects.append(NOTHING_CLAIMED)
    names = named([*columns["quasi"], *columns["sensitive"], *columns["neutral"]])
    exact = ended(f"It does not hide who is in it: it has the exact values of {named(columns['quasi'])}")
    return {
        "is": [
            f"{name} has {rows}, {people if promise['records'] == 'people' else nobody}. It was made elsewhere{maker}.",
            ended(f"It has the columns {names}"),
        ],
        "protects": protects,
        "does_not": [
            *([exact] if certificate["form"] == "bucketization" else []),
            "Nobody here promises how it came about: what it protects beyond what the file shows rests on who made it.",
            "It does not hide whether somebody is in it at all, nor what another file about the same people adds.",
        ],
    }


def at_most(share: float) -> str:
    """Write a share that is promised not to be exceeded, so never rounded down.

    >>> at_most(1 / 3), at_most(0.5)
    ('34 %', '50 %')
    """
    return f"{ceil(100 * share - 1e-9)} %"


def named(names: Iterable[str]) -> str:
    """List columns; of many, the first and how many more there are.

    >>> named(["age", "sex"]), named("abcdefghij")
    ('age and sex', 'a, b, c, d, e, f, g, h and 2 more')
    """
    all_names = list(names)
    lengths = accumulate(len(name) for name in all_names)
    room = sum(letters <= MOST_LETTERS for letters in lengths)
    kept = all_names[: max(1, min(room, MOST_NAMES))]
    left = len(all_names) - len(kept)
    return listed([*kept, f"{left} more"] if left else kept)
