"""Baskets that scale: what must be quick, bounded or refused at once, and equal to the plain account."""

import time

import pytest

from sfumato.errors import BadInputError
from sfumato.transactions import basket_requirement, baskets_of


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
