"""Every sentence about a release is true of the written file: counted here by plain Python."""

import csv
import json
import math
import random
import re
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from command_line import run
from sfumato.publish.board import short
from sfumato.report.point_summary import headlines
from sfumato.tradeoff.exploration.folder import read_map

QUASI, SENSITIVE, NEUTRAL = ("age", "sex"), ("health", "smoker"), ("hand", "sport")
STUDY = """
schema = 1
name = "survey"

[table]
source = "survey.csv"
quasi = ["age", "sex"]
sensitive = ["health", "smoker"]
neutral = ["hand", "sport"]

[scales]
min_support = 0.2
reader = "em"

[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=3", "k-anonymity k=5", "k-anonymity k=9", "k-anonymity k=12", "k-anonymity k=20"]
suppress = [0.0, 0.05]

[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=4 & l-diversity l=1.01 variant=frequency on=\\"health\\""]

[[candidates]]
anonymizers = ["without-quasi", "original"]
"""


def survey(rows=150, seed=5):
    """Draw people: `smoker` is `no` for most of them and has nothing to do with age, `health` has."""
    draw = random.Random(seed)
    for _ in range(rows):
        age = draw.randint(20, 69)
        ill = draw.random() < age / 80
        yield {
            "age": age,
            "sex": draw.choice("mf"),
            "health": draw.choice(["poor", "fair"]) if ill else "good",
            "smoker": draw.choices(["no", "yes"], [83, 17])[0],
            "hand": draw.choices(["right", "left"], [9, 1])[0],
            "sport": draw.choice(["none", "some", "much"]),
        }


def write(path, records):
    records = list(records)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def groups_of(rows, columns=QUASI):
    """Bring the rows together that show the same texts."""
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in columns)].append(row)
    return list(groups.values())


def share_of_commonest(rows, column):
    return max(Counter(row[column] for row in rows).values()) / len(rows)


def upwards(share):
    """Write a share of a worst case, never rounded down."""
    return f"{math.ceil(1000 * share - 1e-6) / 10:.1f} %"


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """A study of a table with two sensitive and two neutral columns, explored."""
    folder = tmp_path_factory.mktemp("statements")
    write(folder / "survey.csv", survey())
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    explored = run("explore", "study.toml", "--out", "map", "--workers", 1, "--details", cwd=folder)
    assert explored.returncode == 0, explored.stderr
    return folder, explored.stdout


def released(walk, point, name):
    """Write the file of a point once, with its certificates; return its path and what was said."""
    folder, _ = walk
    said = run("release", "map", "--point", point.id, "--to", name, "--force", cwd=folder)
    assert said.returncode == 0, said.stderr
    return folder / name, said.stdout


def point_of_map(walk, requirement, suppress=0.0):
    map_ = read_map(walk[0] / "map")
    return map_, next(
        p
        for p in map_.points
        if p.requirement == requirement and not p.is_baseline and p.candidate.suppress == suppress
    )


# -- several sensitive columns


def test_every_sentence_about_a_sensitive_value_names_its_column_and_its_base_rate(walk):
    """Of `smoker` the attack gains nothing: it is right as often as who always says `no`."""
    original = rows_of(walk[0] / "survey.csv")
    base = {name: share_of_commonest(original, name) for name in SENSITIVE}
    map_, point = point_of_map(walk, "k-anonymity k=5")
    for name in SENSITIVE:
        own = point.by_sensitive[name]
        assert own["attack_accuracy"] / (1 + own["empirical_breach"]) == pytest.approx(base[name])
    said = headlines(map_, point)[1].said
    assert "whichever" not in said and " or " not in said
    for name in SENSITIVE:
        sentence = next(each for each in re.split(r"(?<=\.) ", said) if "right" in each and name in each)
        assert "without the data" in sentence


def test_the_worst_group_is_said_before_the_average(walk):
    map_, point = point_of_map(walk, "k-anonymity k=9")
    path, _ = released(walk, point, "worst.csv")
    worst = {name: max(share_of_commonest(g, name) for g in groups_of(rows_of(path))) for name in SENSITIVE}
    said = headlines(map_, point)[1].said
    for name in SENSITIVE:
        told = (
            "all records have the same"
            if worst[name] == 1
            else f"{100 * worst[name]:.1f} % of the records have the same"
        )
        guess = next(place.start() for place in re.finditer(rf"[^.]* {name} [^.]*is right", said))
        assert said.index(f"{told} {name}") < guess


def test_no_ratio_mixes_two_columns(walk):
    """What is said of guessing the commonest value is the share of the commonest value of that column, always."""
    folder, told = walk
    original = rows_of(folder / "survey.csv")
    shares = {f"{100 * share_of_commonest(original, name):.1f}" for name in SENSITIVE}
    assert set(re.findall(r"the\s+table's\s+commonest\s+value\s+for\s+([\d.]+) %", told)) <= shares


# -- tables with items


def test_patients_are_found_by_their_columns_or_by_their_items_whichever_is_easier(walk):
    """A release without quasi-identifiers in which five records have the same items is no release of 71,517 alike."""
    map_, point = point_of_map(walk, "k-anonymity k=5")
    for columns, items in ((1 / 71517, 1 / 5), (1 / 3, 1 / 5)):
        known = replace(point, measures={"prosecutor": columns, "itemset_risk": items})
        assert headlines(map_, known)[0].share == max(columns, items)


# -- the written promise


def promises(path):
    """Read what the four pages and files promise of a release."""
    texts = {}
    for name in ("certificate.json", "certificate-public.json"):
        content = json.loads(path.with_name(f"{path.name}.{name}").read_text())
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", content["made"]), "equal releases differ by the second"
        texts[name] = content["promise"]["requirement"]
    return texts


def test_the_promise_is_the_strongest_requirement_that_the_written_file_keeps(walk):
    """Asked for k=4 and hardly any diversity: the file keeps more, and every page says how much."""
    folder, _ = walk
    wanted = "k-anonymity k=4 & l-diversity l=1.01 variant=frequency on=health"
    _, point = point_of_map(walk, wanted)
    path, said = released(walk, point, "promise.csv")
    groups = groups_of(rows_of(path))
    k = min(map(len, groups))
    diverse = min(1 / share_of_commonest(group, "health") for group in groups)
    kept = f"k-anonymity k={k} & l-diversity l={int(diverse * 1000) / 1000:g} variant=frequency on=health"
    assert kept != wanted
    assert promises(path) == dict.fromkeys(("certificate.json", "certificate-public.json"), kept)
    assert f"Re-checked on the written file: {kept}" in said
    board = path.with_name(f"{path.name}.board.html").read_text()
    assert kept.replace("&", "&amp;") in board and wanted.replace("&", "&amp;") in board
    assert f"at least {k} records" in path.with_name(f"{path.name}.certificate-public.html").read_text()
    for verify in ("certificate.json", "certificate-public.json"):
        words = json.loads(path.with_name(f"{path.name}.{verify}").read_text())["verify"]
        assert kept in words
        assert run(*words[1:], cwd=folder).returncode == 0
        stronger = [word.replace(f"k={k} ", f"k={k + 1} ") for word in words[1:]]
        assert run(*stronger, cwd=folder).returncode == 1


def test_what_compares_with_the_whole_table_is_promised_as_it_was_required(tmp_path):
    """A stronger t would tell of suppressed records; k and l are counted in the file."""
    source = write(tmp_path / "survey.csv", survey())
    wanted = "k-anonymity k=5 & t-closeness t=0.5 distance=equal & l-diversity l=2 variant=distinct"
    words = ("--quasi", "age,sex", "--sensitive", "health", "--require", wanted, "--to", "out.csv", "--json")
    made = run("anonymize", source, *words, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    groups = groups_of(rows_of(tmp_path / "out.csv"))
    k, distinct = min(map(len, groups)), min(len({row["health"] for row in group}) for group in groups)
    assert json.loads(made.stdout)["promise"] == (
        f"k-anonymity k={k} & t-closeness t=0.5 distance=equal & l-diversity l={distinct} variant=distinct"
    )
    text = run("anonymize", source, *words[:-1], "--force", cwd=tmp_path).stdout
    assert f"Every group satisfies: k-anonymity k={k} &" in text


def test_of_persons_the_promise_is_what_was_required(tmp_path):
    """Groups of many records are groups of few persons: the size of the smallest group promises nothing of these."""
    draw = random.Random(8)
    people = [{"id": f"P{i:03}", "age": draw.randint(20, 59)} for i in range(15)]
    source = write(tmp_path / "visits.csv", [{**one, "ward": draw.choice("AB")} for one in people for _ in range(6)])
    words = ("--quasi", "age,ward", "--person", "id", "--require", "k-anonymity k=3", "--to", "out.csv", "--json")
    made = run("anonymize", source, *words, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert min(map(len, groups_of(rows_of(tmp_path / "out.csv"), ("age", "ward")))) > 3
    assert json.loads(made.stdout)["promise"].startswith("k-anonymity k=3")


# -- what is protected, and what is not


def test_nothing_is_called_protection_that_a_group_refutes(walk):
    """Where most of a group have the same value the page says so under what is not protected, the worst first."""
    _, point = point_of_map(walk, "k-anonymity k=20")
    path, _ = released(walk, point, "bound.csv")
    groups = groups_of(rows_of(path))
    words = json.loads(path.with_name(f"{path.name}.certificate-public.json").read_text())["in_plain_words"]
    for name in SENSITIVE:
        worst = max(share_of_commonest(group, name) for group in groups)
        assert worst > 0.5 and not any(name in sentence for sentence in words["protects"])
        exact = "in which all have the same" if worst == 1 else f"{upwards(worst)} have the same {name}"
        assert exact in " ".join(words["does_not"])


def test_neutral_columns_are_counted_wherever_k_is_said(walk):
    folder, _ = walk
    original = [len(group) for group in groups_of(rows_of(folder / "survey.csv"), (*QUASI, *NEUTRAL))]
    checked = run("check", "study.toml", "--json", cwd=folder)
    assert json.loads(checked.stdout)["with_neutral"] == {"k": min(original), "alone": original.count(1)}
    assert f"{original.count(1)} of 150 records are then unique" in run("check", "study.toml", cwd=folder).stdout
    _, point = point_of_map(walk, "k-anonymity k=9")
    path, said = released(walk, point, "neutral.csv")
    sizes = [len(group) for group in groups_of(rows_of(path), (*QUASI, *NEUTRAL))]
    k, alone, rows = min(sizes), sizes.count(1), sum(sizes)
    assert (k, alone > 0) == (1, True)
    assert f"the smallest group has {k} record; {alone} of {rows} records are like no other" in said
    certificate = json.loads(path.with_name(f"{path.name}.certificate.json").read_text())
    assert certificate["including_neutral"] == {"k": k, "alone": alone}
    told = (
        f"An attacker who also knows hand and sport of a person may find a single row that fits: {alone} of {rows} rows"
    )
    assert told in path.with_name(f"{path.name}.board.html").read_text()
    words = ("audit", path, "--quasi", "age,sex", "--sensitive", "health,smoker", "--require", "k-anonymity k=9")
    assert run(*words).returncode == 0
    included = run(*words, "--set", "include-neutral=yes")
    assert included.returncode == 1 and "FAILS: k-anonymity k=9" in included.stdout
    assert run(*words[:-1], "k-anonymity k=1", "--set", "include-neutral=yes").returncode == 0


def test_what_includes_neutral_columns_is_refused_where_there_are_none(tmp_path):
    path = write(tmp_path / "file.csv", ({"age": 1, "d": "x"} for _ in range(3)))
    ended = run("audit", path, "--quasi", "age", "--sensitive", "d", "--set", "include-neutral=yes")
    assert ended.returncode == 2 and "leave out --set include-neutral" in ended.stderr.replace("\n", " ")


# -- one release in one line, of a study


def amounts(folder, rows=60):
    """Write people with an income to the cent, and a study that publishes it in stretches of 5,000."""
    draw = random.Random(3)
    people = [
        {"age": draw.randint(20, 59), "sex": draw.choice("mf"), "income": f"{draw.uniform(10_000, 40_000):.2f}"}
        for _ in range(rows)
    ]
    write(folder / "pay.csv", people)
    (folder / "pay.toml").write_text(
        'schema = 1\nname = "pay"\n[table]\nsource = "pay.csv"\nquasi = ["age", "sex"]\nsensitive = ["income"]\n'
        '[table.hierarchy.income]\ntype = "numeric"\nlower = 0\nupper = 50000\nresolution = 5000\ncontinuous = true\n'
        '[table.hierarchy.sex]\ntype = "flat"\n'
        '[[candidates]]\nanonymizers = ["mondrian"]\nrequirements = ["k-anonymity k=5"]\n',
        encoding="utf-8",
    )
    return people


def test_anonymize_takes_a_study_with_its_roles_and_hierarchies(tmp_path):
    amounts(tmp_path)
    made = run("anonymize", "pay.toml", "--require", "k-anonymity k=5", "--to", "out.csv", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    rows = rows_of(tmp_path / "out.csv")
    assert min(map(len, groups_of(rows))) >= 5 and all(".." in row["income"] for row in rows)
    other = run(
        *("anonymize", "pay.toml", "--quasi", "age", "--neutral", "sex", "--require", "k-anonymity k=5"),
        *("--to", "other.csv", "--json"),
        cwd=tmp_path,
    )
    assert other.returncode == 0 and json.loads(other.stdout)["changes"]["sex"] == "unchanged"
    words = ("--quasi", "age,sex", "--sensitive", "income", "--require", "k-anonymity k=5", "--to", "third.csv")
    given = run("anonymize", "pay.csv", *words, "--hierarchies", "pay.toml", cwd=tmp_path)
    assert given.returncode == 0 and "is not used" not in given.stderr
    assert {row["income"] for row in rows_of(tmp_path / "third.csv")} == {row["income"] for row in rows}


def test_a_study_is_never_read_as_a_table(tmp_path):
    amounts(tmp_path)
    read = run("init", "pay.toml", "--to", "new.toml", cwd=tmp_path)
    assert read.returncode == 2 and "no table" in read.stderr and not (tmp_path / "new.toml").exists()
    (tmp_path / "bare.toml").write_text('schema = 1\nname = "b"\n[table]\nsource = "pay.csv"\nquasi = ["age"]\n')
    words = ("--quasi", "age", "--require", "k-anonymity k=5", "--to", "out.csv", "--hierarchies", "bare.toml")
    refused = run("anonymize", "pay.csv", *words, cwd=tmp_path)
    assert refused.returncode == 2 and "declares no hierarchy" in refused.stderr and not (tmp_path / "out.csv").exists()


def test_sensitive_numbers_that_one_record_alone_has_are_reported_with_the_remedy(tmp_path):
    people = amounts(tmp_path)
    words = ("--quasi", "age,sex", "--sensitive", "income", "--require", "k-anonymity k=5", "--to", "out.csv")
    said = " ".join(run("anonymize", "pay.csv", *words, cwd=tmp_path).stdout.split())
    unique = sum(count == 1 for count in Counter(row["income"] for row in rows_of(tmp_path / "out.csv")).values())
    assert unique > 50
    assert f"WARNING: {unique} of {len(people)} records have a number of income that no other record has" in said
    assert "`sfumato init`" in said
    made = run("anonymize", "pay.toml", "--require", "k-anonymity k=5", "--to", "out.csv", "--force", cwd=tmp_path)
    assert "that no other record has" not in made.stdout


# -- sentences that were nonsense


def test_no_sentence_about_a_choice_is_nonsense(walk):
    folder, _ = walk
    for more in ((), ("--by", "ideal"), ("--max", "k=1000", "--prefer", "u_loss")):
        said = " ".join(run("choose", "map", *more, cwd=folder).stdout.split())
        assert not re.search(r"-[\d.]+ % more|less than none|,\.|,,|whichever is worse", said)
        for low, high, here in re.findall(r"between ([\d.]+) and ([\d.]+) \(here ([\d.]+)\)", said):
            assert float(low) <= float(here) <= float(high)


def test_ranges_below_zero_are_no_formulas_and_open_ranges_no_labels(tmp_path):
    from sfumato.engines._text_files import is_formula
    from sfumato.release.changes import shown_in_file

    assert not any(map(is_formula, ("-0.5..<0", "-5..-1", "-5+", "-3", "+4")))
    assert all(map(is_formula, ("-0.5..<A1", "-1+cmd|' /C calc'!A0", "=1")))
    assert "label" not in shown_in_file(["1.27..<9.49", "<9.53", "9.53+"], [3, 2, 1])
    assert "single labels" in shown_in_file(["A+", "0+", "B-"], [3, 2, 1])


# -- baskets


def test_an_empty_file_of_baskets_is_of_no_use(tmp_path):
    """Of an error of 1 nothing is kept, of less the rest; beyond it a release is worse than an empty file."""
    from points import point_of
    from sfumato.tradeoff.map import Map
    from sfumato.tradeoff.question.knee import place
    from sfumato.tradeoff.study.study import read_study as bundled_baskets

    study = bundled_baskets("online-retail")
    shares = []
    for error in (0.0, 0.25, 1.0, 7.72):
        measures = {"are": error, "bounded_utility": 1 / (1 + error), "itemset_risk": 0.2}
        point = replace(point_of("p", "mondrian", "generalization", "k-anonymity k=2", {}, "measured", None, measures))
        map_ = Map(study, (point,))
        shares.append(place(map_, "bounded_utility", point).share)
        assert place(map_, "are", point).share == pytest.approx(shares[-1])
    assert shares[:3] == pytest.approx([1, 0.75, 0]) and -1 < shares[3] < 0
    said = headlines(map_, point)[2].said
    assert said.startswith("It is less useful than publishing nothing.") and "7.72 times their truth" in said


def test_what_no_release_can_have_is_said_of_the_column_that_forbids_it(walk):
    folder, _ = walk
    original = rows_of(folder / "survey.csv")
    shares = {name: share_of_commonest(original, name) for name in SENSITIVE}
    worst = max(shares, key=shares.get)
    refused = " ".join(run("choose", "map", "--for", "public", cwd=folder).stderr.split())
    assert f"{100 * shares[worst]:.1f} % of the 150 records have the same value of '{worst}'" in refused


def test_the_board_reads_the_verdict_first(walk):
    folder, _ = walk
    _, point = point_of_map(walk, "k-anonymity k=20")
    for more, verdict in ((), "Not judged"), (("--for", "internal"), "Fit for the recipient &#39;internal&#39;"):
        said = run("release", "map", "--point", point.id, "--to", "board.csv", "--force", *more, cwd=folder)
        if said.returncode == 1:  # some group is all alike: refused, and no page
            assert "is asked for" in said.stderr
            continue
        page = (folder / "board.csv.board.html").read_text()
        assert page.index(verdict) < page.index("What will be published")


def test_nothing_on_the_page_of_the_board_is_cut_inside_a_word():
    text = "age between ranges of 5 and 40, half in ranges of 20 or finer; town left out; sex and health unchanged"
    for letters in range(8, 120):
        words = short(text, letters).removesuffix(" ...").split(" ")
        assert words == text.split(" ")[: len(words)] and len(short(text, letters)) <= max(letters, len(text))
