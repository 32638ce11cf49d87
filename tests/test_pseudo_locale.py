"""What a command prints comes from the catalogue: in a marked language only values, numbers and names stay plain."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pseudo_locale import marked

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "examples"
NAMES = {"public", "partner", "internal", "born", "sex", "zip", "admitted", "diagnosis", "sfumato", "map", "release"}
NAMES |= {"mondrian", "cut", "loss", "hilbert"}
"""Recipients, columns, commands and files; anonymizers as they are typed."""

NOUNS = {"group", "groups", "persons", "person", "point", "points", "records", "record", "different"}
NOUNS |= {"year", "years", "month", "months"}
"""Nouns that a count is given with; they stand alone among marked words."""

PHRASE = re.compile(r"(?<![\w/.`'-])[a-z]{2,}(?:[,;:]? [a-z]{2,})+(?![\w/]|\.\w)")


def unmarked(output):
    """List the words side by side that no text of the catalogue has, but for names."""
    lines = [line for line in output.splitlines() if not line.strip().startswith(("sfumato ", "note:"))]
    found = [phrase for line in lines for phrase in PHRASE.findall(line)]
    return [phrase for phrase in found if not set(re.findall("[a-z]+", phrase)) <= NAMES | NOUNS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("marked")
    for each in EXAMPLES.glob("visits*"):
        (made / each.name).write_bytes(each.read_bytes())
    assert printed(made, "explore", "visits-study.toml", "--out", "map") is not None
    return made


def printed(folder, *words):
    command = [sys.executable, str(ROOT / "tests" / "pseudo_locale.py"), *words]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("check", "visits-study.toml"),
        ("explore", "visits-study.toml", "--out", "map"),
        ("choose", "map", "--for", "public"),
        ("choose", "map"),
        ("ask", "map", "k within u_loss 0.05"),
    ],
    ids=" ".join,
)
def test_only_values_numbers_and_names_are_no_text_of_the_catalogue(folder, words):
    output = printed(folder, *words)
    assert any(0x1D5A0 <= ord(letter) < 0x1D5D4 for letter in output)
    assert unmarked(output) == []


def test_what_is_formed_in_code_is_found():
    assert marked("at least {k:,} {k:record/records}") != "at least {k:,} {k:record/records}"
    assert marked("{k!r}: {share:percent}") == "{k!r}: {share:percent}"
    assert unmarked(f"{marked('Recommended')}: born and zip to 3 digits") == ["born and zip to"]
    assert unmarked("  sfumato release map --point 1\npublic, partner") == []
