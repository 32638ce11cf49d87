"""The plain-language summary of a certificate, for readers without any background.

It uses only the public certificate: at most ten sentences on what the file is, what it protects and what it does not.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate
from math import ceil, exp, log
from typing import Any

from sfumato.data.reading import Unit
from sfumato.release.changes import EXACT, text_pieces
from sfumato.requirements.requirement import requirement
from sfumato.texts.catalogue import counted, ended, listed, percent, t, worst_share

MOST_NAMES, MOST_LETTERS = 8, 90
"""The most columns named in a sentence, and their total length; of further ones only the number is given."""

HIDDEN = 3
"""The fewest matching rows that count as protection: the weakest established threshold."""

PROTECTED = 2
"""One over the largest share of a sensitive value in a group that counts as protection."""

MOST_SENSITIVE = 2
"""The most sentences about sensitive columns, the most exposed first; the exact part lists all."""

NEARLY_SURE = 0.99
"""The belief, starting from even odds, above which a promise gets a warning."""

NOISE_PREVAILS = "more noise than records"
"""The title of the warning about counts with more noise than records."""

DROPPED, NOT_SHOWN, NOTHING_CLAIMED = (t(f"certificate.{name}") for name in ("dropped", "not_shown", "nothing_claimed"))

PlainWords = dict[str, list[str]]
"""Sentences by topic: `is`, `protects`, `does_not`."""


def in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Return what a file is, what it protects and what it does not, from its public certificate alone."""
    promise, columns = certificate["promise"], certificate.get("columns", {})
    known = [*columns.get("quasi", ()), *columns.get("sensitive", ()), *columns.get("neutral", ())]
    dropped = any(meaning["text"] == DROPPED for meaning in certificate["meanings"])
    places = {
        "name": certificate["files"][0]["name"],
        "rows": counted(certificate["rows"], "row"),
        "records": counted(certificate["rows"], "record"),
        "columns": named(known),
        "quasi": named(columns.get("quasi", ())),
        "dropped": f" {DROPPED}" if dropped else "",
    }
    if "differential_privacy" in promise:
        return _draw(certificate, places)
    if "claimed" in promise:
        return _external(certificate, places)
    if "baskets" in certificate or "items" in certificate:
        return _items(certificate, places)
    if promise["form"] in ("changed records", "synthetic records"):
        return _records(certificate, places)
    return _table(certificate, places)


def said(*ids: str, **places: Any) -> list[str]:
    """Look up sentences, and end each."""
    return [ended(t(f"plain.{id}", **places)) for id in ids]


def belief(epsilon: float, delta: float = 0.0) -> float:
    """Return an attacker's maximum belief in a fact with even prior odds: e^epsilon / (1 + e^epsilon).

    With a delta it is the success rate of the best guess: (e^epsilon + delta) / (1 + e^epsilon).
    """
    return min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon)))


def promise_in_words(epsilon: float, delta: float = 0.0, unit: str = "records") -> str:
    """Explain epsilon; with delta in terms of guesses, since single files are bounded by delta alone.

    Another value is one record less and one more: 2 epsilon, and a delta of (1 + e^epsilon) delta.
    """
    twice = belief(2 * epsilon, delta * (1 + exp(min(epsilon, 700))))
    factor = f"{exp(epsilon):.3g}" if epsilon < log(1e6) else f"10^{epsilon / log(10):.0f}"
    once, again = (
        "100 % (as good as)" if sure > 0.9995 else percent(sure, 3) for sure in (belief(epsilon, delta), twice)
    )
    whose, sure = t(f"privacy.whose_{unit}"), {"factor": factor, "once": once, "twice": again}
    return t(f"certificate.{'delta' if delta else 'epsilon'}", **sure, delta=delta, whose=whose, unit=unit)


def _table(certificate: Mapping[str, Any], places: Mapping[str, str]) -> PlainWords:
    """Summarize a table in groups."""
    columns, promise = certificate["columns"], certificate["promise"]
    exact = any(warning["about"] == "identity" for warning in certificate["warnings"])
    bucketized = promise["form"] == "bucketization"
    protects, does_not = ([] if bucketized else _hidden(certificate)), list[str]()
    if not protects and not exact and not bucketized:
        k = int(certificate["measures"].get("k", 1))
        does_not += said("found_few", fits=_fits(k), **places)
    if exact:
        does_not += said("exact", **places)
    kept, guesses = _guesses(certificate["by_sensitive"], "bucket" if bucketized else "group of rows that look alike")
    shown = _shown(columns, _values(certificate), exact, bucketized)
    does_not += [
        *guesses,
        *_neutral(certificate),
        *_not_counted(certificate),
        *said("membership", "more_known", **places),
    ]
    return {
        "is": [*_rows(certificate, places), *shown],
        "protects": [*protects, *kept, _checked(promise["parts"])],
        "does_not": does_not,
    }


def _values(certificate: Mapping[str, Any]) -> dict[str, Collection[str]]:
    """Return the texts of the sensitive columns in the file, as far as the certificate lists them."""
    return {name: each.get("file", {}).keys() for name, each in certificate["baselines"].items()}


def _shown(
    columns: Mapping[str, Any], values: Mapping[str, Collection[str]], exact: bool, bucketized: bool
) -> list[str]:
    """Describe the published form of the columns."""
    quasi, sensitive, neutral = columns["quasi"], columns["sensitive"], columns["neutral"]
    if bucketized:
        return [*said("as_they_are", columns=named([*quasi, *neutral])), *said("dealt", columns=named(sensitive))]
    if exact:
        return said("as_they_are", columns=named([*quasi, *sensitive, *neutral]))
    stretched = [name for name in sensitive if _in_stretches(values.get(name, ()))]
    single = [name for name in (*sensitive, *neutral) if name not in stretched]
    phrases = [f"as they are: {named(single)}"] if single else []
    phrases += [f"in stretches: {named(stretched)}"] if stretched else []
    coarser = said("coarser", columns=named(quasi))
    return [*coarser, *([ended(f"Shown {'; '.join(phrases)}")] if phrases else [])]


def _in_stretches(texts: Collection[str]) -> bool:
    """Return whether some texts of a column are intervals."""
    return any(piece.noun != EXACT.noun for piece in text_pieces(list(texts)))


def _rows(certificate: Mapping[str, Any], places: Mapping[str, str]) -> list[str]:
    most, which = certificate["promise"]["suppress_at_most"], "others" if places["dropped"] else "records"
    left_out = t("plain.up_to", share=percent(most, 3), which=which) if most else ""
    table = t(f"plain.table_{_unit(certificate).replace(' ', '_')}")
    return said("is_table", table=table, left_out=f"{places['dropped']}{left_out}", **places)


def _not_counted(certificate: Mapping[str, Any]) -> list[str]:
    """Return limits that follow from the counted unit."""
    unit, promise = _unit(certificate), requirement(certificate["promise"]["requirement"])
    if unit != "persons":
        return said("not_persons") if unit == "records" else []
    sensitive = certificate["columns"]["sensitive"]
    open_ = sensitive and not any(part.about_sensitive for part in promise.parts)
    return said("several_records", *(["about_sensitive"] if open_ else []), sensitive=named(sensitive))


def _unit(certificate: Mapping[str, Any]) -> Unit:
    """Return the counted unit; records for perturbed and synthetic records."""
    unit: Unit = certificate["promise"].get("counted", {}).get("unit", "records")
    return unit


def _hidden(certificate: Mapping[str, Any]) -> list[str]:
    """Return the number of rows that match a person, which anybody can count in the file.

    For persons it is the required number, because the file does not show the person of a row.
    """
    k, quasi = int(certificate["measures"].get("k", 1)), named(certificate["columns"]["quasi"])
    if _unit(certificate) == "persons":
        rule = requirement(certificate["promise"]["requirement"]).of_persons
        share = percent(rule.share, 3)
        right = f"1 time in {rule.k:,}" if rule.share * rule.k <= 1 else f"{share} of the time"
        asked = {"quasi": quasi, "k": rule.k, "share": share, "right": right}
        return said("persons_fit", "persons_guess", **asked) if rule.k > 1 else []
    alone = t("plain.one_row") if _unit(certificate) == "records" else ""
    return said("k_fits", "k_guess", quasi=quasi, k=k, alone=alone) if k >= HIDDEN else []


def _fits(k: int) -> str:
    """Describe a small number of matching rows."""
    return t("plain.single_row") if k < 2 else t("plain.few_rows", k=k)


def _neutral(certificate: Mapping[str, Any]) -> list[str]:
    """Describe k for an attacker who also knows the neutral columns."""
    neutral, found = named(certificate["columns"]["neutral"]), certificate.get("including_neutral")
    if not certificate["columns"]["neutral"]:
        return []
    if found is None:
        return said("neutral_unjudged", neutral=neutral)
    rows, alone = counted(certificate["rows"], "row"), found["alone"]
    unlike = f": {alone:,} of {rows} {'is' if alone == 1 else 'are'} like no other" if alone else ""
    return said("neutral", neutral=neutral, fits=_fits(found["k"]), unlike=unlike)


def _guesses(by_sensitive: Mapping[str, Mapping[str, float]], group: str) -> tuple[list[str], list[str]]:
    """Return the maximum belief in each sensitive value, the highest first.

    A column is protected if no guess is more often right than wrong, the bound for the public.
    """
    known = {name: measures["l_frequency"] for name, measures in by_sensitive.items() if "l_frequency" in measures}
    names = sorted(known, key=lambda name: (known[name], name))
    open_ = [name for name in names if known[name] <= 1]
    exposed = [name for name in names if 1 < known[name] < PROTECTED]
    kept = [name for name in names if known[name] >= PROTECTED][: MOST_SENSITIVE - bool(open_) - bool(exposed)]
    does_not = said("open", columns=named(open_), group=group) if open_ else []
    if exposed:
        shares = [t("plain.exposed_share", share=worst_share(1 / known[name]), column=name) for name in exposed]
        does_not += said("exposed", shares=listed(shares).replace("one in", f"a {group} in", 1))
    protects = [said("same_in_group", group=group, share=at_most(1 / known[name]), column=name)[0] for name in kept]
    return protects, does_not


def _checked(parts: Iterable[Mapping[str, Any]]) -> str:
    """State who can check the promise."""
    alone = [part["confirmed_by_the_file"] for part in parts if part["checked"] != NOT_SHOWN]
    who = "anybody" if all(alone) else "part" if any(alone) else "publisher"
    return t(f"plain.checked_{who if alone else 'nothing'}")


def _draw(certificate: Mapping[str, Any], places: Mapping[str, str]) -> PlainWords:
    """Summarize a noisy draw."""
    promise, topics = certificate["promise"]["differential_privacy"], {own["about"] for own in certificate["warnings"]}
    epsilon, delta = promise["epsilon"], promise.get("delta", 0.0)
    sure = belief(epsilon, delta)
    bound = "noisy_weak" if sure > NEARLY_SURE else "noisy_guess" if delta else "noisy_sure"
    asked = {"epsilon": epsilon, "delta": f", delta {delta:g}" if delta else "", "sure": at_most(sure)}
    noise = "noise_most" if NOISE_PREVAILS in topics else "noise_few"
    sampled = [t("privacy.sampled", most=promise["contribution"])] if "contribution" in promise else []
    return {
        "is": said("is_noisy", "columns_many", **places),
        "protects": said("noisy_same", bound, "noisy_unchecked", **asked),
        "does_not": [*said("by_chance", "teaches", noise), *sampled, *said("others_add")],
    }


def _records(certificate: Mapping[str, Any], places: Mapping[str, str]) -> PlainWords:
    """Summarize perturbed or synthetic records."""
    parts, kind = certificate["promise"]["parts"], certificate["promise"]["form"].split()[0]
    return {
        "is": said(f"is_{kind}", "columns", **places),
        "protects": [*_hidden(certificate), _checked(parts)] if parts else said("unproved"),
        "does_not": said(f"own_{kind}", "in_the_table", "few_people", "others_add"),
    }


def _items(certificate: Mapping[str, Any], places: Mapping[str, str]) -> PlainWords:
    """Summarize baskets, or a table with items."""
    parts = certificate["promise"]["parts"]
    rules = [said("rule", rule=f"{part['in_words'][:1].upper()}{part['in_words'][1:]}")[0] for part in parts]
    if "baskets" in certificate:
        items = counted(certificate["baskets"]["published_items"], "different published item")
        several = ["several_records"] * (_unit(certificate) == "persons")
        return {
            "is": said("is_baskets", "published_item", items=items, **places),
            "protects": [*rules, _checked(parts)],
            "does_not": said("more_items", *several, "in_common", "far_counts", "at_all"),
        }
    columns = certificate["columns"]
    shown = said("ranges", columns=places["quasi"])
    shown += said("as_they_are", columns=named(columns["sensitive"])) if columns["sensitive"] else []
    alone = all(part["confirmed_by_the_file"] for part in parts)
    listing = ["sets_list"] if certificate["items"]["sets_list_items_of_groups"] else []
    return {
        "is": [*said("is_items", column=columns["items"], **places), *shown, *said("published_item")],
        "protects": [*rules, *said("check_alone" if alone else "check_some")],
        "does_not": said("more_both", "in_common", "far_counts", *listing, "at_all", **places),
    }


def _external(certificate: Mapping[str, Any], places: Mapping[str, str]) -> PlainWords:
    """Summarize an external release."""
    promise, k = certificate["promise"], int(certificate["measures"].get("k", 1))
    maker = f" ({promise['made_by']})" if promise["made_by"] else ""
    protects = said("k_texts", k=k, **places) if k > 1 else []
    if promise["claimed"]:
        confirmed = [part["confirmed_by_the_file"] for part in promise["parts"]]
        state = t(f"plain.claim_{'confirmed' if confirmed and all(confirmed) else 'open'}")
        claim = {"claimed": promise["claimed"], "state": state, "why": promise["why_not_checked"]}
        protects.append(t("plain.claimed", **claim).rstrip())
    else:
        protects.append(NOTHING_CLAIMED)
    exact = ["exact"] if certificate["form"] == "bucketization" else []
    return {
        "is": said(f"is_external_{promise['records']}", "columns", maker=maker, **places),
        "protects": protects,
        "does_not": said(*exact, "nobody_here", "at_all", **places),
    }


def at_most(share: float) -> str:
    """Return a share as an upper bound, never rounded down.

    >>> at_most(1 / 3), at_most(0.5)
    ('34 %', '50 %')
    """
    return f"{ceil(100 * share - 1e-9)} %"


def named(names: Iterable[str]) -> str:
    """List columns; of many, the first ones and the number of the others.

    >>> named(["age", "sex"]), named("abcdefghij")
    ('age and sex', 'a, b, c, d, e, f, g, h and 2 more')
    """
    all_names = list(names)
    lengths = accumulate(len(name) for name in all_names)
    room = sum(letters <= MOST_LETTERS for letters in lengths)
    kept = all_names[: max(1, min(room, MOST_NAMES))]
    left = len(all_names) - len(kept)
    return listed([*kept, f"{left} more"] if left else kept)
