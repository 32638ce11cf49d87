"""What the tables of claims quote of the five papers, against the papers' texts; and the pages made of results."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sfumato.papers import PAPERS

ROOT = Path(__file__).resolve().parents[1]
TEXTS = {
    "li-li-2009": "000_c25bec505c20a447.txt",
    "loukides-2012": "001_abaaad7c3d7e238a.txt",
    "brickell-shmatikov-2008": "002_9fa0a3e75f017408.txt",
    "cormode-2013": "003_50b72155fd3adfa5.txt",
    "dewri-2011": "004_ba679dddff491250.txt",
}
SHARED = next((up / "shared" / "papers" for up in ROOT.parents if (up / "shared" / "papers").is_dir()), None)
SYMBOLS = {"ell": "l", "varepsilon": "epsilon", "ϵ": "epsilon", "ε": "epsilon", "ℓ": "l", "geq": "", "leq": ""}
DROPPED = re.compile(r"\\(in|text|mathcal|tilde|ll|rm)\b|[^a-z0-9]")


def rows(paper):
    path = ROOT / "src" / "sfumato" / "papers" / f"{paper.replace('-', '_')}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def letters(text):
    """The letters and digits of a text: spaces, signs and marks differ between an extraction and a quotation."""
    text = text.lower()
    for symbol, name in SYMBOLS.items():
        text = re.sub(rf"\\{symbol}\b" if symbol.isascii() else symbol, name, text)
    return DROPPED.sub("", text)


@pytest.mark.skipif(SHARED is None, reason="the papers' texts are not distributed")
@pytest.mark.parametrize("paper", PAPERS)
def test_quotations_are_the_papers_words(paper):
    """`...` leaves words out, and what stands in brackets is ours: a sign that the extraction lost."""
    text = letters((SHARED / TEXTS[paper]).read_text(encoding="utf-8"))
    missing = []
    for id, row in rows(paper).items():
        quoted = row.get("paper")
        for piece in quoted.split(" ... ") if isinstance(quoted, str) else []:
            if letters(re.sub(r"\[[^]]*\]", "", piece)) not in text:
                missing.append((id, piece))
    assert missing == []


@pytest.mark.parametrize("paper", PAPERS)
def test_a_statement_has_its_place_and_a_check_has_none(paper):
    for id, row in rows(paper).items():
        assert row.get("kind", "claim") in ("headline", "claim", "check")
        assert ("paper" in row) == ("place" in row) == (row.get("kind") != "check"), id
    assert [id for id, row in rows(paper).items() if row.get("kind") == "headline"]
