"""Baskets that scale: what must be quick, bounded or refused at once, and equal to the plain account."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plain_baskets import complete_holds, plain_partition, plain_tree, published
from sfumato.errors import BadInputError
from sfumato.transactions import anonymize_baskets, basket_requirement, baskets_of
from sfumato.transactions.anonymizers.item_tree import balanced_tree
from sfumato.transactions.measures.scales import measure_baskets
from sfumato.transactions.recoding import BasketRelease


def test_too_many_subsets_are_refused_before_any_is_listed(tmp_path):
    letters = [f"i{i:02}" for i in range(40)]
    baskets = baskets_of([letters])
    file = tmp_path / "known.txt"
    lines = [letters[start : start + 20] for start in range(15)] + [letters[:3]]
    file.write_text("\n".join(" ".join(line) for line in [letters[:2], *lines]) + "\n")
    started = time.process_time()
    with pytest.raises(
        BadInputError, match=r"15,728,\d+ subsets .* \(line 2 has 20 items\), or say protect-subsets=no"
    ):
        basket_requirement(f"privacy-constraints k=2 file={file}").itemsets(baskets)
    assert time.process_time() - started < 0.5
    listed = basket_requirement(f"privacy-constraints k=2 file={file} protect-subsets=no").itemsets(baskets)
    assert len(listed) == 17
    file.write_text(" ".join(letters) + "\n")
    with pytest.raises(BadInputError, match=r"far too many|1,099,511,627,775 subsets"):
        basket_requirement(f"privacy-constraints k=2 file={file}").itemsets(baskets)


# -- Partition ---------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=6), min_size=6, max_size=30),
    st.integers(1, 4),
    st.integers(2, 3),
)
def test_partition_divides_as_the_plain_account_does(rows, k, fanout):
    baskets = baskets_of(rows)
    release = anonymize_baskets(baskets, f"k-anonymity k={k}", f"partition fanout={fanout}")
    assert complete_holds(release, k)
    tree = balanced_tree(baskets.items, fanout)
    distinct = [baskets.basket(row) for row in range(baskets.distinct)]
    shows = plain_partition(distinct, baskets.weights.tolist(), k, plain_tree(tree, baskets.items))
    by_members = {frozenset(tree.leaves[lo : hi + 1]): label for (lo, hi), label in tree.nodes.items()}
    wanted = [{by_members[node[0]] for node in nodes} for nodes in shows]
    rows = release.recoded()
    labels = [
        [rows.labels[code] for code in rows.codes[rows.starts[b] : rows.starts[b + 1]]] for b in range(len(wanted))
    ]
    assert [set(own) for own in labels] == wanted


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 5))
def test_a_recoding_made_when_asked_says_what_the_file_shows(seed, k):
    random = np.random.default_rng(seed)
    baskets = baskets_of([random.choice(40, random.integers(1, 6), replace=False).tolist() for _ in range(60)])
    lazy = anonymize_baskets(baskets, f"k-anonymity k={k}", "partition fanout=3")
    full = BasketRelease(baskets, tuple(lazy.recodings), lazy.piece.copy(), lazy.maker)
    assert published(lazy) == published(full)
    one, other = measure_baskets(lazy), measure_baskets(full)
    assert dict(one.values) == pytest.approx(dict(other.values), rel=1e-12)
    assert one.matching == other.matching
    assert lazy.suppressed.tolist() == full.suppressed.tolist() == []


def test_very_many_pieces_are_measured_without_pieces_times_items():
    """Over 3,000 pieces and 6,000 items: in full their recodings alone would be 18 million codes."""
    random = np.random.default_rng(3)
    items = (6000 * random.random((20_000, 4)) ** 3).astype(int)
    baskets = baskets_of(items.tolist())
    small = baskets_of(items[:50].tolist())
    measure_baskets(anonymize_baskets(small, "k-anonymity k=2", "partition"))  # kernels are compiled
    started = time.process_time()
    release = anonymize_baskets(baskets, "k-anonymity k=3", "partition")
    measure_baskets(release)
    assert len(release.recodings) > 3000
    assert time.process_time() - started < 20
    assert not isinstance(release.recodings, tuple)
