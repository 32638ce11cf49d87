"""Texts for people stand in one catalogue; no text of a page stands in a template, a script, or a module."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.config import options
from sfumato.measures.all_measures import MEASURES
from sfumato.report.data_summary import meanings
from sfumato.report.map_summary import map_lines
from sfumato.report.page import page
from sfumato.report.point_summary import anonymize_command, settings, studied
from sfumato.texts.catalogue import FORMATS, counted, listed, number, percent, t, texts, wrapped
from sfumato.tradeoff.comparison import Verdicts
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.study.presets import bundled_study as bundled_table
from sfumato.tradeoff.study.study import read_study as bundled_baskets
from sfumato.workbench.opened_data import OPTION, STARTING, all_in_forms, in_forms

SRC = Path(__file__).resolve().parents[1] / "src" / "sfumato"
WORKBENCH = SRC / "workbench"
TEMPLATES = sorted((WORKBENCH / "templates").glob("*.html"))
SCRIPTS = sorted([*(SRC / "texts" / "templates" / "scripts").glob("*.js"), *WORKBENCH.glob("static/**/*.js")])
SENTENCE = re.compile(r"[^\W\d_]{2,}[,;:]? [^\W\d_]{2,}")
"""Two words beside each other."""

DESCRIBED = ("Option", "Endpoint", "set_cookie")
"""What describes the API, from the options as data; it is no text of a page."""

CODE = ("endpoints.py",)
"""Files whose sentences describe the API."""

TECHNICAL_TEXTS = re.compile(
    r"-src |^attachment; |^: still here|^made elsewhere$| by maker$|^k within |From the study to the published file, "
)
"""What programs read: headers, comments of a stream, sections of the catalogue, questions as one types them, code."""


def _strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Walk through the texts of a module, but for docstrings and what describes the API."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in DESCRIBED:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
        yield from _strings(node)


@pytest.mark.parametrize("path", [path for path in sorted(WORKBENCH.rglob("*.py")) if path.name not in CODE], ids=str)
def test_no_module_of_the_workbench_says_a_sentence_of_its_own(path: Path) -> None:
    said = [each.value for each in _strings(ast.parse(path.read_text(encoding="utf-8"))) if SENTENCE.search(each.value)]
    assert [text for text in said if not TECHNICAL_TEXTS.search(text)] == []


def _visible(template: str) -> str:
    """Leave of a template what stands on the page whatever it is filled with: texts, and attributes that are read."""
    plain = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "\0", template, flags=re.DOTALL)
    read = re.findall(r'(?:aria-label|aria-description|title|placeholder|alt|content)="([^"]*)"', plain)
    shown = re.sub(r"<(script|style|title)\b.*?</\1>|<[^>]*>|<!doctype[^>]*>", " ", plain, flags=re.DOTALL)
    return " ".join([shown, *(each for each in read if each not in TECHNICAL)])


TECHNICAL = ("width=device-width, initial-scale=1", "light dark")
NAMES = {"CSV", "Parquet", "urlencode"}
"""What is called so in every language."""


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_a_text_of_its_own(path: Path) -> None:
    words = set(re.findall(r"[^\W\d_]{2,}", _visible(path.read_text(encoding="utf-8"))))
    assert words - NAMES == set()


SHOWN = re.compile(
    r"""(?:\b(?:cell|rowHead|block|link|entry)\("""
    r"""|\belement\("(?:p|h\d|b|span|summary|button|dt|dd|li|t[hd])", \{[^{}]*\}, )"""
    r"""(?:[\w.]+ \? )?"([^"]*[^\W\d_]{2,}[^"]*)"|textContent = "([^"]+)"|"(?:aria-label|title)": "([^"]+)\""""
)
"""What a script puts onto the page as it stands."""


def _css_words() -> set[str]:
    styles = [*(SRC / "texts" / "templates").glob("*.css"), *WORKBENCH.glob("static/*.css")]
    return set(re.findall(r"[\w-]+", " ".join(path.read_text(encoding="utf-8") for path in styles)))


CODED = re.compile(
    r"^use strict$|^(no better|not shown)$|color-mix|^[#.]?[\w-]+ [\w-]*[\[.]"
    r"|sections of a study| of (baskets|groups|tables with items)$|^sfumato ask |^within "
)
"""Names of verdicts, colours, selectors, sections of the catalogue, questions as one types them: no texts of a page."""


def _literals(script: str) -> Iterator[str]:
    """List what stands in quotes: of a template what is between its places, which may hold templates themselves."""
    at = 0
    while at < len(script):
        if script.startswith("//", at):
            at = script.find("\n", at)
        elif script[at] == '"':
            end = re.compile(r'(?:[^"\\]|\\.)*').match(script, at + 1)
            assert end is not None
            yield end[0]
            at = end.end() + 1
        elif script[at] == "`":
            text, inside, at = _template(script, at + 1)
            yield text
            for each in inside:
                yield from _literals(each)
        else:
            at += 1


def _template(script: str, at: int) -> tuple[str, list[str], int]:
    """Read a template from behind its first quote: its text, the code of its places, and where it ends."""
    text, inside = "", list[str]()
    while script[at] != "`":
        if script.startswith("${", at):
            begin, at = at + 2, _closed(script, at + 2)
            inside.append(script[begin:at])
        else:
            text += script[at]
        at += 1
    return text, inside, at + 1


def _closed(script: str, at: int) -> int:
    """Find the brace that closes a place of a template."""
    depth = 0
    while depth or script[at] != "}":
        if script[at] == "`":
            at = _template(script, at + 1)[2]
            continue
        depth += {"{": 1, "}": -1}.get(script[at], 0)
        at += 1
    return at


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_has_a_text_of_its_own(path: Path) -> None:
    """Neither two words beside each other, unless they are a selector, nor a word that goes onto the page."""
    script, known = re.sub(r'class: "[^"]*"', "", path.read_text(encoding="utf-8")), _css_words()
    literals = [text for text in _literals(script) if SENTENCE.search(text) and not CODED.search(text)]
    assert [text for text in literals if not set(re.findall(r"[\w-]+", text)) <= known] == []
    assert [text for found in SHOWN.findall(script) for text in found if text] == []


def test_every_text_is_used_and_every_use_is_a_text() -> None:
    """A name that is put together (`step_` and a step) is held against its beginning."""
    sources = [*TEMPLATES, *SCRIPTS, *SRC.rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    named = set(re.findall(r"""\b(?:t|refusal)\(\s*["'`]([a-z_]+(?:\.[a-z_\d]*[a-z\d])+)["'`]""", code)) | {
        f"{section}.{name}{end}"
        for call, section, end in SHORTHANDS
        for name in re.findall(rf"""\b{call}\(\s*["'`]([a-z_\d]*[a-z\d])["'`]""", code)
    }
    assert named - set(texts()) == set()
    measured = {f"measure.{name}" for name in MEASURES} | {f"measure_of_persons.{name}" for name in MEASURES}
    assert {name.rpartition(".")[0] for name in texts() if name.startswith("measure")} <= measured
    quoted = set(re.findall(r"[a-z_\d]+", code))
    rest = [name for name in texts() if not name.startswith(("measure", "maker.", "option."))]
    assert [name for name in rest if name.split(".")[1] not in quoted and not _is_put_together(name, code)] == []


def test_every_text_of_an_anonymizer_and_of_a_shared_option_is_used() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SRC.rglob("*.py"))
    for id in texts("anonymizers"):
        _, owner, part = id.split(".")
        assert f"class {owner}(" in code and f"    {part}: ClassVar[str]" in code, id
    users = "\n".join(path.read_text(encoding="utf-8") for path in SRC.rglob("*.py") if path.name != "options.py")
    assert [id for id in texts("options") if not re.search(rf"\b{id.partition('.')[2]}\b", users)] == []
    with pytest.raises(AttributeError):
        _ = options.NOTHING_LIKE_IT


SHORTHANDS = (
    ("w", "drawing", ""),
    ("refusal", "refusal", ""),
    ("_lines", "check", ""),
    ("_entry", "meanings", ".text"),
)
"""Functions that name a text without its section."""


def _is_put_together(name: str, code: str) -> bool:
    part, text, *_ = name.split(".")
    begins = {text[:i] for i in range(2, len(text)) if text[i - 1] == "_"}
    return any(f"{part}.{begin}" in code or f'"{begin}' in code or f"`{begin}" in code for begin in begins) or any(
        f"{part}.{begin}" in code for begin in ("${", "{", '" ~')
    )


def test_places_of_texts_are_names() -> None:
    """A place is a name, or an attribute of one; its format is Python's, one of ours, or forms for one and many."""
    for name, text in texts().items():
        for _, place, form, _ in Formatter().parse(text):
            assert place is None or re.fullmatch(r"[^\W\d]\w*(\.\w+|\[\w+\])*", place), name
            assert not form or form in {*FORMATS, "g"} or "/" in form or not form.isidentifier(), (name, form)


def test_a_place_that_is_not_filled_in_is_an_error() -> None:
    with pytest.raises(KeyError):
        t("sentence.of_records", records=3)
    with pytest.raises(KeyError):
        t("sentence.nothing_like_it")


# -- sentences that were written for the command line

PLACE = re.compile(r"\{[^{}]*\}")
TERMINAL = ("commands", "cli.py", "papers")
"""What speaks to a terminal alone."""


def _sentences(tree: ast.AST) -> Iterator[str]:
    """Walk through the sentences of a module; a place of one stands as X."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        else:
            yield from _sentences(node)


def _library_sentences() -> list[str]:
    modules = [path for path in SRC.rglob("*.py") if not str(path.relative_to(SRC)).startswith(TERMINAL)]
    named = [text for text in (path.read_text(encoding="utf-8") for path in modules) if OPTION.search(text)]
    said = [text for module in named for text in _sentences(ast.parse(module))]
    said += [PLACE.sub("X", text) for id, text in texts("errors").items() if not id.startswith("cli.")]
    return [text for text in said if "--" in text and SENTENCE.search(text)]


def test_no_sentence_names_an_option_on_a_page_that_one_cannot_click() -> None:
    """Whatever a room above says, but for what only whoever starts the workbench can set."""
    ours = [text for name, text in texts().items() if not name.startswith("serve.")]
    sentences = [*_library_sentences(), *ours]
    assert len(sentences) > 100
    left = {(name, text) for text in sentences for name in OPTION.findall(in_forms(text)) if name not in STARTING}
    assert {each for each in left if "`sfumato " not in each[1]} == set()


def test_what_a_setting_is_called_on_a_page_stands_there() -> None:
    labels = {text.strip(" …") for text in texts().values()} | {"forms", "suppress"}
    named = {name: text for name, text in texts().items() if name.startswith(("settings.", "commands."))}
    quoted = {label for text in named.values() for label in re.findall("“([^”]+)”", text)}
    assert quoted - labels == set()


def test_what_is_typed_stays_as_it_is() -> None:
    told = {"command": "sfumato release . --for public", "why": ["leave out --mapping", "see `sfumato apply x --to y`"]}
    assert all_in_forms(told) == {
        "command": "sfumato release . --for public",
        "why": ["leave out “Also write the mapping”", "see `sfumato apply x --to y`"],
    }


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_measured_share_reads_as_none_or_all_only_where_it_is(some, of):
    share = Fraction(min(some, of), of)
    text = percent(float(share))
    assert (text == "0.0 %") == (share == 0) and (text == "100.0 %") == (share == 1)
    if not text.startswith(("less", "more")):
        digits, _ = text.split(" ")
        places = len(digits.partition(".")[2])
        assert 1 <= places <= 4 and abs(Fraction(digits) - 100 * share) <= Fraction(51, 100) / 10**places


@given(st.floats(1e-9, 1e9))
def test_a_number_is_near_to_what_it_says(value):
    assert math.isclose(float(number(value).replace(",", "")), value, rel_tol=5.1e-4)


def test_shares_that_were_set_counts_and_lists_read_as_a_person_writes_them():
    assert [percent(share, 3) for share in (0.05, 1 / 3, 0.005, 1)] == ["5 %", "33.3 %", "0.5 %", "100 %"]
    assert percent(-1e-17) == "0.0 %" and percent(1 - 1e-16) == "100.0 %"
    assert [counted(n, "box", "boxes") for n in (0, 1, 1234)] == ["0 boxes", "1 box", "1,234 boxes"]
    assert [listed(parts) for parts in ([], "a", "ab", ("x", 2, Bound("k", "min", 3)))] == [
        "",
        "a",
        "a and b",
        "x, 2 and k at least 3",
    ]
    assert wrapped("word " * 40, "- ").splitlines()[1].startswith("    word")


def point_of(candidate, **more):
    return Point("p", candidate, "measured", **more)


def test_one_function_speaks_of_tables_and_of_baskets():
    table, baskets = bundled_table("adult"), bundled_baskets("online-retail")
    [made, *_] = table.candidates
    sold = baskets.candidates[0].point()
    maps = {
        "table": Map(table, (point_of(made),), {"records": 1, "quasi": ["age"], "sensitive": ["pay"], "dropped": 0}),
        "baskets": Map(baskets, (sold,), {"records": 2000, "items": 7, "tree": True}),
    }
    assert studied(maps["table"]) == (
        "the table adult were tried: 1 record, 1 quasi-identifier an attacker may know (age), and the sensitive pay "
        "nobody should learn. "
    )
    assert studied(maps["baskets"]) == (
        "the baskets online-retail were tried: 2,000 records, each a set of some of 7 items that lie in a tree. "
    )
    public = {name: studied(map_.public()) for name, map_ in maps.items()}
    assert "records" not in public["table"] and "thousands of records, each a set of items. " in public["baskets"]
    named = {name: dict(meanings(map_)) for name, map_ in maps.items()}
    assert "Groups" in named["table"] and "Published items" in named["baskets"]
    assert [set(dict(meanings(map_.public()))) >= {"Rounded to the worse side"} for map_ in maps.values()] == [True] * 2
    words = {name: anonymize_command(map_.study, map_.points[0]) for name, map_ in maps.items()}
    assert words["table"].startswith("sfumato anonymize adult ") and f"--require '{made.requirement}'" in words["table"]
    assert words["baskets"] == (
        "sfumato anonymize online-retail --with aa --require 'km-anonymity k=2 m=2' --to release-" + sold.id + ".csv"
    )
    assert anonymize_command(maps["baskets"].public().study, sold) is None


@pytest.mark.parametrize(("text", "family"), [("one-item", "all items as one"), ("original", "original baskets")])
def test_the_ends_of_a_map_of_baskets_say_themselves_what_they_are(text, family):
    [end] = [own for own in bundled_baskets("online-retail").candidates if own.anonymizer.name == text]
    assert settings(end.point()) == type(end.anonymizer).baseline and end.point().family == family
    assert anonymize_command(bundled_baskets("online-retail"), end.point()) is None


def test_verdicts_are_worked_out_once_per_map(monkeypatch):
    calls = []
    known = Verdicts.of
    monkeypatch.setattr(Verdicts, "of", staticmethod(lambda map_: calls.append(id(map_)) or known(map_)))
    worth = dict.fromkeys(("accuracy", "gain", "low", "high", "adversary", "base_accuracy", "original_accuracy"), 0.5)
    points = [
        point_of(own, measures={"p_loss": 0.1 * n, "u_loss": 1 - 0.1 * n}, worth={**worth, "verdict": "better"})
        for n, own in enumerate(bundled_table("adult").candidates[:8])
    ]
    map_ = Map(bundled_table("adult"), tuple(points), {"quasi": ["age"], "sensitive": ["pay"]})
    page(map_, False, date(2026, 11, 16))
    assert calls.count(id(map_)) == 1


def test_points_at_the_same_place_are_one_line_of_the_terminal_and_all_of_them_points_of_the_frontier():
    study = bundled_table("adult")
    one, two, three, *_ = (each for each in study.candidates if not each.anonymizer.baseline)
    places = {one: (0.1, 0.04), two: (0.1, 0.04), three: (0.3, 0.01)}
    points = tuple(
        Point(f"point{i}", candidate, "measured", None, dict(zip(("p_loss", "u_loss"), place, strict=True)))
        for i, (candidate, place) in enumerate(places.items())
    )
    map_ = Map(study, points, {"records": 9, "sensitive": ["occupation"]})
    lines = [line for line in map_lines(map_, None) for line in line.splitlines() if line.startswith("  point")][1:]
    assert len(map_.frontier()) == 3 and len(lines) == 2
    assert lines[0].endswith("(and 1 more at the same place)") and "more at" not in lines[1]
    assert lines[0].split()[0] in ("point0", "point1") and lines[1].split()[0] == "point2"
