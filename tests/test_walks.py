"""From `init` to `audit`: invoices, skewed costs, an Excel file with a title, patients; plain code counts again."""

import csv
import html
import itertools
import json
import random
import re
from collections import Counter, defaultdict

import pytest
from typer.testing import CliRunner

from patients import patients, write_patients
from plain_patients import least_candidates, read_records
from sfumato.commands.app import app


def run(*arguments):
    """Run a command in this process; return what it prints."""
    ended = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert ended.exit_code == 0 and ended.exception is None, (arguments, ended.output, ended.exception)
    return re.sub(r"\s+", " ", ended.output)


def page(path):
    """Return the text of a page."""
    text = re.sub(r"<(script|style).*?</\1>", " ", path.read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write(path, head, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([head, *rows])


def keep_candidates(path, wanted):
    """Leave in a draft only the requirements and anonymizers that the walk needs."""
    lines = [
        line
        for line in path.read_text().splitlines()
        if not re.match(r'    "(k-anonymity|km-anonymity|[a-z]+[" ])', line) or any(each in line for each in wanted)
    ]
    path.write_text("\n".join(lines) + "\n")


def point_of(folder, anonymizer, requirement):
    """Return the id of a measured point."""
    points = json.loads((folder / "points.json").read_text())["points"]
    fits = (p["id"] for p in points if p["anonymizer"] == anonymizer and p["requirement"] == requirement)
    return next(fits)


def largest_shares(rows, quasi, column):
    """Count the commonest value of each group, by group."""
    values = defaultdict(Counter)
    for row in rows:
        values[tuple(row[name] for name in quasi)][row[column]] += 1
    return {group: max(counts.values()) / counts.total() for group, counts in values.items()}


@pytest.mark.parametrize("wide", [False, True], ids=["invoice and item", "with customer, quantity and price"])
def test_invoices(tmp_path, monkeypatch, wide):
    monkeypatch.chdir(tmp_path)
    draw, lines = random.Random(1), []
    for invoice in range(600):
        for item in sorted(set(draw.choices(range(40), [1 / (i + 1) for i in range(40)], k=draw.randrange(1, 6)))):
            more = (f"C{draw.randrange(200):03}", draw.randrange(1, 9), f"{draw.uniform(1, 90):.2f}") if wide else ()
            lines.append((f"INV{10_000 + invoice}", f"item{item:02}", *more))
    write(tmp_path / "t.csv", ("invoice", "item", *(("customer", "quantity", "price") if wide else ())), lines)
    baskets = defaultdict(set)
    for invoice, item, *_ in lines:
        baskets[invoice].add(item)
    columns = ("--id", "invoice", "--item", "item") if wide else ()
    said = run("init", "t.csv", "--baskets", *columns)
    items = {item for basket in baskets.values() for item in basket}
    assert f"600 records, each a set of some of {len(items)} items" in said
    keep_candidates(tmp_path / "study.toml", ['"coat"', "k=5 m=2", "original", "one-item", "k=1 m=1"])
    said = run("check", "study.toml", "--details")
    single = Counter(item for basket in baskets.values() for item in basket)
    pairs = Counter(pair for basket in baskets.values() for pair in itertools.combinations(sorted(basket), 2))
    below = [sum(count < 5 for count in counts.values()) for counts in (single, pairs)]
    share = sum(below) / (len(single) + len(pairs))
    assert (
        f"{share:.1%}".replace("%", " %") + f" of the sets, {below[0]} of {len(items)} single items, of fewer" in said
    )
    run("explore", "study.toml", "--out", "map", "--workers", "1")
    run("choose", "map")
    said = run("release", "map", "--point", point_of(tmp_path / "map", "coat", "km-anonymity k=5 m=2"), "--to", "o.csv")
    with (tmp_path / "o.csv").open(newline="") as stream:
        shown = [set(row) for row in csv.reader(stream)]
    published = {item for basket in shown for item in basket}
    assert f"Published o.csv: {len(shown)} records with {len(published)} published items" in said
    assert not any(text.startswith(("INV", "C0", "C1")) for text in published)
    known = Counter(s for b in shown for m in (1, 2) for s in itertools.combinations(sorted(b), m))
    fewest = min(known.values())
    assert fewest >= 5 and f"finds at least {fewest} records that fit" in said
    said = run("audit", "o.csv", "--baskets", "--require", "km-anonymity k=5 m=2", "--original", "t.csv", *columns)
    alone = sum(count == 1 for count in Counter(map(frozenset, shown)).values())
    assert f"{alone} of {len(shown)} records show a basket that no other record shows" in said
    assert re.search(rf"least_support +{fewest} ", said) and "All records fit." in said
    assert len(shown) == 600 and f"600 records with {len(published)} published items" in said
    board = page(tmp_path / "o.csv.board.html")
    assert f"at least {fewest} records" in board or f"at least {fewest} rows" in board
    assert "are off by" in board and "does not state" not in board and "...." not in board
    worst = next(
        p for p in json.loads((tmp_path / "map/points.json").read_text())["points"] if p["measures"]["are"] > 1
    )
    run("release", "map", "--point", worst["id"], "--to", "worst.csv")
    assert "an answer of 0 to every query would be nearer" in page(tmp_path / "worst.csv.board.html")
    assert "an answer of 0 may be nearer" in page(tmp_path / "worst.csv.certificate-public.html")
    for path in (*tmp_path.glob("*.html"), *tmp_path.glob("map/*.html")):
        assert not re.search(r"\d[\d.,]* ?%? (of )?(the )?(people|persons)\b", page(path)), path


def confirm_table(folder, name, original, quasi, sensitive, said, audited, neutral=()):
    """Count a released table again, and find the counts in what was printed and on its pages."""
    rows = rows_of(folder / name)
    groups = Counter(tuple(row[column] for column in quasi) for row in rows)
    k, suppressed = min(groups.values()), len(original) - len(rows)
    assert f"Published {name}: {len(rows):,} records in {len(groups)} groups." in said
    assert f"k-anonymity k={k}" in said
    board, own = page(folder / f"{name}.board.html"), page(folder / f"{name}.certificate.html")
    public = page(folder / f"{name}.certificate-public.html")
    for text in (board, own, public):
        assert f"finds at least {k} rows that fit" in text and f"right at most 1 time in {k}" in text
    if suppressed:
        assert f"{suppressed} of {len(original):,} records left out" in board
    for measure, value in (("k", k), ("prosecutor", 1 / k), ("marketer", len(groups) / len(rows))):
        assert f" {measure} {value:.4g} " in own and re.search(rf" {measure} +{value:.4g} ", audited), (measure, value)
    for column in sensitive:
        shares = largest_shares(rows, quasi, column)
        worst = max(shares.values())
        in_board = f"{100 * worst:.3g} % have the same {column}" in board
        assert in_board or f"more than {-int(-100 * worst // 1)} % have the same {column}" in board, (column, worst)
    distinct = [min(map(len, values_by_group(rows, quasi, column).values())) for column in sensitive]
    assert re.search(rf" l_distinct +{min(distinct)} ", audited)
    if neutral:
        together = Counter(tuple(row[column] for column in (*quasi, *neutral)) for row in rows)
        alone = sum(count == 1 for count in together.values())
        smallest = f"the neutral columns the smallest group has {min(together.values())} record"
        assert smallest in said and f"{alone} of {len(rows)} records are like no other" in said
        assert all(f"{alone} of {len(rows)} rows are like no other" in text for text in (own, board))
    return rows, groups


def values_by_group(rows, quasi, column):
    values = defaultdict(set)
    for row in rows:
        values[tuple(row[name] for name in quasi)].add(row[column])
    return values


def test_skewed_costs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    people = [
        (draw.randrange(18, 90), draw.choice("mf"), *(round(draw.lognormvariate(m, 1.8), 2) for m in (7, 6)))
        for _ in range(700)
    ]
    write(tmp_path / "t.csv", ("age", "sex", "cost", "paid"), people)
    said = run("init", "t.csv", "--quasi", "age,sex,paid", "--sensitive", "cost")
    assert "700 records" in said and f"different in {len({p[2] for p in people})} of 700 records" in said
    keep_candidates(
        tmp_path / "study.toml",
        ['"mondrian"', '"k-anonymity k=10"', "original", "without", '"age', "cost", "paid", "sex"],
    )
    said = run("check", "study.toml", "--details")
    run("explore", "study.toml", "--out", "map", "--workers", "1")
    point = point_of(tmp_path / "map", "mondrian", "k-anonymity k=10")
    run("choose", "map")
    said = run("release", "map", "--point", point, "--to", "o.csv")
    audit = ("audit", "o.csv", "--quasi", "age,sex,paid", "--sensitive", "cost", "--require", "k-anonymity k=10")
    rows, _ = confirm_table(tmp_path, "o.csv", people, ["age", "sex", "paid"], ["cost"], said, run(*audit))
    assert max(Counter(row["cost"] for row in rows).values()) < len(rows) / 2, "one stretch has most of the costs"
    assert "belong to one record each" not in said
    numbers = {float(number) for row in rows for number in re.findall(r"\d+\.?\d*", row["paid"])}
    once = {value for value, count in Counter(p[3] for p in people).items() if count == 1}
    assert not numbers & once, "an end of paid belongs to one record"


def test_an_excel_file_with_a_title(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    draw, book = random.Random(3), openpyxl.Workbook()
    people = [
        (
            draw.randrange(18, 90),
            draw.choice("mf"),
            "n.d." if draw.random() < 0.06 else draw.randrange(45, 120),
            draw.choice(["red", "blue", "green"]),
            draw.choices(["flu", "cold", "gout"], [5, 3, 2])[0],
        )
        for _ in range(500)
    ]
    for row in (["Survey 2024, ward B"], [], ["age", "sex", "weight", "colour", "illness"], *map(list, people)):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    roles = ("--quasi", "age,sex,weight", "--sensitive", "illness", "--neutral", "colour")
    said = run("init", "t.xlsx", *roles)
    assert "500 records" in said and "row 3" in said, said
    missing = sum(p[2] == "n.d." for p in people)
    keep_candidates(
        tmp_path / "study.toml",
        [
            '"mondrian"',
            '"k-anonymity k=5"',
            "original",
            "without",
            '"age',
            '"sex',
            '"weight',
            '"ill',
            '"colour',
            '"n.d',
        ],
    )
    assert "n.d." in (tmp_path / "study.toml").read_text()
    said = run("check", "study.toml", "--details")
    values = Counter(p[:3] for p in people)
    assert f"{len(values)} different combinations of values occur" in said
    assert f"{sum(c == 1 for c in values.values())} records" in said
    run("explore", "study.toml", "--out", "map", "--workers", "1")
    point = point_of(tmp_path / "map", "mondrian", "k-anonymity k=5")
    said = run("release", "map", "--point", point, "--to", "o.csv")
    audited = run("audit", "o.csv", *roles[:4], "--require", "k-anonymity k=5")
    rows, _ = confirm_table(tmp_path, "o.csv", people, ["age", "sex", "weight"], ["illness"], said, audited, ["colour"])
    assert not any("n.d." in row["weight"] for row in rows) and missing


def test_patients_without_quasi_identifiers_are_found_by_their_items(tmp_path, monkeypatch):
    """One group of 300 records, and five that show the same two items: the headline is the worst of both."""
    monkeypatch.chdir(tmp_path)
    write_patients(tmp_path / "t.csv", patients(number=300))
    said = run("init", "t.csv", "--quasi", "age,sex,race", "--items", "codes")
    assert "300 records" in said and "items without quasi-identifiers by COAT" in said
    draft = (tmp_path / "study.toml").read_text()
    start, end = draft.index("\n[[candidates]]"), draft.index('\n[[candidates]]\nanonymizers = ["without-quasi"]')
    draft = re.sub(r'    "k-km-anonymity k=(2|3|10|20|50) m=2",\n', "", draft[:start] + draft[end:])
    (tmp_path / "study.toml").write_text(draft)
    explored = run("explore", "study.toml", "--out", "map", "--workers", "1", "--details")
    point = point_of(tmp_path / "map", "without-quasi", "k-km-anonymity k=5 m=2")
    said = run("release", "map", "--point", point, "--to", "o.csv")
    records = read_records(tmp_path / "o.csv", ["age", "sex", "race"], "codes")
    groups = Counter(quasi for quasi, _ in records)
    fewest = least_candidates(records, 2)
    assert len(groups) == 1 and f"{len(records)} records in 1 group" in said
    assert 5 <= fewest < 50 and f"finds at least {fewest} records that fit" in said
    assert f"{point} {100 / fewest:.2g} %" in explored
    headline = f"any two items of a person finds the record at most 1 time in {fewest}."
    assert headline in (tmp_path / "map/report.html").read_text()
    assert f"finds at least {fewest} records" in page(tmp_path / "o.csv.board.html")
