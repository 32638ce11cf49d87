"""Hilbert, Anatomy, SABRE and BUREL: their written files keep what they promise, and their cores do what they say."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import chain, combinations, pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.anonymizers import ANONYMIZERS, anonymizer
from sfumato.anonymizers._redistribution import distance_at_worst, halved, holds_at_worst, take_nearest, worst_of
from sfumato.anonymizers.anatomy import buckets_of, drawn_buckets
from sfumato.anonymizers.burel import fewest_buckets
from sfumato.anonymizers.hilbert import order_on_curve, places_on_curve, points_on_curve, stricter
from sfumato.anonymizers.sabre import nodes_divided, peeled, within
from sfumato.publish.cautions import cautions_of
from sfumato.requirements._predicates import BETA, EQUAL, HIERARCHICAL, JS
from sfumato.requirements.requirement import BetaLikeness, KAnonymity, LDiversity, TCloseness, sensitive_levels
from sfumato.tradeoff.study.candidate import Candidate
from strategies import cells_of_tables, flat_sensitive, one_histogram, requirements_for, sensitives, table_of, tries
from test_proof import check_made, interesting, rows, rows_made

shares = st.integers(1, 20).map(lambda x: x / 20)
sized = st.sampled_from(["", "k-anonymity k=3 & "])
diverse = st.one_of(
    st.sampled_from([1, 1.5, 2, 2.5, 3]).map(lambda l: f"l-diversity l={l} variant=frequency on=ill"),
    st.integers(1, 4).map(lambda l: f"l-diversity l={l} variant=distinct on=ill"),
)
close = st.builds(
    lambda k, t, distance: f"{k}t-closeness t={t} distance={distance} on=ill",
    sized,
    shares,
    st.sampled_from(["equal", "hierarchical", "js"]),
)
like = st.builds(
    lambda k, beta, variant: f"{k}beta-likeness beta={4 * beta} variant={variant} on=ill",
    sized,
    shares,
    st.sampled_from(["basic", "enhanced"]),
)
of_size = st.integers(1, 6).map(lambda k: f"k-anonymity k={k}")
forms = st.sampled_from(["generalization", "bucketization"])
JOBS = st.one_of(
    st.tuples(st.just("hilbert"), st.one_of(of_size, diverse, close, like), forms),
    st.tuples(st.just("anatomy"), diverse, st.just("bucketization")),
    st.tuples(st.just("sabre"), close, forms),
    st.tuples(st.just("burel"), like, forms),
)


# ---------------------------------------------------------------- the written file


@tries(20)
@given(rows(least=2).filter(interesting), JOBS)
def test_the_written_file_keeps_its_requirement(lines, job):
    written = check_made(lines, job[1], job[0], job[2])
    if written is not None:
        assert Counter(row["ill"] for row in written) == Counter(line["ill"] for line in lines)


@tries(10)
@given(rows(least=2).filter(interesting), JOBS, st.data())
def test_a_seed_repeats_a_release_whatever_the_order_of_rows(lines, job, data):
    maker, requirement, form = job
    about = requirement, f"{maker} seed=7", form
    assert rows_made(lines, *about) == rows_made(data.draw(st.permutations(lines)), *about)


def people(n=600, seed=3):
    rng = np.random.default_rng(seed)
    frame = pa.table(
        {
            "age": rng.integers(0, 60, n),
            "zip": rng.integers(0, 12, n),
            "ill": [f"ill {i}" for i in (rng.random(n) ** 2 * 7).astype(int)],
        }
    )
    return sfumato.read(frame, quasi=["age", "zip"], sensitive=["ill"])


PROMISES = [
    ("hilbert", "k-anonymity k=7", "generalization", "k"),
    ("hilbert", "l-diversity l=2 variant=frequency", "bucketization", "l_frequency"),
    ("anatomy", "l-diversity l=2 variant=frequency", "bucketization", "l_frequency"),
    ("anatomy", "l-diversity l=4 variant=distinct", "bucketization", "l_distinct"),
    ("sabre", "t-closeness t=0.2 distance=equal", "generalization", "t_equal"),
    ("sabre", "t-closeness t=0.1 distance=js", "bucketization", "p_loss"),
    ("burel", "beta-likeness beta=2 variant=enhanced", "generalization", "beta"),
]


@pytest.mark.parametrize(("maker", "requirement", "form", "about"), PROMISES)
def test_the_audit_of_the_file_measures_the_same(maker, requirement, form, about, tmp_path):
    table = people()
    release = sfumato.anonymize(table, requirement, maker, form)
    path = release.to_csv(tmp_path / "out.csv")[0]
    group = "group" if form == "bucketization" else None
    found = sfumato.audit(path, ["age", "zip"], ["ill"], table, group, require=requirement)
    measured = sfumato.measure(release).values
    assert about in measured and found.holds
    for name, value in found.measures.items():
        if name in measured:
            assert value == pytest.approx(measured[name], abs=1e-9), name


# ---------------------------------------------------------------- the curve


@pytest.mark.parametrize(("d", "bits"), [(1, 4), (2, 1), (2, 4), (3, 3), (4, 2), (6, 2)])
def test_the_curve_visits_every_place_once_and_steps_to_neighbours(d, bits):
    codes = np.array(list(product(range(2**bits), repeat=d)), np.int32)
    sizes = np.full(d, 2**bits, np.int64)
    places = places_on_curve(codes, sizes, bits)
    assert sorted(places[:, 0].tolist()) == list(range(2 ** (bits * d)))
    path = codes[order_on_curve(codes, sizes)]
    assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()


def test_long_places_go_on_where_short_ones_end():
    """The curve of a finer cube visits the places of a coarser one in the same order: 90 bits begin like 60."""
    codes = np.random.default_rng(1).integers(0, 2**30, (200, 3)).astype(np.int32)
    fine = places_on_curve(codes, np.full(3, 2**30, np.int64), 30)
    coarse = places_on_curve(codes >> 10, np.full(3, 2**20, np.int64), 20)
    assert fine.shape == (200, 2) and coarse.shape == (200, 1)
    whole = [int(high) << 27 | int(low) for high, low in fine.tolist()]
    assert [place >> 30 for place in whole] == coarse[:, 0].tolist()
    assert order_on_curve(codes, np.full(3, 2**30, np.int64)).tolist() == sorted(range(200), key=whole.__getitem__)


# ---------------------------------------------------------------- Hilbert


def plain_points(cells):
    """Points in the order of the curve: their codes, and the cells of each."""
    points = points_on_curve(cells)
    own = [points.cells[a:b].tolist() for a, b in pairwise(points.offsets)]
    found = sorted(Counter(tuple(row) for row in cells.codes.tolist()))
    assert sorted(tuple(cells.codes[group[0]].tolist()) for group in own) == found
    assert all(len({tuple(cells.codes[cell].tolist()) for cell in group}) == 1 for group in own)
    assert points.counts.tolist() == [int(cells.counts[group].sum()) for group in own]
    return own


def box_loss(cells, members):
    codes = cells.codes[members]
    each = [q.hierarchy.loss(int(codes[:, a].min()), int(codes[:, a].max())) for a, q in enumerate(cells.quasi)]
    return sum(each) / len(each)


def all_cuts(n):
    """All ways to cut 0..n into stretches."""
    for number in range(n):
        for inner in combinations(range(1, n), number):
            yield list(pairwise([0, *inner, n]))


def release_loss(cells, release):
    lost = [
        int(mass)
        * sum(q.hierarchy.loss(int(a), int(b)) for q, a, b in zip(cells.quasi, lo, hi, strict=True))
        / len(cells.quasi)
        for lo, hi, mass in zip(release.boxes.lo, release.boxes.hi, release.boxes.mass, strict=True)
    ]
    return sum(lost)


@tries(60)
@given(cells_of_tables(rows=6), st.integers(1, 5))
def test_k_anonymity_is_the_best_of_all_cuts_between_records(cells, k):
    records = [point[0] for point in plain_points(cells) for _ in range(int(cells.counts[point].sum()))][:11]
    table = table_of(cells)
    if len(records) < int(cells.records) or len(records) < k:
        return
    release = sfumato.anonymizers.Hilbert(seed=1).release(table, KAnonymity(k), "generalization", 0)
    costs = [
        sum((b - a) * box_loss(cells, records[a:b]) for a, b in cuts)
        for cuts in all_cuts(len(records))
        if all(b - a >= k for a, b in cuts)
    ]
    assert release_loss(cells, release) == pytest.approx(min(costs), abs=1e-9)
    assert (release.sizes >= k).all() and release.sizes.sum() == cells.records


@tries(80)
@given(st.data(), cells_of_tables(sensitive=(1, 2), rows=9))
def test_other_requirements_get_the_best_of_all_cuts_between_points_of_small_tables(data, cells):
    requirement = data.draw(requirements_for(cells).filter(lambda own: own.monotone))
    if not any(part.about_sensitive for part in requirement.parts):
        return
    own, table = plain_points(cells), table_of(cells)
    try:
        release = sfumato.anonymizers.Hilbert().release(table, requirement, "bucketization", 0)
    except sfumato.InfeasibleError:
        assert not requirement.admits(cells.baseline)[0]
        return
    assert requirement.admits(release.histograms).all()
    costs = []
    for cuts in all_cuts(len(own)):
        groups = [list(chain.from_iterable(own[a:b])) for a, b in cuts]
        if all(admitted(cells, group, requirement) for group in groups):
            costs.append(sum(int(cells.counts[group].sum()) * box_loss(cells, group) for group in groups))
    members = defaultdict(list)
    for cell, group in zip(release.assignment.cell.tolist(), release.assignment.group.tolist(), strict=True):
        members[group].append(cell)
    assert sorted(chain.from_iterable(members.values())) == list(range(cells.size))  # no cell is divided
    found = sum(int(cells.counts[group].sum()) * box_loss(cells, group) for group in members.values())
    assert found == pytest.approx(min(costs), abs=1e-9)


def admitted(cells, group, requirement):
    counts = np.zeros(int(cells.spans[-1]), np.int64)
    for cell in group:
        for place, value in enumerate(cells.values[cell]):
            counts[cells.spans[place] + value] += cells.counts[cell]
    size = int(cells.counts[group].sum())
    return bool(requirement.admits(type(cells.baseline)(cells.sensitive, np.array([size]), counts[None]))[0])


def test_long_stretches_are_tried_and_lose_less_than_the_first_pass():
    """Where values change along the curve the first pass soon needs long stretches; blocks do better."""
    rng = np.random.default_rng(0)
    ills = (rng.random(4000) * (1 + np.arange(4000) // 800)).astype(int)
    table = sfumato.read(pa.table({"age": np.arange(4000), "ill": ills}), quasi=["age"], sensitive=["ill"])
    cells, requirement = table.cells, sfumato.requirement("t-closeness t=0.25 distance=equal")
    release = sfumato.anonymize(table, requirement, "hilbert")
    ends, start = [0], 0
    q, values = cells.sensitive[0].shares, cells.values[:, 0]

    def will_do(a, b):
        return np.abs(np.bincount(values[a:b], minlength=len(q)) / (b - a) - q).sum() / 2 <= 0.25

    for end in range(1, cells.size + 1):  # the first pass, by hand: every age is a point, and the curve goes upwards
        if will_do(start, end):
            ends.append(end)
            start = end
    while not will_do(ends[-1], cells.size) if ends[-1] < cells.size else False:
        ends.pop()
    cuts = list(pairwise(sorted({*ends, cells.size})))
    plain = sum((b - a) * box_loss(cells, list(range(a, b))) for a, b in cuts)
    assert release_loss(cells, release) < plain
    assert requirement.admits(release.histograms).all()


@pytest.mark.parametrize("allowed", [0.1, 0.3])
def test_the_dual_finds_the_largest_k_within_the_loss(allowed):
    table = people()
    release = sfumato.anonymize(table, "k-anonymity k=2", f"hilbert within={allowed}")
    k = sfumato.requirement(release.details["reached"]).k
    losses = {
        other: sfumato.measure(sfumato.anonymize(table, f"k-anonymity k={other}", "hilbert"))["loss"]
        for other in (k, k + 1, 2 * k)
    }
    assert losses[k] <= allowed < losses[k + 1] <= losses[2 * k]  # the optimum never falls as k grows
    assert sfumato.measure(release)["loss"] == pytest.approx(losses[k])
    assert release.sizes.min() >= k > 2


def test_the_dual_of_diversity_and_what_it_refuses():
    table = people()
    release = sfumato.anonymize(table, "l-diversity l=2 variant=distinct", "hilbert within=0.1")
    reached = sfumato.requirement(release.details["reached"])
    assert reached.l > 2 and reached.admits(release.histograms).all()
    assert sfumato.measure(release)["loss"] <= 0.1
    following = sfumato.anonymize(table, str(stricter(reached, 1)), "hilbert")
    assert sfumato.measure(following)["loss"] > 0.1
    least = sfumato.anonymize(table, "k-anonymity k=50", "hilbert")
    with pytest.raises(sfumato.InfeasibleError, match="feasible from within=") as error:
        sfumato.anonymize(table, "k-anonymity k=50", "hilbert within=0.01")
    named = float(str(error.value).rpartition("=")[2])
    assert named - 1e-4 <= sfumato.measure(least)["loss"] <= named
    with pytest.raises(sfumato.BadInputError, match="largest k or l"):
        sfumato.anonymize(table, "t-closeness t=0.2 distance=js", "hilbert within=0.1")
    with pytest.raises(sfumato.BadInputError, match="leave out"):
        sfumato.anonymize(table, "k-anonymity k=5", "hilbert within=0.1", "bucketization")


# ---------------------------------------------------------------- Anatomy


def plain_anatomy(piles, l):
    """The loop of the paper, on a list of pile sizes: the values of every bucket, and what is left of every pile."""
    left, buckets = list(piles), []
    while sum(size > 0 for size in left) >= l:
        chosen = sorted(range(len(left)), key=lambda v: -left[v])[:l]
        for v in chosen:
            left[v] -= 1
        buckets.append(sorted(chosen))
    return buckets, left


@tries(150)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=7), st.integers(1, 4))
def test_buckets_are_drawn_from_the_largest_piles_and_leave_one_record_at_most(piles, l):
    counts = np.array(piles, np.int64)
    if l > len(piles):
        return
    bucket = drawn_buckets(counts, l)
    value = np.repeat(np.arange(len(piles)), piles)
    plain, left = plain_anatomy(piles, l)
    sizes = [[int((value[bucket == g] == v).sum()) for v in range(len(piles))] for g in range(len(plain))]
    assert all(sum(own) == l and max(own) == 1 for own in sizes)
    assert sorted(np.bincount(value[bucket < 0], minlength=len(piles)).tolist()) == sorted(left)
    if max(piles) * l <= sum(piles):  # the paper's condition
        assert max(left) <= 1 and sum(left) < l
        whole = buckets_of(counts, LDiversity(l, "frequency"), np.random.default_rng(0))
        assert all((np.bincount(value[whole == g]) <= 1).all() for g in range(len(plain)))
        assert len(set(whole.tolist())) == len(plain) == sum(piles) // l


@tries(150)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.integers(10, 39).map(lambda x: x / 10))
def test_an_l_between_whole_numbers_is_kept_whenever_the_table_keeps_it(piles, l):
    counts, wanted = np.array(piles, np.int64), LDiversity(l, "frequency")
    attribute = flat_sensitive(piles)
    if not wanted.admits(one_histogram(attribute, piles))[0]:
        return
    bucket = buckets_of(counts, wanted, np.random.default_rng(1))
    value = np.repeat(np.arange(len(piles)), piles)
    assert bucket.min() == 0 and set(bucket.tolist()) == set(range(int(bucket.max()) + 1))
    for g in range(int(bucket.max()) + 1):
        own = np.bincount(value[bucket == g], minlength=len(piles))
        assert Fraction(int(own.max()), int(own.sum())) <= Fraction(1, 1) / Fraction(str(l))


# ---------------------------------------------------------------- buckets of sensitive values


def vertices(bucket, taken):
    """All histograms in which the records of every bucket have one value of it."""
    values = [np.flatnonzero(bucket == b) for b in range(len(taken))]
    for chosen in product(*values):
        own = np.zeros(len(bucket), np.int64)
        own[list(chosen)] = taken
        yield own


@tries(100)
@given(st.data(), sensitives())
def test_the_worst_case_is_that_of_all_choices_of_values(data, attribute):
    labels = data.draw(st.lists(st.integers(0, 2), min_size=attribute.size, max_size=attribute.size))
    bucket = np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)
    number = int(bucket.max()) + 1
    taken = np.array(data.draw(st.lists(st.integers(0, 9), min_size=number, max_size=number).filter(any)), np.int64)
    levels, size = sensitive_levels(attribute), int(taken.sum())
    for kind, name in ((EQUAL, "equal"), (JS, "js"), (HIERARCHICAL, "hierarchical")):
        worst = worst_of(kind, 0.5, 1, bucket, attribute.counts, levels)
        bound = distance_at_worst(worst, taken, size)
        found = []
        for own in vertices(bucket, taken):
            histogram = one_histogram(attribute, own)
            assert TCloseness(min(1.0, bound), name).admits(histogram)[0]
            if name == "equal":
                found.append(float(np.abs(own / size - attribute.shares).sum() / 2))
            if name == "js":
                mean = (own / size + attribute.shares) / 2
                part = [p * math.log(p / m) for p, m in zip(own / size, mean, strict=True) if p > 0]
                found.append((sum(part) + float(attribute.shares @ np.log(attribute.shares / mean))) / 2)
        if found:  # for these two it is exact
            assert bound == pytest.approx(max(found), abs=1e-9)


@tries(80)
@given(sensitives())
def test_dividing_buckets_ends_with_every_value_alone_and_falls_towards_zero(attribute):
    levels = sensitive_levels(attribute)
    for kind, steps in ((HIERARCHICAL, nodes_divided(attribute.shares, levels)), (EQUAL, peeled(attribute.counts))):
        worsts = [worst_of(kind, 0.0, 1, bucket, attribute.counts, levels) for bucket in steps]
        bounds = [distance_at_worst(worst, worst.sizes, int(worst.sizes.sum())) for worst in worsts]
        assert all(later <= earlier + 1e-9 for earlier, later in pairwise(bounds))
        assert bounds[-1] == pytest.approx(0, abs=1e-12) and within(worsts[-1])
        assert len(set(steps[-1].tolist())) == attribute.size or kind == HIERARCHICAL
        for finer, coarser in zip(steps[1:], steps, strict=False):
            assert all(len(set(coarser[finer == b].tolist())) == 1 for b in range(int(finer.max()) + 1))


@tries(80)
@given(sensitives(), st.integers(1, 80).map(lambda x: x / 10), st.sampled_from(["basic", "enhanced"]))
def test_burel_cuts_the_fewest_buckets_and_its_worst_case_is_sound(attribute, beta, variant):
    q, requirement = attribute.shares, BetaLikeness(beta, variant)
    most = requirement.most_shares(q)
    bucket = fewest_buckets(q, most)
    order = np.argsort(q, kind="stable")

    def will_do(a, b):
        return q[order[a:b]].sum() <= most[order[a]] + 1e-12 or b - a == 1

    fewest = min(len(cuts) for cuts in all_cuts(len(q)) if all(will_do(a, b) for a, b in cuts))
    assert int(bucket.max()) + 1 == fewest
    worst = worst_of(BETA, beta, 1, bucket, attribute.counts, sensitive_levels(attribute))
    least = np.array([most[bucket == b].min() for b in range(fewest)])
    worst = worst._replace(most=least)
    leaves = halved(worst)
    assert leaves.sum(axis=0).tolist() == worst.sizes.tolist()
    if len(leaves) > 1:
        for taken in leaves:
            assert holds_at_worst(worst, taken, int(taken.sum()))
            for own in vertices(bucket, taken):
                assert requirement.admits(one_histogram(attribute, own))[0]


@tries(80)
@given(st.data())
def test_groups_take_the_nearest_records_of_every_bucket(data):
    sizes = data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    rank = np.concatenate(
        [np.sort(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))) for size in sizes]
    ).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    left, taken = list(sizes), []
    while any(left):
        own = [data.draw(st.integers(0, size)) for size in left]
        own = own if any(own) else list(left)
        taken.append(own)
        left = [a - b for a, b in zip(left, own, strict=True)]
    middles = np.array(data.draw(st.permutations(range(len(rank)))), np.int64)
    group = take_nearest(np.array(taken, np.int64), rank, offsets, middles)
    gone = set()
    for g, wanted in enumerate(taken):
        middle = rank[next(record for record in middles if record not in gone)]
        mine = set(np.flatnonzero(group == g).tolist())
        for b, number in enumerate(wanted):
            here = [r for r in range(offsets[b], offsets[b + 1]) if r not in gone]
            chosen = [r for r in here if r in mine]
            assert len(chosen) == number
            distances = sorted(abs(int(rank[r]) - int(middle)) for r in here)
            assert sorted(abs(int(rank[r]) - int(middle)) for r in chosen) == distances[:number]
        gone |= mine


# ---------------------------------------------------------------- drawing, refusing, naming


@pytest.mark.parametrize(
    ("maker", "requirement", "form"),
    [
        ("hilbert", "k-anonymity k=3", "generalization"),
        ("anatomy", "l-diversity l=2 variant=frequency", "bucketization"),
        ("sabre", "t-closeness t=0.4 distance=equal", "bucketization"),
        ("burel", "beta-likeness beta=3 variant=basic", "bucketization"),
    ],
)
def test_fresh_draws_differ_a_seed_repeats_them_and_a_map_has_seeds_of_its_own(maker, requirement, form):
    frame = pa.table({"a": ["x"] * 40 + ["y", "z"], "s": [str(i % 7) for i in range(42)]})
    table = sfumato.read(frame, quasi=["a"], sensitive=["s"])

    def made(text):
        own = sfumato.anonymize(table, requirement, text, form).assignment
        return tuple(zip(own.cell.tolist(), own.group.tolist(), own.count.tolist(), strict=True))

    assert len({made(maker) for _ in range(12)}) > 1  # some choose among few ways, so equal draws are no surprise
    assert len({made(f"{maker} seed=5") for _ in range(3)}) == 1
    chosen = Candidate(anonymizer(maker), sfumato.requirement(requirement), form, 0.0)
    assert chosen.repeatable() == chosen.repeatable() and chosen.repeatable().anonymizer.seed is not None
    given_one = Candidate(anonymizer(f"{maker} seed=5"), sfumato.requirement(requirement), form, 0.0)
    assert given_one.repeatable().anonymizer.seed == 5


def test_every_text_reads_back():
    for text in ("hilbert within=0.1 seed=3", "anatomy seed=1", "sabre", "burel seed=0"):
        assert str(anonymizer(text)) == text
    assert {"hilbert", "anatomy", "sabre", "burel"} <= {own.name for own in ANONYMIZERS}
    for text, message in (
        ("hilbert within=2", "within must be a number of at least 0 and at most 1"),
        ("anatomy seed=-1", "seed must be a whole number"),
        ("sabre seed=-1", "seed must be a whole number"),
        ("burel seed=-1", "seed must be a whole number"),
        ("hilbert seed=-1", "seed must be a whole number"),
    ):
        with pytest.raises(sfumato.BadInputError, match=message):
            anonymizer(text)


@pytest.mark.parametrize(
    ("maker", "requirement", "form", "message"),
    [
        ("anatomy", "k-anonymity k=3", "bucketization", "anatomy serves l-diversity variant=frequency or variant=dis"),
        ("anatomy", "l-diversity l=2 variant=entropy", "bucketization", "anatomy serves l-diversity"),
        ("anatomy", "l-diversity l=2 variant=frequency", "generalization", "add --form bucketization"),
        ("sabre", "k-anonymity k=3", "generalization", "sabre serves t-closeness distance=equal, hierarchical or js"),
        ("sabre", "t-closeness t=0.2 distance=ordered", "generalization", "not distance=ordered"),
        ("sabre", "t-closeness t=0.2 distance=js & t-closeness t=0.2 distance=equal", "generalization", "sabre serves"),
        ("burel", "l-diversity l=2 variant=frequency", "generalization", "burel serves beta-likeness"),
        ("hilbert", "delta-disclosure delta=2 absent=ignore", "generalization", "hilbert merges groups, and delta-dis"),
    ],
)
def test_what_a_maker_cannot_serve_is_refused_with_what_it_can(maker, requirement, form, message):
    with pytest.raises(sfumato.BadInputError, match=message):
        sfumato.anonymize(people(), requirement, maker, form)


@pytest.mark.parametrize(("maker", "requirement", "form", "about"), PROMISES)
def test_nothing_is_suppressed_and_households_are_not_parted(maker, requirement, form, about):
    with pytest.raises(sfumato.BadInputError, match=f"{maker} leaves no record out"):
        sfumato.anonymize(people(), requirement, maker, form, suppress=0.1)
    if form == "generalization":
        rng = np.random.default_rng(0)
        homes = np.repeat(np.arange(60), 2)
        frame = pa.table({"home": homes, "zip": rng.integers(0, 9, 60)[homes], "ill": rng.integers(0, 3, 120)})
        table = sfumato.read(frame, quasi=["zip"], sensitive=["ill"], household="home")
        with pytest.raises(sfumato.BadInputError, match="members of one household"):
            sfumato.anonymize(table, requirement, maker, form)


def test_a_certificate_says_how_records_were_dealt():
    table = people()
    wanted = sfumato.requirement("l-diversity l=2 variant=frequency")
    release = sfumato.anonymize(table, wanted, "anatomy", "bucketization")
    anatomy, mondrian = sfumato.anonymizers.Anatomy(), sfumato.anonymizers.Mondrian()
    said = {own.about: own.text for own in cautions_of(release, Candidate(anatomy, wanted, release.form))}
    assert "deFinetti" in said["dealing"] and "minimality" in said
    assert "dealing" not in {own.about for own in cautions_of(release, Candidate(mondrian, wanted, release.form))}
