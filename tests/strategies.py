"""Random hierarchies, cells, histograms and requirements for hypothesis.

A strategy is built and checked anew wherever it is written down, which takes longer than most of what is drawn from it.
So what is drawn from again and again is kept: the same words give the same strategy.
"""

from functools import cache, lru_cache
from types import SimpleNamespace

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sfumato.data.cells import Histograms, Quasi, Sensitive, sorted_cells
from sfumato.data.hierarchies.hierarchy import Hierarchy, Level
from sfumato.requirements.requirement import AlphaK, BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness

integers, lists = cache(st.integers), cache(st.lists)
"""Those of hypothesis, kept: for arguments that recur."""


def tries(number):
    """How many examples to try; a kernel may have to be compiled first, and many requirements are not met or missed."""
    calm = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    return settings(deadline=None, max_examples=number, suppress_health_check=calm)


@cache
def widths_of(size):
    """The widths of so many leaves: all 1, or any."""
    return st.one_of(st.just([1] * size), st.lists(st.integers(1, 4), min_size=size, max_size=size))


@cache
def some_of(values):
    """Any set of these."""
    return st.sets(st.sampled_from(values))


@cache
@st.composite
def hierarchies(draw, least=1, most=6):
    """A tree over a few leaves, with up to two levels between leaves and root, and leaves of different widths."""
    size = draw(integers(least, most))
    widths = draw(widths_of(size))
    levels = [Level(tuple(range(size)), tuple(f"leaf {i}" for i in range(size)))]
    for depth in range(draw(integers(0, 2))):
        kept = draw(some_of(levels[-1].starts))
        starts = tuple(sorted({0, *kept}))
        if len(starts) > 1:
            levels.append(Level(starts, tuple(f"node {depth} {start}" for start in starts)))
    if size > 1:
        levels.append(Level((0,), ("*",)))
    return Hierarchy(tuple(levels), tuple(map(float, widths)))


@lru_cache(1000)
def counted_rows(sizes, most):
    """Up to so many different rows of codes, by how often each occurs."""
    row = st.tuples(*(integers(0, size - 1) for size in sizes))
    return st.dictionaries(row, integers(1, 4), min_size=1, max_size=most)


@cache
@st.composite
def cells_of_tables(draw, sensitive=(0, 2), attributes=3, rows=14, most_leaves=6):
    """The cells of a small table; every sensitive attribute has at least two values."""
    quasi = [Quasi(f"q{i}", draw(hierarchies(1, most_leaves))) for i in range(draw(integers(1, attributes)))]
    about = [(f"s{i}", draw(hierarchies(2, 5))) for i in range(draw(integers(*sensitive)))]
    sizes = [q.hierarchy.size for q in quasi] + [hierarchy.size for _, hierarchy in about]
    counted = draw(counted_rows(tuple(sizes), rows))
    for place in range(len(quasi), len(sizes)):
        if len({key[place] for key in counted}) == 1:
            only = next(iter(counted))
            other = (only[place] + 1) % sizes[place]
            counted[(*only[:place], other, *only[place + 1 :])] = 1
    codes = sorted(counted)
    counts = np.array([counted[key] for key in codes], np.int64)
    return sorted_cells(quasi, about, np.array(codes, np.int32).reshape(len(codes), -1), counts)


def table_of(cells):
    """What a release reads of a table."""
    sensitive = tuple(attribute.name for attribute in cells.sensitive)
    roles = SimpleNamespace(sensitive=sensitive, person=None)
    return SimpleNamespace(
        cells=cells, roles=roles, why_no_persons=None, shared=(), memberships=None, grown=(), ranges=None, fine={}
    )


@cache
@st.composite
def sensitives(draw, name="s", most=40):
    """A sensitive attribute all leaves of which occur."""
    hierarchy = draw(hierarchies(2, 6))
    counts = draw(lists(integers(1, most), min_size=hierarchy.size, max_size=hierarchy.size))
    return Sensitive(name, hierarchy, np.arange(hierarchy.size, dtype=np.int32), np.array(counts, np.int64))


def flat_sensitive(counts, name="s"):
    """A sensitive attribute of unrelated values with these counts in the table."""
    size = len(counts)
    leaves = Level(tuple(range(size)), tuple(f"leaf {i}" for i in range(size)))
    hierarchy = Hierarchy((leaves, Level((0,), ("*",))), (1.0,) * size)
    return Sensitive(name, hierarchy, np.arange(size, dtype=np.int32), np.array(counts, np.int64))


@cache
def group_counts(values, most=12):
    """The counts of a group with at least one record."""
    return st.lists(st.integers(0, most), min_size=values, max_size=values).filter(any)


def one_histogram(attribute, *groups):
    """Histograms of groups over one sensitive attribute."""
    counts = np.array(groups, np.int64).reshape(len(groups), -1)
    return Histograms((attribute,), counts.sum(axis=1), counts)


@cache
def numbers(least, most):
    """Round numbers, where boundaries are met, and any others."""
    return st.one_of(
        st.integers(int(least * 20) + 1, int(most * 20)).map(lambda n: n / 20),
        st.floats(least, most, exclude_min=True, allow_nan=False),
    )


@cache
def single_requirements(names=(None,), k=6):
    """One requirement of any kind on any of these, with parameters that small tables can meet or miss."""
    on = st.sampled_from(names)
    wholes = st.integers(1, 4)
    return st.one_of(
        st.builds(KAnonymity, st.integers(1, k)),
        st.builds(LDiversity, numbers(1, 4), st.sampled_from(["frequency", "entropy"]), on=on),
        st.builds(LDiversity, wholes, st.just("distinct"), on=on),
        st.builds(LDiversity, wholes, st.just("recursive"), c=numbers(0, 5), on=on),
        st.builds(TCloseness, numbers(0, 0.8), st.sampled_from(["equal", "ordered", "hierarchical", "js"]), on=on),
        st.builds(DeltaDisclosure, numbers(0, 3), st.sampled_from(["infinite", "ignore"]), on=on),
        st.builds(BetaLikeness, numbers(0, 4), st.sampled_from(["basic", "enhanced"]), on=on),
        st.builds(AlphaK, numbers(0, 1), st.integers(1, k), on=on),
    )


def requirements_for(cells):
    """One requirement or two joined ones that fit the sensitive attributes of the cells."""
    return requirements_on(tuple(attribute.name for attribute in cells.sensitive))


@cache
def requirements_on(names):
    """One requirement or two joined ones on these sensitive attributes; without any, k-anonymity."""
    if not names:
        return st.builds(KAnonymity, st.integers(1, 6))
    single = single_requirements(names)
    return st.one_of(single, st.tuples(single, single).map(lambda both: both[0] & both[1]))
