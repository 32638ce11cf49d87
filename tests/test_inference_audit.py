"""What the audit and the measure of studies say of any file of baskets, against the plain checkers."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plain_inference as plain
from sfumato.auditing.baskets import audit_baskets
from sfumato.data.items import baskets_of
from sfumato.measures.items.losses import ItemStudy
from sfumato.release.items import global_release, set_recoding
from sfumato.release.writing_items import write_items

SOME = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ITEMS = "abcde"
SLACK = Fraction(1, 10**9)
files = st.lists(st.frozensets(st.sampled_from([*ITEMS, "{a, b}", "{c, d}"]), max_size=4), min_size=1, max_size=10)


def lines(path: Path, rows: list[frozenset[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(row) or [""] for row in rows)
    return path


@SOME
@given(
    rows=files,
    secret=st.sets(st.sampled_from(ITEMS), min_size=1, max_size=2),
    share=st.sampled_from(["0", "0.25", "0.5", "0.6666666667", "1"]),
    k=st.integers(1, 3),
    m=st.integers(1, 4),
)
def test_inference_is_judged_as_the_definitions_say(tmp_path: Path, rows, secret, share, k, m) -> None:
    path = lines(tmp_path / "published.csv", rows)
    assert plain.read_lines(path) == rows
    original = baskets_of([set(ITEMS)])
    stands, bound = plain.reading(rows, ITEMS), Fraction(share) + SLACK
    alone, named = plain.sensitive_alone(stands, secret), ",".join(sorted(secret))
    rho = audit_baskets(path, f"rho-uncertainty rho={share} m={m} sensitive={named}", original)
    assert (not rho.failures) == (alone and plain.rho_uncertain(rows, secret, bound, m))
    coherence = audit_baskets(path, f"hkp-coherence h={share} k={k} p={m} private={named}", original)
    assert (not coherence.failures) == (alone and plain.coherent(rows, secret, bound, k, m))
    known = sorted(set(ITEMS) - secret)[:2]
    rules = tmp_path / "rules.txt"
    rules.write_text(f"{' '.join(known)} -> {' '.join(sorted(secret))}\n")
    listed = audit_baskets(path, f'ps-rules k={k} c={share} file="{rules}"', original)
    assert (not listed.failures) == (alone and plain.rules_hold(rows, [(known, sorted(secret))], k, bound, stands))


@SOME
@given(
    people=st.lists(st.frozensets(st.sampled_from(ITEMS)), min_size=1, max_size=8).filter(any),
    keys=st.lists(st.integers(-1, 3), min_size=5, max_size=5),
    studies=st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_studies_are_supported_as_the_written_file_shows(tmp_path: Path, people, keys, studies) -> None:
    baskets = baskets_of(people)
    release = global_release(baskets, set_recoding(baskets.items, np.array(keys[: len(baskets.items)])))
    path = tmp_path / "published.csv"
    write_items(release, path, force=True)
    rows = plain.read_lines(path)
    stands = plain.reading(rows, baskets.items)
    supported = sum(ItemStudy(str(number), study).supported(release) for number, study in enumerate(studies))
    assert supported == plain.supported_studies(stands, people, rows, studies, told="together")
