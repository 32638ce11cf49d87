"""New data under a mapping, of a table, of baskets and of a table with items: one rule, three kinds."""

from __future__ import annotations

import csv
import json
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import plain_inference as plain
import sfumato
from command_line import run
from independent_checker import covers
from plain_patients import least_candidates, read_records
from sfumato import Candidate, DataDeclaration, ItemsDeclaration, TableDeclaration, anonymizer, audit_mixed
from sfumato.anonymizers.items import anonymize_baskets, candidate_maker
from sfumato.auditing import ledger
from sfumato.config.documents import json_text
from sfumato.data.items import baskets_of
from sfumato.measures.scales import MixedScales
from sfumato.publish.apply import apply
from sfumato.publish.certificate import contexts_of, public_certificate
from sfumato.publish.mapping import SCHEMA, basket_mapping, mapping_of, mixed_mapping, read_mapping
from sfumato.publish.plain_language import DROPPED
from sfumato.publish.publication import Origin, Publishable
from sfumato.release.item_verification import inference_violations
from sfumato.release.items import BasketRelease, set_recoding
from sfumato.release.writing_items import release_names, write_items
from sfumato.requirements.items import basket_requirement, mixed_requirement
from strategies import tries
from test_check_command import basket_study, mapped
from test_mixed import made, opened

PEOPLE = [(20 + i % 2 * 5, "mf"[i % 2], "ab"[i % 3 == 0 :]) for i in range(24)]


class Kind(NamedTuple):
    """A mapping, and how new data are written that it fits."""

    mapping: str
    requirement: str
    head: str
    good: str
    bad: str
    """A line that has what the mapping does not know."""


def of_table(folder: Path, require: str = "k-anonymity k=3", head: str = "age,sex,ill") -> Kind:
    rows = [f"{age},{sex},{ill}" for age, sex, ill in PEOPLE]
    (folder / "old.csv").write_text("\n".join([head, *rows]) + "\n")
    age, sex, ill = head.split(",")
    trees = {age: {"type": "numeric", "lower": 0, "upper": 99, "intervals": [10]}}
    table = sfumato.read(folder / "old.csv", quasi=[age, sex], sensitive=[ill], hierarchies=trees)
    release = sfumato.anonymize(table, require, "full-domain")
    (folder / "m.json").write_text(mapping_of(release, sfumato.requirement(require)).to_text())
    return Kind("m.json", require, f"{head}\n", "".join(f"{row}\n" for row in rows), "20,q,b\n")


def of_baskets(folder: Path, require: str = "km-anonymity k=2 m=2") -> Kind:
    release = anonymize_baskets(baskets_of([["a", "b"], ["a"], ["b", "c"], ["c"]] * 3), require)
    (folder / "m.json").write_text(json_text(basket_mapping(release, basket_requirement(require)), SCHEMA))
    return Kind("m.json", require, "", "a b\na b\na\na\nc\nc\n" * 2, "q\n")


def of_mixed(folder: Path) -> Kind:
    require = "k-km-anonymity k=3 m=2"
    release = made(opened(PEOPLE), require)
    names, declared = release_names(release), ItemsDeclaration(column="codes")
    (folder / "m.json").write_text(mixed_mapping(release, mixed_requirement(require), declared, names))
    good = "".join(f"{age},{sex},{';'.join(codes)}\n" for age, sex, codes in PEOPLE)
    return Kind("m.json", require, "age,sex,codes\n", good, "20,m,zz\n")


KINDS = pytest.mark.parametrize("of_kind", [of_table, of_baskets, of_mixed])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def applied(kind: Kind, lines: str, *more: str, to: str = "out.csv"):
    Path("new.csv").write_text(kind.head + lines)
    return run("apply", kind.mapping, "new.csv", "--to", to, *more)


@KINDS
def test_what_another_wrote_while_we_waited_for_the_ledger_is_not_replaced(of_kind, tmp_path, monkeypatch) -> None:
    kind, took_lock = of_kind(tmp_path), ledger.took_lock

    def took_lock_late(*given, **more) -> bool:
        Path("out.csv").write_text("somebody else's\n")
        return took_lock(*given, **more)

    monkeypatch.setattr(ledger, "took_lock", took_lock_late)
    ended = applied(kind, kind.good)
    assert ended.returncode == 2 and "out.csv exists already" in ended.stderr
    assert Path("out.csv").read_text() == "somebody else's\n" and Path("m.json.ledger.jsonl").read_text() == ""


@KINDS
def test_the_ledger_says_alike_what_was_left_out_and_so_much_is_a_warning(of_kind, tmp_path) -> None:
    kind = of_kind(tmp_path)
    ended = applied(kind, kind.good + kind.bad * 3, "--rest", "drop", "--json")
    assert ended.returncode == 0, ended.stderr
    records = len(kind.good.splitlines()) + 3
    assert f"WARNING: 3 of {records} records" in ended.stderr
    [entry] = [known.entry for known in ledger.read_ledger("m.json.ledger.jsonl")]
    assert entry.left_out == {"missing": 0, "unknown": 3, "outside": 0, "failing": 0, "alone": 0}
    assert (entry.records, entry.published, entry.promised) == (records, records - 3, kind.requirement)
    assert json.loads(ended.stdout)["left_out"]["records"] == 3


@KINDS
def test_where_nothing_is_left_nothing_is_written_and_no_remedy_is_named_that_was_taken(of_kind, tmp_path) -> None:
    kind = of_kind(tmp_path)
    ended = applied(kind, kind.bad * 3 + kind.bad.replace("b", "ab"), "--rest", "drop")
    assert ended.returncode == 1 and "make a new release" in ended.stderr and "--rest drop" not in ended.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"m.json", "new.csv", "old.csv"}


@KINDS
def test_no_output_replaces_what_the_command_reads(of_kind, tmp_path) -> None:
    kind = of_kind(tmp_path)
    Path("new").mkdir()
    Path("new/a.csv").write_text(kind.head + kind.good)
    for source, to in (("new/a.csv", "new/a.csv"), ("new/*.csv", "new/a.csv")):
        if of_kind is of_baskets and "*" in source:
            continue  # baskets are one file
        ended = run("apply", kind.mapping, source, "--to", to, "--force")
        assert ended.returncode == 2 and "an output never replaces one" in ended.stderr, ended.stderr
    assert Path("new/a.csv").read_text() == kind.head + kind.good


def test_files_that_a_promise_names_are_not_replaced(tmp_path) -> None:
    Path("known.csv").write_text("a b\n")
    kind = of_baskets(tmp_path, "privacy-constraints k=2 file=known.csv")
    assert applied(kind, kind.good).returncode == 0
    Path("old.csv").write_text(kind.good)
    one_line = ("anonymize", "old.csv", "--baskets", "--require", kind.requirement, "--to", "known.csv", "--force")
    for ended in (applied(kind, kind.good, "--force", to="known.csv"), run(*one_line)):
        assert ended.returncode == 2 and "an output never replaces one" in ended.stderr
    assert Path("known.csv").read_text() == "a b\n"


def test_a_layout_that_a_file_cannot_have_leaves_nothing_behind(tmp_path) -> None:
    kind = of_baskets(tmp_path)
    ended = applied(kind, kind.good, "--set", "layout=long", to="out.parquet")
    assert ended.returncode == 2 and not Path("m.json.ledger.jsonl").exists()


@pytest.mark.parametrize("rest", ["refuse", "drop"])
def test_nobody_is_published_alone_in_a_group_whatever_is_required(rest, tmp_path) -> None:
    """`release` refuses such a release, so data that are recoded as one was may not show it either."""
    kind = of_table(tmp_path, "t-closeness t=0.9 distance=equal")
    alone = kind.good.replace("m", "f").splitlines(keepends=True)
    lines = "".join([*alone[:-1], "45,m,ab\n"])
    ended = applied(kind, lines, "--rest", rest)
    assert (ended.returncode == 0) == (rest == "drop")
    assert "1 would be alone in their group" in ended.stdout + ended.stderr
    if rest == "drop":
        rows = list(csv.reader(Path("out.csv").read_text().splitlines()))[1:]
        groups = [tuple(row[:2]) for row in rows]
        assert len(rows) == 23 and min(map(groups.count, groups)) > 1


def test_a_release_without_the_sensitive_columns_has_no_mapping_that_would_show_them(tmp_path) -> None:
    of_table(tmp_path)
    table = sfumato.read(tmp_path / "old.csv", quasi=["age", "sex"], sensitive=["ill"])
    release = sfumato.anonymize(table, "k-anonymity k=1", "without-sensitive")
    with pytest.raises(sfumato.BadInputError, match="leaves the sensitive columns out"):
        mapping_of(release, sfumato.requirement("k-anonymity k=1"))


def test_baskets_as_they_are_with_somebody_alone_are_neither_released_nor_recoded(tmp_path) -> None:
    """Decided by what is written: nothing is said of the point."""
    Path("b.txt").write_text("a b\na\nb\nc\n")
    Path("study.toml").write_text(
        basket_study('source = "b.txt"', 'anonymizers = ["coat"]\nrequirements = ["km-anonymity k=1 m=2"]')
    )
    [id] = mapped(tmp_path)
    ended = run("release", "map", "--point", id, "--to", "out.csv")
    assert ended.returncode == 2 and "shows the baskets as they are" in ended.stderr and not Path("out.csv").exists()
    kind = of_baskets(tmp_path, "km-anonymity k=1 m=2")
    ended = applied(kind, "a b\na\nb\nc\n")
    assert ended.returncode == 1 and "shows the baskets as they are" in ended.stderr and not Path("out.csv").exists()


def test_what_names_end_a_sentence_end_it_once(tmp_path) -> None:
    Path("people.csv").write_text("alter,geschl.,krank.\n" + "30,m,a\n31,m,b\n40,f,a\n41,f,b\n" * 3)
    Path("study.toml").write_text(
        'name = "n"\n[table]\nsource = "people.csv"\nquasi = ["alter", "geschl."]\nsensitive = ["krank."]\n'
        '[[candidates]]\nrequirements = ["k-anonymity k=3 & l-diversity l=2 variant=distinct"]\n'
    )
    [id, *_] = mapped(tmp_path)
    assert run("release", "map", "--point", id, "--to", "out.csv").returncode == 0
    pages = [path.read_text() for path in tmp_path.glob("out.csv.*.html")]
    assert len(pages) == 3 and all("krank." in page for page in pages)
    assert not any(f"{name}.." in page for page in pages for name in ("geschl", "krank"))


def test_the_public_certificate_of_patients_tells_no_found_cuts_and_that_records_were_dropped(tmp_path) -> None:
    people = [*PEOPLE, *[("", "m", "a")] * 3]
    Path("in.csv").write_text("age,sex,codes\n" + "".join(f"{a},{s},{';'.join(c)}\n" for a, s, c in people))
    declared = TableDeclaration("in.csv", quasi=("age", "sex"), missing="drop")
    data = DataDeclaration(declared, ItemsDeclaration(column="codes")).open()
    release = made(data, "k-km-anonymity k=3 m=2")
    cuts = anonymizer('cut-vector cuts="age=25"')
    candidate = Candidate(cuts, mixed_requirement("k-km-anonymity k=3 m=2"), item_anonymizer=candidate_maker("coat"))
    [path] = write_items(release, tmp_path / "out.csv")
    audit_mixed(path, ["age", "sex"], "codes", "k-km-anonymity k=3 m=2")
    scales = MixedScales(known=2)
    own = Publishable(release, candidate, tmp_path / "out.csv", Origin("", ""), scales=scales)
    outside = public_certificate(contexts_of(own, [path], None)[0])
    assert outside["anonymizer"] == "cut-vector with coat" and outside["rows"] == len(PEOPLE)
    assert outside["meanings"] == [{"name": "Missing values", "text": DROPPED}]
    assert DROPPED in outside["in_plain_words"]["is"][0]


def test_new_patients_are_read_back_with_what_separates_items_by_the_mapping(tmp_path) -> None:
    """Items with a `;` in them, where the separator would be guessed wrongly."""
    people = [(20 + i % 2 * 5, "mf"[i % 2], ["a;1", "b;2"][i % 3 == 0 :]) for i in range(24)]
    Path("new.csv").write_text("age,sex,codes\n" + "".join(f"{a},{s},{'|'.join(c)}\n" for a, s, c in people))
    declared = ItemsDeclaration(column="codes", separator="|")
    data = DataDeclaration(TableDeclaration("new.csv", quasi=("age", "sex")), declared).open()
    release = made(data, "k-km-anonymity k=3 m=2")
    text = mixed_mapping(release, mixed_requirement("k-km-anonymity k=3 m=2"), declared, release_names(release))
    Path("m.json").write_text(text)
    ended = run("apply", "m.json", "new.csv", "--to", "out.csv")
    assert ended.returncode == 0, ended.stderr


codes = st.frozensets(st.sampled_from("abcd"), max_size=3)
person = st.tuples(st.sampled_from([20, 21, 30, 31]), st.sampled_from("fm"), codes)
strange = st.tuples(st.sampled_from([20, 30, 99]), st.sampled_from("fmq"), st.frozensets(st.sampled_from("abz")))


def has_items(people) -> bool:
    """A column in which nobody has an item is refused when it is read."""
    return any(held for _, _, held in people)


def table(path: Path, people) -> Path:
    rows = [[age, sex, ";".join(sorted(held))] for age, sex, held in people]
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["age", "sex", "codes"], *rows])
    return path


A, B = frozenset("a"), frozenset("b")


@tries(20)
@example(  # in the first group one record alone shows b, in the second all show what others do
    old=[(20, "f", A), (20, "f", B), (31, "m", A), (31, "m", B)] * 4,
    new=[(20, "f", A)] * 3 + [(20, "f", B)] + [(31, "m", A)] * 3,
    m=1,
    k=2,
)
@given(
    old=st.lists(person, min_size=8, max_size=24).filter(has_items),
    new=st.lists(st.one_of(person, person, strange), min_size=1, max_size=24).filter(has_items),
    m=st.integers(0, 2),
    k=st.integers(2, 3),
)
def test_new_patients_keep_the_promise_and_each_is_published_or_counted(old, new, m, k) -> None:
    require = f"k-km-anonymity k={k} m={m}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        release = made(opened([(a, s, sorted(c)) for a, s, c in old]), require)
        text = mixed_mapping(
            release, mixed_requirement(require), ItemsDeclaration(column="codes"), release_names(release)
        )
        (folder / "m.json").write_text(text)
        mapping, path = read_mapping(folder / "m.json"), table(folder / "new.csv", new)
        fits = True
        try:
            recoded = apply(mapping, path)
        except (sfumato.BadInputError, sfumato.InfeasibleError) as refusal:
            fits = False
            try:
                recoded = apply(mapping, path, "drop")
            except sfumato.InfeasibleError as error:
                assert "no group of the mapping satisfies" in str(error), refusal
                return
        left_out = recoded.left_out
        recoded.write(folder / "out.csv")
        records = read_records(folder / "out.csv", ["age", "sex"], "codes")
        # every record is published or left out for one reason, and nothing is left out where nothing is refused
        assert len(records) + left_out.records == len(new) == left_out.of
        assert (left_out.records == 0) == fits
        # the promise, from the file alone
        assert least_candidates(records, m) >= k and min(Counter(quasi for quasi, _ in records).values()) >= k
        # every published record can be that of somebody: it covers the values, and all it shows stands for their items
        stands = json.loads(text)["stands_for"]
        for (age, sex), shown in records:
            assert any(
                covers(age, str(a), numeric=True) and covers(sex, s) and all(held & set(stands[one]) for one in shown)
                for a, s, held in new
            )
        # the old records come out as they did
        apply(mapping, table(folder / "old.csv", old)).write(folder / "again.csv")
        [first] = write_items(release, folder / "first.csv")
        assert first.read_bytes() == (folder / "again.csv").read_bytes()


ITEMS = "abcde"


@tries(40)
@given(
    people=st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1), min_size=2, max_size=10),
    pieces=st.data(),
    share=st.sampled_from(["0", "0.3", "0.5", "1"]),
    k=st.integers(1, 3),
    known=st.frozensets(st.sampled_from("abc"), max_size=2),
    every=st.sampled_from(["yes", "no"]),
)
def test_ps_rules_are_verified_as_the_written_file_shows(people, pieces, share, k, known, every) -> None:
    """What is verified holds of the file; of one recoding it is refused only where the file breaks a rule."""
    baskets = baskets_of([*people, frozenset("de")])
    if not known <= set(baskets.items):
        return
    number = pieces.draw(st.integers(1, 2))
    size = baskets.distinct
    piece = np.array(pieces.draw(st.lists(st.integers(0, number - 1), min_size=size, max_size=size)))
    keys = st.lists(st.integers(-1, 3), min_size=len(baskets.items), max_size=len(baskets.items))
    recodings = []
    for _ in range(number):
        drawn = np.array(pieces.draw(keys))
        drawn[[baskets.places["d"], baskets.places["e"]]] = [7, pieces.draw(st.sampled_from([-1, 8]))]
        recodings.append(set_recoding(baskets.items, drawn))
    release = BasketRelease(baskets, tuple(recodings), piece.astype(np.int32))
    with tempfile.TemporaryDirectory() as name:
        rules, path = Path(name) / "rules.txt", Path(name) / "out.csv"
        rules.write_text(f"{' '.join(sorted(known))} -> d e\n")
        wanted = basket_requirement(f'ps-rules k={k} c={share} file="{rules}" protect-subsets={every}')
        verified = not inference_violations(release, wanted, 5)
        write_items(release, path)
        rows = plain.read_lines(path)
    stands = plain.reading(rows, baskets.items)
    bound = Fraction(share) + Fraction(1, 10**9)
    holds = plain.rules_hold(rows, [(sorted(known), ["d", "e"])], k, bound, stands, every == "yes")
    assert holds or not verified
    if number == 1:
        assert verified == holds
