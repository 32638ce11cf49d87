"""The command that a certificate prints, run word by word as it stands there: it never contradicts the certificate."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from command_line import told
from sfumato.publish.certificate import certificate_files
from sfumato.publish.pipeline import publish_point
from sfumato.tradeoff.study.study import read_study

PRINTED = re.compile("<pre>(.*?)</pre>", re.DOTALL)


def mapped(folder: Path) -> list[str]:
    """Write what `release` needs of a map, nothing measured; return the ids of its points."""
    study = read_study(str(folder / "study.toml"))
    (folder / "map").mkdir()
    (folder / "map" / "study.toml").write_text(study.to_toml(folder / "map"), encoding="utf-8")
    about = {"digest": study.digest_of(study.data.open())}
    entries = [
        {"id": own.id, "anonymizer": str(own.anonymizer), "form": own.form, "requirement": str(own.requirement)}
        | {"parameters": own.parameters}
        for own in study.candidates
    ]
    content = {"schema": 1, study.section: about}
    content["points"] = [{**own, "status": "measured", "reason": None, "measures": {}} for own in entries]
    (folder / "map" / "points.json").write_text(json.dumps(content), encoding="utf-8")
    return [own["id"] for own in entries]


def printed(page: Path) -> list[str]:
    """Read the command off a certificate's page."""
    [text] = PRINTED.findall(page.read_text(encoding="utf-8"))
    return shlex.split(unescape(text))


def check(folder: Path, monkeypatch, study: str, name: str = "out.csv", layout: str = "rows") -> list[tuple[list, str]]:
    """Publish every point of a study, run what both certificates print, and return the publisher's words and answers.

    The release lies in a folder of its own, whose name has a blank, beside that of the map.
    """
    monkeypatch.chdir(folder)
    Path("study.toml").write_text(study, encoding="utf-8")
    done = []
    for number, id in enumerate(mapped(Path())):
        out = Path(f"to publish {number}")
        out.mkdir()
        publish_point("map", id, out / name, layout=layout)
        _, own, _, outside = certificate_files(out / name)
        words, public = printed(own), printed(outside)
        for certified, command in ((own, words), (outside, public)):
            assert json.loads(certified.with_suffix(".json").read_text(encoding="utf-8"))["verify"] == command
        assert "--original" not in public
        with monkeypatch.context() as inside:
            inside.chdir(out)
            code, said = told(*public[1:])
            assert code == 0, (public, said)
            code, said = told(*words[1:])
            assert code == 0, (words, said)
        done.append((words, said))
    assert done
    return done


def fits(done: list[tuple[list, str]]) -> None:
    for words, said in done:
        exact = "Nothing was found that does not fit." if "--group" in words else "All rows fit."
        assert exact in said and "NOT COVERED" not in said and "cover no value" not in said, (words, said)


def table_study(table: str, *candidates: str) -> str:
    blocks = "\n".join(f"[[candidates]]\n{own}" for own in candidates)
    return f'name = "x"\naxes = ["p_loss", "loss"]\n[table]\n{table}\n{blocks}\n'


K3 = 'requirements = ["k-anonymity k=3"]'
BOTH = f'{K3}\nforms = ["generalization", "bucketization"]'
L2 = 'requirements = ["k-anonymity k=2 & l-diversity l=2 variant=distinct"]\nforms = ["bucketization"]'
ILLS = ("grippe", "gicht", "Übelkeit", "k.A.")


def people(number: int = 40, seed: int = 3) -> list[tuple[str, ...]]:
    chance = random.Random(seed)
    towns = ("Köln", "Aachen", "k.A.", "Łódź")
    return [
        (str(i), str(chance.randrange(20, 60)), towns[i * 5 % 3], ILLS[i * 7 % 4], "xy"[i % 2], str(i // 2))
        for i in range(number)
    ]


def write(path: Path, header: list[str], rows: list[tuple[str, ...]], mark: str = ",", encoding: str = "utf-8") -> None:
    def field(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if any(own in text for own in f'{mark}"\n') else text

    lines = [mark.join(map(field, row)) for row in (tuple(header), *rows)]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))


def test_encodings_delimiters_missing_texts_and_odd_names(tmp_path, monkeypatch):
    header = ["no", "an age", "--town, or near", 'ill;ness "x"', "a|b", "home"]
    write(tmp_path / "p.csv", header, people(), ";", "cp1252")
    table = (
        'source = "p.csv"\nencoding = "cp1252"\ndelimiter = ";"\nna = ["k.A."]\nidentifier = ["no"]\n'
        'quasi = ["an age", "--town, or near"]\nsensitive = [\'ill;ness "x"\']\nneutral = ["a|b"]'
    )
    fits(check(tmp_path, monkeypatch, table_study(table, BOTH), "-odd name's.csv"))


def test_level_tables_and_records_dropped_for_missing_values(tmp_path, monkeypatch):
    write(tmp_path / "p.csv", ["no", "age", "town", "ill", "w", "home"], people(), "\t", "latin-1")
    (tmp_path / "levels").mkdir()
    rows = "Köln;am Rhein;Westen;*\nAachen;Eifel;Westen;*\nBonn;am Rhein;Westen;*\n"
    (tmp_path / "levels" / "p_hierarchy_town.csv").write_text(rows, encoding="utf-8")
    table = (
        'source = "p.csv"\nencoding = "latin-1"\nna = ["k.A."]\nmissing = "drop"\nhierarchies = "levels"\n'
        'quasi = ["age", "town"]\nsensitive = ["ill"]\nhierarchy.age = {type = "numeric", lower = 0, upper = 99, '
        "intervals = [5, 20]}"
    )
    made = f'{K3}\nanonymizers = ["full-domain", "mondrian ranges=node"]\nsuppress = [0.2]'
    local = f'{K3}\nanonymizers = ["local-recoding", "hilbert"]'
    fits(check(tmp_path, monkeypatch, table_study(table, made, local)))


def test_buckets_as_text_and_parquet(tmp_path, monkeypatch):
    rows = [("01" if i % 3 else "1.0", " 1", ("TRUE", "nan", "007", "")[i % 4]) for i in range(24)]
    write(tmp_path / "p.csv", ["zip", "ward", "code"], rows)
    table = 'source = "p.csv"\nquasi = ["zip", "ward"]\nsensitive = ["code"]'
    for name in ("r.csv", "r.parquet"):
        folder = tmp_path / f"of {name}"
        folder.mkdir()
        write(folder / "p.csv", ["zip", "ward", "code"], rows)
        fits(check(folder, monkeypatch, table_study(table, L2), name))


def test_households_where_the_file_confirms_them_and_where_it_cannot(tmp_path, monkeypatch):
    rows = [(str(20 + i), f"{i // 2 % 6}", ILLS[i % 3], f"h{i // 2}") for i in range(24)]
    write(tmp_path / "p.csv", ["age", "zip", "ill", "home"], rows)
    table = 'source = "p.csv"\nquasi = ["age", "zip"]\nsensitive = ["ill"]\nhousehold = "home"'
    made = f'{K3}\nanonymizers = ["mondrian", "mondrian ranges=node"]'
    done = check(tmp_path, monkeypatch, table_study(table, made))
    fits(done)
    confirmed = [words for words, said in done if "One published combination of these covers each" in said]
    assert [words for words, _ in done if "--household" in words] == confirmed != []


def test_releases_without_a_kind_of_columns(tmp_path, monkeypatch):
    write(tmp_path / "p.csv", ["no", "age", "town", "ill", "w", "home"], people())
    table = 'source = "p.csv"\nquasi = ["age", "town"]\nsensitive = ["ill"]'
    made = ('anonymizers = ["without-sensitive", "without-quasi"]', 'requirements = ["k-anonymity k=1"]')
    fits(check(tmp_path, monkeypatch, table_study(table, "\n".join(made))))


def test_tables_that_are_no_text_and_bundled_hierarchies_of_values(tmp_path, monkeypatch):
    rows = [{"age": 20 + i % 9, "born": f"{1960 + i % 7}-0{1 + i % 9}-03", "ill": "abc"[i % 3]} for i in range(30)]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    for ending in ("json", "parquet"):
        folder = tmp_path / ending
        folder.mkdir()
        (folder / f"p.{ending}").write_bytes((tmp_path / f"p.{ending}").read_bytes())
        table = f'source = "p.{ending}"\nquasi = ["age", "born"]\nsensitive = ["ill"]'
        fits(check(folder, monkeypatch, table_study(table, K3), "out.parquet"))


def test_what_the_file_alone_cannot_confirm_rests_on_the_publisher_and_is_said(tmp_path, monkeypatch):
    """Of 44 records half have flu. Four of these are left out: 6/10 lies .1 from the table's half, .15 from 18/40."""
    groups = (("20", 6, 4), ("30", 12, 18), ("90", 4, 0))
    rows = [(age, ill) for age, flu, cold in groups for ill in ["flu"] * flu + ["cold"] * cold]
    write(tmp_path / "p.csv", ["age", "ill"], rows)
    table = 'source = "p.csv"\nquasi = ["age"]\nsensitive = ["ill"]\nhierarchy.ill = ["flu", "cold"]'
    wanted = " & ".join(
        ["k-anonymity k=3", *(f"t-closeness t=0.1 distance={own}" for own in ("equal", "hierarchical"))]
    )
    made = f'anonymizers = ["full-domain"]\nrequirements = ["{wanted}"]\nsuppress = [0.1]'
    fits(check(tmp_path, monkeypatch, table_study(table, made)))
    path = tmp_path / "to publish 0" / "out.csv"
    assert len(path.read_text().splitlines()) == 41
    own, outside = (json.loads(certificate_files(path)[place].read_text(encoding="utf-8")) for place in (0, 2))
    parts = outside["promise"]["parts"]
    assert [part["confirmed_by_the_file"] for part in parts] == [True, False, False]
    assert all("against the unpublished table" in part["checked"] for part in parts[1:])
    assert "against the unpublished table" in certificate_files(path)[3].read_text(encoding="utf-8")
    assert outside["measures"]["t_equal"] == pytest.approx(0.15)
    assert own["internal"]["measures"]["t_equal"] == pytest.approx(0.1)
    promised = wanted.replace("k=3", "k=10")  # the smallest published group has ten records
    assert outside["verify"][-1] == "k-anonymity k=10" and own["verify"][-1] == promised
    assert "t_ordered" not in outside["measures"]  # by the declared order, which the file does not show


def test_the_command_runs_in_a_shell_as_it_is_printed(tmp_path, monkeypatch):
    write(tmp_path / "p.csv", ["no", "age", "town", "ill", "w", "home"], people(), ";", "cp1252")
    table = 'source = "p.csv"\nencoding = "cp1252"\nna = ["k.A."]\nquasi = ["age", "town"]\nsensitive = ["ill"]'
    check(tmp_path, monkeypatch, table_study(table, K3))
    out = tmp_path / "to publish 0"
    [text] = PRINTED.findall(certificate_files(out / "out.csv")[1].read_text(encoding="utf-8"))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        unescape(text), shell=True, cwd=out, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.returncode == 0 and "All rows fit." in done.stdout, done.stderr


def test_noisy_releases_are_checked_by_their_certificate(tmp_path, monkeypatch):
    write(tmp_path / "p.csv", ["age", "ill"], [(str(i % 8), "ab"[i % 2]) for i in range(80)])
    table = (
        'source = "p.csv"\nquasi = ["age"]\nsensitive = ["ill"]\n'
        'hierarchy.age = {type = "numeric", lower = 0, upper = 7}\nhierarchy.ill = {type = "flat", values = ["a", "b"]}'
    )
    study = table_study(table, 'anonymizers = ["dp-grid epsilon=1"]').replace(
        '"p_loss", "loss"', '"attack_accuracy", "query_error_median"'
    )
    for _, said in check(tmp_path, monkeypatch, study):
        assert "is exactly the file that" in said


# -- baskets -----------------------------------------------------------------------------------------------------

ITEMS = ("Brot", "Käse", "Milch", "Tee", "Wein", "Öl")


def baskets(number: int = 40) -> list[list[str]]:
    chance = random.Random(7)
    return [sorted(chance.sample(ITEMS, chance.choice([1, 2, 2, 3]))) for _ in range(number)]


def basket_study(declared: str, *candidates: str) -> str:
    blocks = "\n".join(f"[[candidates]]\n{own}" for own in candidates)
    return f'name = "x"\n[baskets]\n{declared}\n[scales]\nknown = 2\nqueries = "item-queries number=5"\n{blocks}\n'


KM = 'requirements = ["km-anonymity k=3 m=2"]'
LOCAL = 'anonymizers = ["lra pieces=2"]\nrequirements = ["km-anonymity k=3 m=2"]'
WHOLE = 'anonymizers = ["partition"]\nrequirements = ["k-anonymity k=3"]'


@pytest.mark.parametrize(("name", "layout"), [("b.csv", "rows"), ("b.csv", "long"), ("b.parquet", "rows")])
def test_baskets_in_every_layout(tmp_path, monkeypatch, name, layout):
    rows = [(str(number), item) for number, own in enumerate(baskets()) for item in own]
    write(tmp_path / "b.csv", ["who", "what"], rows, ";", "latin-1")
    declared = 'source = "b.csv"\nid = "who"\nitem = "what"\nseparator = ";"\nencoding = "latin-1"'
    made = f'anonymizers = ["aa", "coat", "pcta"]\n{KM}\nlimits = ["suppression share=0.5"]'
    for words, said in check(tmp_path, monkeypatch, basket_study(declared, made, LOCAL, WHOLE), name, layout):
        assert "Nothing was found that does not fit." in said or "All records fit." in said, (words, said)


def test_baskets_with_a_tree_and_with_listed_items(tmp_path, monkeypatch):
    (tmp_path / "b.txt").write_text("\n".join(",".join(own) for own in baskets()) + "\n", encoding="utf-8")
    tree = "".join(f"{item};{'warm' if item == 'Tee' else 'kalt'};*\n" for item in ITEMS)
    (tmp_path / "tree.csv").write_text(tree, encoding="utf-8")
    (tmp_path / "known.txt").write_text("Brot,Tee\nWein\n", encoding="utf-8")
    declared = 'source = "b.txt"\ntree = "tree.csv"'
    listed = 'anonymizers = ["coat"]\nrequirements = ["privacy-constraints k=3 file=known.txt"]'
    done = check(tmp_path, monkeypatch, basket_study(declared, f'anonymizers = ["aa"]\n{KM}', listed))
    assert all("All records fit." in said for _, said in done)
    outside = json.loads(certificate_files(tmp_path / "to publish 1" / "out.csv")[2].read_text(encoding="utf-8"))
    assert not outside["promise"]["parts"][0]["confirmed_by_the_file"] and "--require" not in outside["verify"]
