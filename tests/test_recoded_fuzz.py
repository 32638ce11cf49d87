"""New patients under a mapping, and PS-rules of a release: any data, counted again from the written file alone."""

from __future__ import annotations

import csv
import json
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import plain_inference as plain
import sfumato
from independent_checker import covers
from plain_patients import least_candidates, read_records
from sfumato.data.declaration import ItemsDeclaration
from sfumato.data.items import baskets_of
from sfumato.publish._apply_items import apply_mixed
from sfumato.publish._item_mapping import mixed_mapping, read_item_mapping
from sfumato.release.items import BasketRelease, set_recoding
from sfumato.release.verification import inference_violations
from sfumato.release.writing_items import release_names, write_items
from sfumato.requirements.items import basket_requirement, mixed_requirement
from strategies import tries
from test_mixed import made, opened

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
        mapping, path = read_item_mapping(folder / "m.json"), table(folder / "new.csv", new)
        fits = True
        try:
            recoded = apply_mixed(mapping, path)
        except (sfumato.BadInputError, sfumato.InfeasibleError) as refusal:
            fits = False
            try:
                recoded = apply_mixed(mapping, path, "drop")
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
        apply_mixed(mapping, table(folder / "old.csv", old)).write(folder / "again.csv")
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
