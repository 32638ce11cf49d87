"""What a person looks at: columns before and after, two releases side by side, the board's page, and for whom."""

from __future__ import annotations

import csv
import html
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
import sfumato.publish.publication
from points import write_report
from sfumato import MEASURES, Map, numeric, prefixes, read
from sfumato.anonymizers.dp.mechanism import assigned
from sfumato.publish.board import board_file, opening
from sfumato.publish.certificate import certificate_files
from sfumato.publish.pipeline import publish_point
from sfumato.publish.plain_language import at_most
from sfumato.report.folder import save_map
from sfumato.report.point_summary import headlines
from sfumato.tradeoff.exploration.details import MOST_BINS, OTHERS, columns_before_and_after, details
from sfumato.tradeoff.question.recipients import RECIPIENTS
from small_tables import small_table

STUDY = """
name = "ward"
axes = ["k", "loss"]
[table]
source = "ward.csv"
quasi = ["age", "sex"]
sensitive = ["ill"]
neutral = ["room"]
[scales]
queries = "queries number=5"
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=3", "k-anonymity k=12", "k-anonymity k=12 & l-diversity l=2 variant=frequency"]
[[candidates]]
anonymizers = ["full-domain"]
requirements = ["k-anonymity k=3"]
suppress = [0.2]
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=3"]
forms = ["bucketization"]
"""


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Map]:
    """A map of 60 people, and the folder that its files are in."""
    folder = tmp_path_factory.mktemp("ward")
    ills = ("flu", "gout", "mumps", "flu", "cold")
    rows = [(20 + i * 7 % 30, "fm"[i % 2], ills[i * i % 5], i % 4) for i in range(60)]
    with (folder / "ward.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("age", "sex", "ill", "room"), *rows])
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    map_ = sfumato.explore(str(folder / "study.toml"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.report.folder.DRAWN", ())
        (folder / "map").mkdir()
        save_map(map_, folder / "map")
    return folder, map_


def point_with(map_: Map, asked: str, form: str = "generalization", maker: str = "mondrian") -> Any:
    return next(p for p in map_.points if (p.requirement, p.form, p.anonymizer) == (asked, form, maker))


# -- columns before and after ------------------------------------------------------------------------------------


def spread(texts: list[str], bins: dict[str, set[str]], universe: list[str], members: Any) -> dict[str, float]:
    """Share every published text evenly among the values it may stand for, as exact fractions, text by text."""
    total: Counter[str] = Counter()
    for text in texts:
        inside = members(text, universe)
        for label, values in bins.items():
            total[label] += Fraction(len(inside & values), len(inside))  # type: ignore[assignment]
    return {label: float(total[label] / len(texts)) for label in bins}


def in_range(text: str, universe: list[str]) -> set[str]:
    if text == "*":
        return set(universe)
    first, _, last = text.partition("-")
    return {value for value in universe if int(first) <= int(value) <= int(last or first)}


def test_a_column_after_is_what_the_rows_of_the_file_say(tmp_path: Path) -> None:
    """Against the written file, read row by row."""
    ages = [20 + (i * i) % 47 for i in range(200)]
    table = read(
        pa.table({"age": ages, "sex": ["fm"[i % 2] for i in range(200)]}),
        quasi=["age", "sex"],
        hierarchies={"age": numeric(20, 69)},
    )
    release = sfumato.anonymize(table, "k-anonymity k=9")
    file = release.to_csv(tmp_path / "a.csv")[0]
    with file.open(newline="", encoding="utf-8") as stream:
        texts = [row["age"] for row in csv.DictReader(stream)]
    [age, sex] = columns_before_and_after(release)
    universe = [str(value) for value in range(20, 70)]
    bins = {f"{lo}-{lo + 4}": {str(value) for value in range(lo, lo + 5)} for lo in range(20, 70, 5)}
    after = spread(texts, bins, universe, in_range)
    before = {label: sum(str(value) in values for value in ages) / 200 for label, values in bins.items()}
    assert [label for label, *_ in age["bins"]] == list(bins) and len(bins) <= MOST_BINS
    for label, first, then in age["bins"]:
        assert first == pytest.approx(before[label], abs=1e-4) and then == pytest.approx(after[label], abs=1e-4)
    assert age["texts"] == len(set(texts)) and age["values"] == len(set(ages))
    assert age["exact"] == pytest.approx(sum("-" not in text and text != "*" for text in texts) / 200, abs=1e-4)
    assert [label for label, *_ in sex["bins"]] == ["f", "m"]


def test_bins_are_a_level_where_one_fits_and_else_the_commonest_values() -> None:
    zips = [f"{i % 6}{i * i % 10}{i * 7 % 10}" for i in range(300)]
    words = [f"w{i * i % 37}" for i in range(300)]
    table = read(
        pa.table({"zip": zips, "word": words}), quasi=["zip", "word"], hierarchies={"zip": prefixes(sorted(set(zips)))}
    )
    release = sfumato.anonymize(table, "k-anonymity k=300", "without-quasi")
    columns = {column["name"]: column for column in columns_before_and_after(release)}
    assert len(columns["zip"]["bins"]) == 6 and all(label.endswith("**") for label, *_ in columns["zip"]["bins"])
    for column, values in ((columns["zip"], [text[0] + "**" for text in zips]), (columns["word"], words)):
        assert len(column["bins"]) <= MOST_BINS
        for label, before, after in column["bins"]:
            if label != OTHERS:
                assert before == pytest.approx(values.count(label) / 300, abs=1e-4)
            assert 0 <= after <= 1
        assert sum(before for _, before, _ in column["bins"]) == pytest.approx(1, abs=1e-3)


def test_sensitive_values_are_compared_with_those_that_are_published() -> None:
    table = small_table()
    release = sfumato.anonymize(table, "k-anonymity k=8", "full-domain", suppress=0.3)
    assert release.suppressed
    illness = columns_before_and_after(release)[-1]
    [counts] = [attribute.counts for attribute in table.cells.sensitive]
    kept = Counter()
    for cell, many in zip(release.assignment.cell.tolist(), release.assignment.count.tolist(), strict=True):
        kept[table.cells.sensitive[0].labels[table.cells.values[cell, 0]]] += many
    for (label, before, after), count in zip(illness["bins"], counts, strict=True):
        assert (before, after) == pytest.approx((count / 90, kept[label] / sum(kept.values())), abs=1e-4)
    hidden = columns_before_and_after(sfumato.anonymize(table, "k-anonymity k=1", "without-sensitive"))[-1]
    assert hidden["texts"] == 0 and {after for *_, after in hidden["bins"]} == {None}


def test_two_releases_show_the_same_records_and_say_who_is_left_out() -> None:
    table = small_table()
    cut, levels = (
        details(assigned(sfumato.anonymize(table, "k-anonymity k=8", maker, suppress=0.4)), None, "rounded")["records"]
        for maker in ("mondrian", "full-domain")
    )
    assert [record["before"] for record in cut] == [record["before"] for record in levels] and len(cut) == 5
    release = sfumato.anonymize(table, "k-anonymity k=8", "full-domain", suppress=0.4)
    published = {tuple(table.cells.codes[cell].tolist()) for cell in release.assignment.cell}
    for record in levels:
        codes = tuple(quasi.hierarchy.leaves.index(record["before"][quasi.name]) for quasi in table.cells.quasi)
        assert (record["after"] is not None) == (codes in published) == (record["size"] > 0)


# -- two releases side by side -----------------------------------------------------------------------------------


def test_two_releases_stand_side_by_side(ward: tuple[Path, Map], browser: Any, tmp_path: Path) -> None:
    first, second = point_with(ward[1], "k-anonymity k=3"), point_with(ward[1], "k-anonymity k=12")
    path = write_report(ward[1], tmp_path / "report.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    assert "Choose two releases" in page.inner_text("#compare")
    page.select_option("#first", first.id)
    page.get_by_role("button", name="Keep to compare").click()  # by click: keep one, then choose another
    page.evaluate(f"choose('{second.id}')")
    page.select_option("#first", first.id)  # and by the selects
    page.select_option("#second", second.id)
    page.evaluate("document.querySelectorAll('#compared details').forEach((each) => { each.open = true; })")
    rows = {
        row.query_selector("code").inner_text(): row.inner_text()
        for row in page.query_selector_all("#compared tr:has(code)")
    }
    common = first.measures.keys() & second.measures.keys()
    assert rows.keys() >= first.measures.keys() | second.measures.keys()
    for name in common:
        left, right = first.measures[name], second.measures[name]
        is_first = (left > right) == (MEASURES[name].better == "higher")
        said = "the same" if left == right else "first is better" if is_first else "second is better"
        assert said in rows[name], name
    marked = [row.inner_text().split("\t")[0] for row in page.query_selector_all("#compared tr.differs")]
    assert marked[-2:] == ["≠ In words", "≠ Required"] and all(text.startswith("≠ ") for text in marked)
    for each in (*headlines(ward[1], first), *headlines(ward[1], second)):
        assert each.said in page.inner_text("#compared")
    text = page.inner_text("#compared")
    assert f"{first.id} beside {second.id}" in text and "The same records in both" in text
    assert page.url.endswith(f"#{first.id}&with={second.id}")
    page.goto(path.as_uri() + f"#{second.id}&with={first.id}")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert f"{second.id} beside {first.id}" in page.inner_text("#compared")
    page.close()


# -- plain words, the board, and for whom ------------------------------------------------------------------------


def test_plain_words_are_few_and_true_of_the_file(ward: tuple[Path, Map]) -> None:
    folder, map_ = ward
    point = point_with(map_, "k-anonymity k=12 & l-diversity l=2 variant=frequency")
    file = folder / "plain.csv"
    publish_point(folder / "map", point.id, file)
    with file.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    groups: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        groups.setdefault((row["age"], row["sex"]), Counter())[row["ill"]] += 1
    smallest = min(group.total() for group in groups.values())
    surest = max(max(group.values()) / group.total() for group in groups.values())
    words = json.loads(certificate_files(file)[2].read_text("utf-8"))["in_plain_words"]
    sentences = [sentence for about in ("is", "protects", "does_not") for sentence in words[about]]
    assert len(sentences) <= 11 and "plain.csv has 60 rows" in sentences[0]
    assert "Records were counted, not persons" in sentences[0], "the bounds below are about records"
    assert f"finds at least {smallest} rows that fit" in words["protects"][0]
    [bound] = [int(word) for word in words["protects"][2].split() if word.isdigit()]
    assert 0 <= bound - 100 * surest < 1
    assert words["does_not"][0].startswith("An attacker who also knows room of a person may find ")


@pytest.mark.parametrize(
    ("texts", "stretched"),
    [
        (["0..<1000", "25000+", "(missing)"], True),
        (["1-2", "3"], True),
        (["<20", "20", "21"], True),
        (["2020-01-01..2020-12-31", "2021-01-01..2021-12-31"], True),
        (["2020-01-01", "2021-01-01"], False),
        (["A+", "0+", "B-"], False),
        (["<=50K", ">50K"], False),
        (["1", "2"], False),
    ],
)
def test_stretches_are_told_by_the_texts_of_the_file(texts: list[str], stretched: bool) -> None:
    from sfumato.publish.plain_language import _shown

    columns = {"quasi": ["age"], "sensitive": ["cost"], "neutral": []}
    said = _shown(columns, {"cost": texts}, exact=False, bucketized=False)[-1]
    assert said == ("Shown in stretches: cost." if stretched else "Shown as they are: cost.")


def test_what_is_told_most_is_said_of_many_sensitive_columns() -> None:
    """Two sentences have room; none of them may be spent on what is hidden well while another column is not."""
    from sfumato.publish.plain_language import _guesses

    shares = {"a": 0.2, "b": 0.25, "c": 1.0, "d": 0.5, "e": 1.0, "f": 0.97}
    by_sensitive = {name: {"l_frequency": 1 / share} for name, share in shares.items()}
    assert _guesses(by_sensitive, "bucket") == (
        [],
        [
            "It does not hide c and e of everybody: there is a bucket in which all have the same.",
            "There is a bucket in which 97.0 % have the same f.",
        ],
    )
    del by_sensitive["c"], by_sensitive["e"], by_sensitive["f"]
    kept, told = _guesses(by_sensitive, "bucket")
    assert [sentence.split()[-1] for sentence in kept] == ["d.", "b."] and not told
    assert _guesses({"a": {}}, "bucket") == ([], [])


def test_what_the_file_does_not_show_is_not_said_to_be_checked_on_it() -> None:
    from sfumato.publish.plain_language import _checked
    from sfumato.texts.catalogue import texts

    ALONE, NOT_SHOWN, RESTS = (texts()[f"certificate.{name}"] for name in ("alone", "not_shown", "rests"))
    parts = {text: {"confirmed_by_the_file": text == ALONE, "checked": text} for text in (ALONE, NOT_SHOWN, RESTS)}
    assert "checked on the written file" not in _checked([parts[NOT_SHOWN]])
    assert _checked([parts[ALONE], parts[NOT_SHOWN]]).endswith("written file, and anybody can check them again.")
    assert _checked([parts[ALONE], parts[RESTS]]).endswith("a part of them only the publisher can check.")


def test_what_is_not_protected_is_said_first_of_all(ward: tuple[Path, Map]) -> None:
    folder, map_ = ward
    point = point_with(map_, "k-anonymity k=3", "bucketization")
    publish_point(folder / "map", point.id, folder / "buckets.csv")
    words = json.loads(certificate_files(folder / "buckets.csv")[2].read_text("utf-8"))["in_plain_words"]
    assert "does not hide who is in it" in words["does_not"][0] and "rows that fit" not in str(words["protects"])


@pytest.mark.parametrize("parts", [3, 7, 11, 30, 300])
def test_a_promised_share_is_never_rounded_down(parts: int) -> None:
    for part in range(1, parts + 1):
        bound = int(at_most(part / parts).removesuffix(" %"))
        assert Fraction(part, parts) * 100 <= bound < Fraction(part, parts) * 100 + 1


def test_a_release_beyond_the_bounds_of_its_recipient_is_refused(ward: tuple[Path, Map]) -> None:
    folder, map_ = ward
    small, exact = point_with(map_, "k-anonymity k=3"), point_with(map_, "k-anonymity k=3", "bucketization")
    for point, said in ((small, "k at least 11 is required"), (exact, "k at least 11 is required")):
        with pytest.raises(sfumato.InfeasibleError, match=said):
            publish_point(folder / "map", point.id, folder / "refused.csv", recipient="public")
    with pytest.raises(sfumato.BadInputError, match="public, partner, internal"):
        publish_point(folder / "map", small.id, folder / "refused.csv", recipient="everybody")
    assert not list(folder.glob("refused*"))


def test_a_recipient_is_checked_on_what_was_written_too(
    ward: tuple[Path, Map], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A maker that draws at random may draw worse than on the map."""
    folder, map_ = ward
    point = point_with(map_, "k-anonymity k=12 & l-diversity l=2 variant=frequency")
    assert RECIPIENTS["public"].fitness(map_, point).is_fit
    verified = sfumato.publish.publication.Publishable.verify

    def worse(self: Any, drafts: Any) -> Any:
        verdict = verified(self, drafts)
        verdict.measures["k"] = 10
        return verdict

    monkeypatch.setattr("sfumato.publish.publication.Publishable.verify", worse)
    with pytest.raises(sfumato.InfeasibleError, match="it has 10"):
        publish_point(folder / "map", point.id, folder / "worse.csv", recipient="public")
    assert not list(folder.glob("worse*"))


def test_the_board_reads_who_decided_what(ward: tuple[Path, Map]) -> None:
    folder, map_ = ward
    point = point_with(map_, "k-anonymity k=12 & l-diversity l=2 variant=frequency")
    file = folder / "board.csv"
    done = publish_point(folder / "map", point.id, file, recipient="public")
    page = board_file(file)
    text = html.unescape(page.read_text("utf-8"))
    assert page in done.files and page.stat().st_mode & 0o077 == 0
    for said in (point.id, "ward", point.requirement, "public: anybody", "k at least 11"):
        assert said in text, said
    warnings = json.loads(certificate_files(file)[0].read_text("utf-8"))["warnings"]
    told = [
        warning["about"].capitalize() in text and warning["text"].split(". ")[0][:60] in text for warning in warnings
    ]
    assert told.count(True) == 4 and f"{len(warnings) - 4} more in the certificate" in text
    assert headlines(map_, point)[2].said in text
    assert "internal" in text and certificate_files(file)[3].name in text and "0 of 60 records left out" in text


def test_records_that_were_dropped_for_a_missing_value_are_told(tmp_path: Path) -> None:
    """The board reads how many there are, the public that there may be some; neither that nothing is left out."""
    rows = [(20 + i % 3, "fm"[i % 2], ("flu", "gout", "cold")[i % 3]) for i in range(30)] + [("", "f", "flu")] * 7
    with (tmp_path / "ward.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("age", "sex", "ill"), *rows])
    study = STUDY.split("[[candidates]]")[0].replace('neutral = ["room"]', 'missing = "drop"')
    study += '[[candidates]]\nanonymizers = ["mondrian"]\nrequirements = ["k-anonymity k=3"]\nsuppress = [0.1]\n'
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    (tmp_path / "map").mkdir()
    map_ = sfumato.explore(str(tmp_path / "study.toml"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.report.folder.DRAWN", ())
        save_map(map_, tmp_path / "map")
    file = tmp_path / "out.csv"
    publish_point(tmp_path / "map", map_.points[0].id, file)
    board = html.unescape(board_file(file).read_text("utf-8"))
    assert "removed before anything else: 7 records." in board and "ward.csv, 37 records," in board
    first = json.loads(certificate_files(file)[2].read_text("utf-8"))["in_plain_words"]["is"][0]
    assert "Records that miss a value were removed" in first and "Up to 10 % of the others were allowed" in first
    assert "7" not in first


def test_a_text_is_cut_at_the_end_of_a_sentence() -> None:
    text = "One is here. Two is here. " * 20
    for letters in range(15, 300, 7):
        kept = opening(text, letters)
        assert len(kept) <= letters and text.startswith(kept) and kept.endswith("here.")
