"""A second opinion on released files, written from the definitions alone.

It reads the written CSV, not the tool's values, and uses nothing of the tool. Slow and obvious on purpose:
counts are integers, shares are exact fractions, only logarithms are floating point. Natural logarithms.
Q is the distribution of a sensitive column over the whole original table, p its distribution in a group.
"""

import csv
import math
import re
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

EPS = 1e-9
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
DASHED = re.compile(r"(\d+)-(\d+)", re.ASCII)


def at_most(a, b):
    """a <= b, with the tolerance in favour of the file."""
    return a <= b + EPS


def less(a, b):
    """a < b, with the tolerance against the file."""
    return a < b - EPS


# ---------------------------------------------------------------- reading


def read_rows(path):
    """The records of a CSV file (comma, UTF-8, RFC 4180) as dicts of text."""
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        lines = list(csv.reader(file, strict=True))
    if not lines:
        raise ValueError(f"{path}: no header")
    header = lines[0]
    if len(set(header)) != len(header):
        raise ValueError(f"{path}: a column name occurs twice in {header}")
    rows = []
    for place, line in enumerate(lines[1:], start=2):
        if line == [] and len(header) == 1:
            line = [""]  # an empty field alone on its line
        if len(line) != len(header):
            raise ValueError(f"{path}: record {place} has {len(line)} fields, the header {len(header)}")
        rows.append(dict(zip(header, line, strict=True)))
    return rows


def anatomy_rows(path, sensitive_path, *, sensitive, group="group", count="count"):
    """Join Anatomy's two files into one bucketized list of rows; also return what does not fit together.

    Which record of a group gets which of the group's sensitive values is arbitrary.
    """
    sensitive = names(sensitive)
    need_columns(read_header(path), [group], path)
    need_columns(read_header(sensitive_path), [group, *sensitive, count], sensitive_path)
    records, faults = {}, []
    for row in read_rows(path):
        for column in sensitive:
            if column in row:
                raise ValueError(f"{path}: has the sensitive column {column!r}")
        records.setdefault(row[group], []).append(row)
    values = {}
    for row in read_rows(sensitive_path):
        if not re.fullmatch(r"[0-9]+", row[count]) or int(row[count]) == 0:
            faults.append(f"group {row[group]}: count {row[count]!r} is not a whole number above 0")
            continue
        values.setdefault(row[group], []).extend([{c: row[c] for c in sensitive}] * int(row[count]))
    joined = []
    for name in sorted(set(records) | set(values)):
        here, there = records.get(name, []), values.get(name, [])
        if len(here) != len(there):
            faults.append(f"group {name}: {len(here)} records but sensitive counts of {len(there)}")
        joined.extend(record | value for record, value in zip(here, there, strict=False))
    return joined, faults


def read_header(path):
    """The column names of a CSV file."""
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        return next(csv.reader(file, strict=True), [])


def need_columns(have, wanted, path):
    """Stop if a column is not there."""
    for column in wanted:
        if column not in have:
            raise ValueError(f"{path}: no column {column!r}; there are {list(have)}")


def names(columns):
    """One column name or several, as a list."""
    return [columns] if isinstance(columns, str) else list(columns or ())


def is_suppressed(row, quasi):
    """Are all quasi-identifiers of this row `*`?"""
    return len(quasi) > 0 and all(row[column] == "*" for column in quasi)


def groups_of(rows, *, quasi, group=None, suppressed_stars=False):
    """The groups: records with the same quasi-identifier text, or with the same value in column `group`.

    `suppressed_stars`: rows whose quasi-identifiers are all `*` are suppressed records, not a group.
    """
    quasi = names(quasi)
    found = {}
    for row in rows:
        if suppressed_stars and is_suppressed(row, quasi):
            continue
        key = row[group] if group is not None else tuple(row[column] for column in quasi)
        found.setdefault(key, []).append(row)
    return list(found.values())


def name_of(records, quasi, group):
    """How a message names a group."""
    if group is not None:
        text = f"{group}={records[0][group]}"
    else:
        text = ", ".join(f"{column}={records[0][column]}" for column in quasi)
    return f"group [{text}] of {len(records)}"


# ---------------------------------------------------------------- distributions and distances


def shares(values):
    """The distribution of a list of values: value -> exact share."""
    counts = Counter(values)
    return {value: Fraction(count, len(values)) for value, count in counts.items()}


def entropy(p):
    """H(p) in nats."""
    return -sum(float(share) * math.log(share) for share in p.values() if share > 0)


def distance_equal(q, p):
    """Half the L1 distance (EMD where all values are equally far apart)."""
    return sum(abs(p.get(s, 0) - q.get(s, 0)) for s in set(q) | set(p)) / Fraction(2)


def distance_ordered(q, p, order):
    """1/(m-1) times the sum of |cumulative differences| over the m values in their order."""
    if len(order) == 1:
        return Fraction(0)
    total = cumulative = Fraction(0)
    for s in order:
        cumulative += p.get(s, 0) - q.get(s, 0)
        total += abs(cumulative)
    return total / (len(order) - 1)


def distance_hierarchical(q, p, table):
    """EMD where two leaves are height(lowest common ancestor) / height(tree) apart (Li et al. 2007).

    That distance is a walk up and down the tree whose every edge is 1/(2*height) long, and on a tree the
    cheapest transport moves through each edge exactly what the subtree below it has too much or too little.
    """
    paths, height = leaf_paths(table)
    surplus = Counter()
    for s in set(q) | set(p):
        if s not in paths and s != "":
            raise ValueError(f"the level table has no leaf {s!r}")
        # a missing value that the table does not know hangs directly below the root
        path = paths.get(s, ("",) * height + (table[0][-1],))
        for level in range(height):
            surplus[path[level:]] += p.get(s, 0) - q.get(s, 0)
    return sum(abs(x) for x in surplus.values()) / Fraction(2 * height)


def leaf_paths(table):
    """Leaf -> its row of the level table, and the height of the tree. A node is its row from its level on."""
    paths = {}
    for row in table:
        row = tuple(row)
        if len(row) != len(table[0]) or len(row) < 2 or row[-1] != table[0][-1]:
            raise ValueError(f"level table row {row} does not fit the first row {table[0]}")
        if paths.get(row[0], row) != row:
            raise ValueError(f"level table: two rows for leaf {row[0]!r}")
        paths[row[0]] = row
    return paths, len(table[0]) - 1


def distance_js(q, p):
    """Jensen-Shannon divergence in nats."""
    total = 0.0
    for s in set(q) | set(p):
        a, b = q.get(s, 0), p.get(s, 0)
        middle = Fraction(a + b) / 2
        if a > 0:
            total += float(a) * math.log(a / middle) / 2
        if b > 0:
            total += float(b) * math.log(b / middle) / 2
    return max(total, 0.0)


def log_ratio(q, p, s):
    """|ln(p(s)/q(s))|, infinite if the value is absent on either side."""
    if p.get(s, 0) == 0 or q.get(s, 0) == 0:
        return math.inf
    return abs(math.log(p[s] / q[s]))


def gain(q, p, s):
    """(p-q)/q, infinite for a value that the table does not have."""
    return math.inf if q.get(s, 0) == 0 else (p.get(s, 0) - q[s]) / q[s]


@cache
def number(text):
    """The text as an exact number, or None."""
    return Fraction(text) if NUMBER.fullmatch(text) else None


def value_order(values, given=None):
    """The occurring values in order: as given, else numeric if all are numbers, else text; missing last."""
    occurring = set(values)
    if given is not None:
        lacking = occurring - set(given) - {""}
        if lacking:
            raise ValueError(f"the order lacks the values {sorted(lacking)}")
        order = [s for s in dict.fromkeys(given) if s in occurring]
        return [*order, ""] if "" in occurring and "" not in order else order
    present = occurring - {""}
    if all(number(s) is not None for s in present):
        order = sorted(present, key=lambda s: (number(s), s))
    else:
        order = sorted(present)
    return [*order, ""] if "" in occurring else order


# ---------------------------------------------------------------- requirements

KEYS = {  # name: (needed keys, optional keys)
    "k-anonymity": ({"k"}, set()),
    "l-diversity": ({"l", "variant"}, {"c"}),
    "t-closeness": ({"t", "distance"}, set()),
    "delta-disclosure": ({"delta"}, {"absent"}),
    "beta-likeness": ({"beta", "variant"}, set()),
    "alpha-k": ({"alpha", "k"}, set()),
}
CHOICES = {
    ("l-diversity", "variant"): ("distinct", "frequency", "entropy", "recursive"),
    ("t-closeness", "distance"): ("equal", "ordered", "hierarchical", "js"),
    ("delta-disclosure", "absent"): ("infinite", "ignore"),
    ("beta-likeness", "variant"): ("basic", "enhanced"),
}
WORD = re.compile(  # `&` | key="quoted" | key=plain | name
    r'\s*(?:(&)(?=\s)|([a-z-]+)="((?:[^"]|"")*)"(?=\s|$)|([a-z-]+)=([^\s"]+)(?=\s|$)|([a-z-]+)(?=\s|$))'
)
MEMBER = re.compile(r' *(?:"((?:[^"]|"")*)"|([^",{} ](?:[^",{}]*[^",{} ])?)) *(,|\Z)')


def parse(requirement):
    """`k-anonymity k=10 & l-diversity l=3 variant=distinct` as a list of (name, settings)."""
    parts, position, text = [[]], 0, requirement.strip()
    while position < len(text):
        word = WORD.match(text, position)
        if word is None:
            raise ValueError(f"requirement {requirement!r}: cannot read {text[position:]!r}")
        position = word.end()
        ampersand, quoted_key, quoted, key, plain, name = word.groups()
        if ampersand:
            parts.append([])
        elif name:
            parts[-1].append((name, None))
        elif quoted_key:
            parts[-1].append((quoted_key, quoted.replace('""', '"')))
        else:
            parts[-1].append((key, plain))
    return [parse_one(words, requirement) for words in parts]


def parse_one(words, requirement):
    """One requirement's words as (name, settings), numbers as exact fractions."""
    if not words or words[0][1] is not None or any(value is None for _, value in words[1:]):
        raise ValueError(f"requirement {requirement!r}: wants a name, then key=value")
    name, settings = words[0][0], {}
    if name not in KEYS:
        raise ValueError(f"requirement {requirement!r}: unknown name {name!r}; known are {list(KEYS)}")
    needed, optional = KEYS[name]
    for key, value in words[1:]:
        if key in settings or key not in needed | optional | {"on"}:
            raise ValueError(f"requirement {requirement!r}: unknown or repeated key {key!r}")
        if key == "on":
            settings[key] = value
        elif (name, key) in CHOICES:
            if value not in CHOICES[name, key]:
                raise ValueError(f"requirement {requirement!r}: {key} is one of {CHOICES[name, key]}")
            settings[key] = value
        else:
            settings[key] = number(value)
            if settings[key] is None:
                raise ValueError(f"requirement {requirement!r}: {key}={value} is not a number")
    recursive = settings.get("variant") == "recursive"
    if needed - set(settings) or recursive != ("c" in settings):
        raise ValueError(f"requirement {requirement!r}: {name} needs {sorted(needed)}, c with recursive only")
    if recursive and (settings["l"].denominator != 1 or settings["l"] < 1):
        raise ValueError(f"requirement {requirement!r}: recursive wants a whole l of at least 1")
    return name, settings


def faults_of(name, settings, values, q, order, table):
    """What is wrong with one group under one requirement: a list of texts with numbers.

    values: the group's sensitive values (any list of its length for k-anonymity).
    """
    size = len(values)
    if name == "k-anonymity":
        return [] if size >= settings["k"] else [f"size {size} < k"]
    p = shares(values)
    if name == "alpha-k":
        faults = [] if size >= settings["k"] else [f"size {size} < k"]
        for s, share in sorted(p.items()):
            if not at_most(share, settings["alpha"]):
                faults.append(f"share of {s!r} is {float(share):.6g} > alpha")
        return faults
    if name == "l-diversity":
        return diversity_faults(settings, Counter(values), p)
    if name == "t-closeness":
        distance = {
            "equal": lambda: distance_equal(q, p),
            "ordered": lambda: distance_ordered(q, p, order),
            "hierarchical": lambda: distance_hierarchical(q, p, table),
            "js": lambda: distance_js(q, p),
        }[settings["distance"]]()
        return [] if at_most(distance, settings["t"]) else [f"distance {float(distance):.9g} > t"]
    if name == "delta-disclosure":
        faults = []
        for s in sorted(q):
            if s not in p and settings.get("absent") == "ignore":
                continue
            if not less(log_ratio(q, p, s), settings["delta"]):
                faults.append(f"|ln(p/q)| of {s!r} is {log_ratio(q, p, s):.9g}, not < delta")
        return faults
    if name == "beta-likeness":
        faults = []
        for s in sorted(p):
            if p[s] > q[s]:
                bound = settings["beta"]
                if settings["variant"] == "enhanced":
                    bound = min(bound, -math.log(q[s]))
                if not at_most(gain(q, p, s), bound):
                    faults.append(f"(p-q)/q of {s!r} is {float(gain(q, p, s)):.9g} > {float(bound):.9g}")
        return faults
    raise ValueError(name)


def diversity_faults(settings, counts, p):
    """The four variants of l-diversity."""
    wanted, variant = settings["l"], settings["variant"]
    if variant == "distinct":
        return [] if len(counts) >= wanted else [f"{len(counts)} distinct values < l"]
    if variant == "frequency":
        largest = max(p.values())
        return [] if at_most(largest, 1 / wanted) else [f"largest share {float(largest):.9g} > 1/l"]
    if variant == "entropy":
        h = entropy(p)
        return [] if at_most(math.log(wanted), h) else [f"entropy {h:.9g} < ln l"]
    ranked = sorted(p.values(), reverse=True)
    tail = sum(ranked[int(wanted) - 1 :])
    if less(ranked[0], settings["c"] * tail):
        return []
    return [f"largest share {float(ranked[0]):.9g}, not < c * {float(tail):.9g}"]


def violations(
    path, requirement, *, quasi, sensitive, original, group=None, orders=None, level_tables=None, suppressed_stars=False
):
    """Every group of the file that breaks the requirement; an empty list: the file keeps its promise."""
    rows = read_rows(path)
    need_columns(read_header(path), [*names(quasi), *names(sensitive), *names(group)], path)
    return violations_of_rows(
        rows,
        requirement,
        quasi=quasi,
        sensitive=sensitive,
        original=original,
        group=group,
        orders=orders,
        level_tables=level_tables,
        suppressed_stars=suppressed_stars,
    )


def anatomy_violations(
    path,
    sensitive_path,
    requirement,
    *,
    quasi,
    sensitive,
    original,
    group="group",
    count="count",
    orders=None,
    level_tables=None,
):
    """`violations` of a bucketization in Anatomy's two files, and every group whose two sides do not fit."""
    need_columns(read_header(path), [*names(quasi), group], path)
    rows, faults = anatomy_rows(path, sensitive_path, sensitive=sensitive, group=group, count=count)
    return faults + violations_of_rows(
        rows,
        requirement,
        quasi=quasi,
        sensitive=sensitive,
        original=original,
        group=group,
        orders=orders,
        level_tables=level_tables,
    )


def violations_of_rows(
    rows, requirement, *, quasi, sensitive, original, group=None, orders=None, level_tables=None, suppressed_stars=False
):
    """`violations` of rows already read."""
    quasi, sensitive = names(quasi), names(sensitive)
    groups = groups_of(rows, quasi=quasi, group=group, suppressed_stars=suppressed_stars)
    found = [] if groups or not original else ["the file holds no records"]
    for name, settings in parse(requirement):
        column = None if name == "k-anonymity" else column_of(name, settings, sensitive)
        q = order = table = None
        if column is not None:
            q = shares([row[column] for row in original])
            strange = {row[column] for records in groups for row in records} - set(q)
            if strange:
                found.append(f"{column}: values that no original record has: {sorted(strange)}")
                continue
            if settings.get("distance") == "ordered":
                order = value_order(q, (orders or {}).get(column))
            if settings.get("distance") == "hierarchical":
                table = (level_tables or {})[column]
        for records in groups:
            values = [row[column] if column is not None else "" for row in records]
            for fault in faults_of(name, settings, values, q, order, table):
                found.append(f"{name_of(records, quasi, group)}: {wording(name, settings)}: {fault}")
    return found


def column_of(name, settings, sensitive):
    """The sensitive column a requirement speaks of."""
    if "on" in settings:
        if settings["on"] not in sensitive:
            raise ValueError(f"{name}: on={settings['on']} is not one of {sensitive}")
        return settings["on"]
    if len(sensitive) != 1:
        raise ValueError(f"{name}: say on=COLUMN, one of {sensitive}")
    return sensitive[0]


def wording(name, settings):
    """The requirement for a message."""
    said = [f"{key}={x if isinstance(x, str) else f'{float(x):g}'}" for key, x in settings.items()]
    return " ".join([name, *said])


# ---------------------------------------------------------------- what a published text covers


def labels_of(table):
    """Node label -> the leaves below it (a leaf is below itself), from a level table."""
    labels = {}
    for row in table:
        for label in row:
            labels.setdefault(label, set()).add(row[0])
    return labels


def covers(text, value, *, labels=None, numeric=False):
    """Does this published text cover that original value? Labels first, then notations."""
    if text == "*" or text == value:
        return True
    if text == "":
        return False
    if labels is not None and text in labels:
        return is_among(value, labels[text], numeric)
    members = set_members(text)
    if members is not None:
        return any(member_covers(member, quoted, value, labels, numeric) for member, quoted in members)
    return interval_covers(text, value, numeric)


def member_covers(member, quoted, value, labels, numeric):
    """Does one member of a set cover the value? A quoted member is a label and nothing else."""
    if not quoted:
        return value == "" if member == "?" else covers(member, value, labels=labels, numeric=numeric)
    if labels is not None and member in labels:
        return is_among(value, labels[member], numeric)
    return member == value


def is_among(value, leaves, numeric):
    """Is the value one of the leaves, as text or (39 and 39.0) as a number?"""
    if value in leaves:
        return True
    if not numeric or number(value) is None:
        return False
    return any(number(leaf) == number(value) for leaf in leaves)


def set_members(text):
    """`{a, "b, c", ?}` as [(member, was it quoted)], or None if this is no set."""
    if len(text) < 2 or text[0] != "{" or text[-1] != "}":
        return None
    inside, members, position = text[1:-1], [], 0
    while True:
        word = MEMBER.match(inside, position)
        if word is None:
            return None
        quoted, plain, comma = word.groups()
        members.append((plain, False) if quoted is None else (quoted.replace('""', '"'), True))
        position = word.end()
        if comma == "":
            return members


@cache
def interval_covers(text, value, numeric):
    """`20-29`, `-5..-1` and ISO dates `a..b` (both ends in), `1.3..<2.1` (upper end out), a lone number."""
    low, dots, high = text.partition("..")
    upper_end_out = dots == ".." and high.startswith("<")
    high = high.removeprefix("<") if upper_end_out else high
    if dots and DATE.fullmatch(low) and DATE.fullmatch(high):
        if not DATE.fullmatch(value):
            return False
        return low <= value < high or (value == high and low <= high and not upper_end_out)
    if not numeric or number(value) is None:
        return False
    dashed = DASHED.fullmatch(text)
    if dashed:
        low, high = dashed.groups()
    elif not dots:
        return number(text) == number(value)
    if number(low) is None or number(high) is None:
        return False
    x = number(value)
    return number(low) <= x and (x < number(high) if upper_end_out else x <= number(high))


# ---------------------------------------------------------------- does the file come from the original?


def left_over(supply, demand, reach):
    """Send supply to demand along reach[giver][taker] = capacity, as much as possible; what stays behind.

    Augmenting paths: look for a taker with room, if need be by letting earlier givers take other takers.
    """
    rest, room = dict(supply), dict(demand)
    sent = {giver: Counter() for giver in supply}
    givers_of = {taker: set() for taker in demand}
    hopeless = set()  # from here no room can be reached any more, now and later
    for start in sorted(supply, key=lambda giver: len(reach[giver])):
        while rest[start] > 0:
            came_from, queue, end = {("giver", start): None}, [("giver", start)], None
            for node in queue:
                side, name = node
                if side == "giver":
                    onward = [("taker", t) for t, most in reach[name].items() if sent[name][t] < most]
                else:
                    onward = [("giver", g) for g in givers_of[name]]
                for step in onward:
                    if step in came_from or step in hopeless:
                        continue
                    came_from[step] = node
                    queue.append(step)
                    if step[0] == "taker" and room[step[1]] > 0:
                        end = step
                        break
                if end is not None:
                    break
            if end is None:
                hopeless.update(came_from)
                break
            steps, node = [], end
            while came_from[node] is not None:
                steps.append((came_from[node], node))
                node = came_from[node]
            amount = min(rest[start], room[end[1]])
            for (side, a), (_, b) in steps:
                amount = min(amount, reach[a][b] - sent[a][b] if side == "giver" else sent[b][a])
            for (side, a), (_, b) in steps:
                giver, taker, change = (a, b, amount) if side == "giver" else (b, a, -amount)
                sent[giver][taker] += change
                if sent[giver][taker] > 0:
                    givers_of[taker].add(giver)
                else:
                    givers_of[taker].discard(giver)
            rest[start] -= amount
            room[end[1]] -= amount
    return {giver: count for giver, count in rest.items() if count > 0}


def uncovered(
    path,
    *,
    quasi,
    original,
    level_tables=None,
    numeric=(),
    suppressed=0,
    group=None,
    sensitive=(),
    sensitive_path=None,
    suppressed_stars=False,
):
    """Every published row that is not the row of an original record of its own; empty list: all are.

    Generalization: there must be a one-to-one matching of published rows to original rows that agree in all
    columns but the quasi-identifiers and whose quasi-identifiers are covered. Bucketization (`group`): exact
    quasi-identifiers and neutral columns, and sensitive values, must agree as multisets, over the file and
    within every group (each group for itself: a necessary condition when records with the same exact columns
    are spread over groups). Without `sensitive` every other column counts as sensitive there.
    `sensitive_path`: Anatomy's second file.
    """
    quasi, sensitive, found = names(quasi), names(sensitive), []
    if sensitive_path is None:
        rows, header = read_rows(path), read_header(path)
    else:
        group = group or "group"
        rows, found = anatomy_rows(path, sensitive_path, sensitive=sensitive, group=group)
        header = read_header(path) + sensitive
    need_columns(header, [*quasi, *names(group), *sensitive], path)
    if suppressed_stars:
        rows = [row for row in rows if not is_suppressed(row, quasi)]
    if len(rows) + suppressed != len(original):
        found.append(f"{len(rows)} rows + {suppressed} suppressed is not {len(original)} original records")
    others = [column for column in header if column not in quasi and column != group]
    for column in quasi + others:
        if original and column not in original[0]:
            found.append(f"column {column!r} is not in the original")
    if original and any(column not in original[0] for column in quasi + others):
        return found
    if group is None:
        return found + uncovered_boxes(rows, original, quasi, others, level_tables or {}, names(numeric))
    sensitive = sensitive or others
    exact = quasi + [column for column in others if column not in sensitive]
    return found + uncovered_buckets(rows, original, exact, sensitive, group)


def take(row, columns):
    """The texts of a row in some columns."""
    return tuple(row[column] for column in columns)


def uncovered_boxes(rows, original, quasi, others, level_tables, numeric):
    """`uncovered` for a generalization. Rows that differ in other columns never match: solve each apart."""
    labels = {column: labels_of(table) for column, table in level_tables.items()}
    published, existing = {}, {}
    for row in rows:
        published.setdefault(take(row, others), Counter())[take(row, quasi)] += 1
    for row in original:
        existing.setdefault(take(row, others), Counter())[take(row, quasi)] += 1
    known, found = {}, []  # known: is this value covered by this text in this column?

    def text_covers(index, text, value):
        key = (index, text, value)
        if key not in known:
            column = quasi[index]
            known[key] = covers(text, value, labels=labels.get(column), numeric=column in numeric)
        return known[key]

    for other, boxes in published.items():
        points = existing.get(other, Counter())
        with_value = [{} for _ in quasi]  # per column: value -> the points that have it
        for point in points:
            for index, value in enumerate(point):
                with_value[index].setdefault(value, set()).add(point)
        under_text, reach = {}, {}
        for box in boxes:
            inside = set(points)
            for index, text in enumerate(box):
                if (index, text) not in under_text:
                    under_text[index, text] = set()
                    for value, those in with_value[index].items():
                        if text_covers(index, text, value):
                            under_text[index, text] |= those
                inside &= under_text[index, text]
            reach[box] = dict.fromkeys(inside, len(original))
        for box, count in left_over(boxes, points, reach).items():
            said = dict(zip(quasi + others, box + other, strict=True))
            why = "no original record is covered" if not reach[box] else "all covered records are taken"
            found.append(f"{count} of {boxes[box]} rows {said}: {why}")
    return found


def uncovered_buckets(rows, original, exact, sensitive, group):
    """`uncovered` for a bucketization."""
    found = []
    for columns in [exact, *[[column] for column in sensitive]]:
        extra = Counter(take(row, columns) for row in rows)
        extra.subtract(Counter(take(row, columns) for row in original))
        for texts, count in extra.items():
            if count > 0:
                found.append(f"{dict(zip(columns, texts, strict=True))}: {count} more than in the original")
    for column in sensitive:
        pairs = {}  # exact columns -> how often each sensitive value goes with them in the original
        for row in original:
            pairs.setdefault(take(row, exact), Counter())[row[column]] += 1
        for records in groups_of(rows, quasi=[], group=group):
            people = Counter(take(row, exact) for row in records)
            values = Counter(row[column] for row in records)
            reach = {who: {s: n for s, n in pairs.get(who, {}).items() if s in values} for who in people}
            rest = sum(left_over(people, values, reach).values())
            if rest:
                found.append(f"{name_of(records, [], group)}: {rest} values of {column} are not its records'")
    return found


# ---------------------------------------------------------------- measures


def measures(
    path,
    *,
    quasi,
    sensitive,
    original,
    group=None,
    orders=None,
    level_tables=None,
    sensitive_path=None,
    suppressed_stars=False,
):
    """The measures of a file by name, for one sensitive column (or none: then only those of the sizes)."""
    quasi, sensitive = names(quasi), names(sensitive)
    if len(sensitive) > 1:
        raise ValueError("measures: one sensitive column at a time")
    if sensitive_path is None:
        need_columns(read_header(path), [*quasi, *sensitive, *names(group)], path)
        rows = read_rows(path)
    else:
        group = group or "group"
        rows, faults = anatomy_rows(path, sensitive_path, sensitive=sensitive, group=group)
        if faults:
            raise ValueError("; ".join(faults))
    groups = groups_of(rows, quasi=quasi, group=group, suppressed_stars=suppressed_stars)
    if not groups:
        raise ValueError(f"{path}: no records")
    sizes = [len(records) for records in groups]
    alike = groups_of(rows, quasi=quasi, suppressed_stars=suppressed_stars)
    suppressed = len(original) - sum(sizes)
    result = {
        "k": min(len(records) for records in alike),
        "smallest_group": min(sizes),
        "discernibility": sum(size * size for size in sizes) + len(original) * suppressed,
        "average_group": sum(sizes) / len(sizes),
        "suppressed": suppressed,
        "weighted_k": sum(size * size for size in sizes) / sum(sizes),
    }
    for column in sensitive:
        q = shares([row[column] for row in original])
        ps = [shares([row[column] for row in records]) for records in groups]
        order = value_order(q, (orders or {}).get(column))
        strange = {s for p in ps for s in p} - set(q)
        result["l_frequency"] = float(min(1 / max(p.values()) for p in ps))
        result["l_distinct"] = min(len(p) for p in ps)
        result["l_entropy"] = min(math.exp(entropy(p)) for p in ps)
        result["t_equal"] = float(max(distance_equal(q, p) for p in ps))
        result["t_ordered"] = math.inf if strange else float(max(distance_ordered(q, p, order) for p in ps))
        if column in (level_tables or {}):
            table = level_tables[column]
            result["t_hierarchical"] = float(max(distance_hierarchical(q, p, table) for p in ps))
        result["t_js"] = max(distance_js(q, p) for p in ps)
        result["p_loss"] = result["t_js"]
        result["delta"] = max(log_ratio(q, p, s) for p in ps for s in set(q) | set(p))
        result["beta"] = float(max(gain(q, p, s) for p in ps for s in set(q) | set(p)))
    return result
