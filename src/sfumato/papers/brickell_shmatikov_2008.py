"""Brickell & Shmatikov, "The Cost of Privacy: Destruction of Data-Mining Utility in Anonymized Data Publishing".

KDD 2008. Mondrian with cuts by information gain on the workload sanitizes Adult. Each sanitization is compared with the
trivial ones: the gain of an adversary and of a researcher, both in points of accuracy. The parameters of the
sanitizations are missing from the text. The grid below was fixed before any result was seen, except for l, which was
extended from 6 to 12, beyond the maximum of any grouping of either data set.

The paper does not say whether its classifiers are tested on records as the release shows them, or as they are. Both
are done, because its headline depends on that.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import pyarrow as pa

from sfumato.anonymizers import anonymize
from sfumato.data.bundled import load
from sfumato.data.reading import Table, read
from sfumato.errors import InfeasibleError
from sfumato.measures.classification.classification import Classification, ClassificationTask, Learned, interval
from sfumato.measures.groups import Measured
from sfumato.measures.reconstruction import UniformReader
from sfumato.measures.scales import Prepared, Scales
from sfumato.papers.claims import Claim, ClaimRows, Figure, FigureLine, Progress, Results, all_of
from sfumato.release.release import Release
from sfumato.runtime.threads import Crew

row = ClaimRows(__name__)


NINE = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country", "salary")
"""The attributes of the paper's table; with further ones its accuracies cannot be reproduced."""

GRID = {
    "k-anonymity k={}": (10, 100, 1000),
    "l-diversity l={} variant=recursive c=3": tuple(range(2, 13)),
    "t-closeness t={} distance=equal": (0.1, 0.2, 0.3, 0.4),
    "delta-disclosure delta={}": (0.5, 1, 1.5, 2),
}
SHORT = {"k-anonymity": "k", "l-diversity": "l", "t-closeness": "t", "delta-disclosure": "delta"}
TREE, FOREST, BAYES = "decision-tree", "random-forest", "naive-bayes"
PAPER_NAMES = {TREE: "J48", FOREST: "Random Forests", BAYES: "Naive Bayes"}
SEED = 2008
SHORT_RUN: Mapping[str, Any] = {"sample": 9_000, "folds": 3}
FULL_RUN: Mapping[str, Any] = {"sample": 0, "folds": 10}

LESS_PRIVATE, NEARLY_NOTHING, EQUIVALENT = 0.75, 0.1, 0.005
"""A modest privacy gain: at most this share of the intact table's A_acc; almost complete destruction: at most this
share of U_max - U_base is kept; equivalent utility: at most this much above U_base."""


@dataclass(frozen=True)
class LearnedColumn:
    """One figure: a data set and the column that the researcher learns."""

    figure: str
    data: str
    quasi: tuple[str, ...]
    sensitive: str
    target: str


MARITAL, OCCUPATION = ("age", "occupation", "education"), ("age", "sex", "race")
PANELS = (
    LearnedColumn("1", "Marital", MARITAL, "marital-status", "marital-status"),
    LearnedColumn("2", "Occupation", OCCUPATION, "occupation", "occupation"),
    LearnedColumn("3", "Marital", MARITAL, "marital-status", "salary"),
    LearnedColumn("4", "Occupation", OCCUPATION, "occupation", "marital-status"),
)


TABLE_2 = tuple(name for name in NINE if name not in OCCUPATION)
"""The attributes that can be learned from age, sex, race and the rest."""


def opened(quasi: tuple[str, ...], sensitive: str) -> Table:
    """Load the nine attributes with these roles; others are neutral."""
    neutral = [name for name in NINE if name not in quasi and name != sensitive]
    table: Table = load("adult", quasi=quasi, sensitive=[sensitive], neutral=neutral)
    return table


@dataclass(frozen=True, eq=False)
class Sanitization:
    """One release of a panel: label, requirement, measures and accuracies."""

    label: str
    requirement: str
    release: Release
    measured: Measured
    learned: Learned
    """Tested on records as the release shows them."""

    learned_original: Learned
    """The same classifiers, tested on the original records."""

    @property
    def adversary(self) -> float:
        """The adversary's gain."""
        return self.measured["a_acc"]


@dataclass(frozen=True, eq=False)
class PanelFinding:
    """The results of one panel."""

    panel: LearnedColumn
    task: ClassificationTask
    intact: Measured
    trivial: Measured
    """Without quasi-identifiers."""

    made: tuple[Sanitization, ...]
    infeasible: Mapping[str, str]

    @property
    def base(self) -> float:
        """U_base: the best that any classifier reaches on a trivial sanitization."""
        return self.task.baselines[self.task.base].accuracy

    @property
    def most(self) -> float:
        """U_max: the best on the original."""
        return self.task.baselines["original"].accuracy

    def gain(self, sanitization: Sanitization, classifier: str | None = None, original: bool = False) -> float:
        """The researcher's gain, by one classifier or by the best, tested on the release or on the original."""
        learned = sanitization.learned_original if original else sanitization.learned
        return (learned.accuracy if classifier is None else learned.mean(classifier)) - self.base


class BrickellShmatikov2008:
    """The measured sanitizations of the paper, and the claims about them."""

    def __init__(
        self,
        progress: Progress | None = None,
        panels: Iterable[LearnedColumn] = PANELS,
        crew: Crew | None = None,
        full: bool = True,
    ) -> None:
        self.panels = tuple(panels)
        self.run = FULL_RUN if full else SHORT_RUN
        self.crew = crew or Crew()
        self.progress = progress or (lambda done, total, last: None)
        self.steps = len(self.panels) * (1 + sum(map(len, GRID.values()))) + 1 + len(TABLE_2)
        self.done = 0

    def count_step(self, what: str) -> None:
        """Count a step."""
        self.done += 1
        self.progress(self.done, self.steps, what)

    @cached_property
    def findings(self) -> dict[str, PanelFinding]:
        """The results by figure."""
        return {panel.figure: self._find(panel) for panel in self.panels}

    def _find(self, panel: LearnedColumn) -> PanelFinding:
        table = opened(panel.quasi, panel.sensitive)
        workload = Classification(panel.target, ",".join(PAPER_NAMES), seed=SEED, **self.run)
        task = self.crew.do(workload.prepare(table).ready)
        on_original = replace(task, workload=replace(workload, test="original"))
        prepared = self.crew.do(Scales(reader=UniformReader()).prepare(table).ready)
        self.count_step(f"figure {panel.figure}: the trivial sanitizations of {panel.data!r}")
        wanted = [text.format(value) for text, values in GRID.items() for value in values]
        made, infeasible = {}, {}
        for text, sanitized in self.crew.each(partial(_sanitized, task, on_original, prepared), wanted):
            if isinstance(sanitized, InfeasibleError):
                infeasible[text] = str(sanitized)
            else:
                made[text] = sanitized
            self.count_step(f"figure {panel.figure}: {text}")
        intact, trivial = (
            prepared.measure(anonymize(table, "k-anonymity k=1", name)) for name in ("original", "without-quasi")
        )
        return PanelFinding(
            panel, task, intact, trivial, tuple(made[text] for text in wanted if text in made), infeasible
        )

    @property
    def over(self) -> str:
        """A description of the sanitizations: their number, and how many of the grid are infeasible."""
        lacking = sum(len(finding.infeasible) for finding in self.findings.values())
        numbers = ", ".join(self.findings)
        return f"{len(list(self.all))} sanitizations of figures {numbers}; {lacking} of the grid cannot be made"

    @property
    def all(self) -> Iterator[tuple[PanelFinding, Sanitization]]:
        """All sanitizations of all panels."""
        return ((finding, sanitization) for finding in self.findings.values() for sanitization in finding.made)


def _sanitized(
    task: ClassificationTask, on_original: ClassificationTask, prepared: Prepared, text: str
) -> Sanitization | InfeasibleError:
    """Make one release by information gain on the workload, measure it and learn from it; or return an error."""
    target = task.workload.target
    try:
        release = anonymize(task.table, text, f"mondrian ranges=tight cut=information-gain target={target}")
    except InfeasibleError as error:
        return error
    learned, on_originals = task.learn(release), on_original.learn(release)
    assert learned is not None and on_originals is not None
    return Sanitization(label(text), text, release, prepared.measure(release), learned, on_originals)


def label(text: str) -> str:
    """Shorten a requirement to the label of a bar: `k=10`."""
    name, first, *_ = text.split(" ")
    return f"{SHORT[name]}={first.partition('=')[2]}"


# -- claims ------------------------------------------------------------------------------------------------


def reproduce(progress: Progress | None = None, full: bool = False) -> Results:
    """Make and measure everything, and compare it with the paper."""
    study = BrickellShmatikov2008(progress, full=full)
    findings = study.findings
    artificial = artificial_table()
    study.count_step("the artificial table")
    table_2 = dict(_table_2(study))
    claims = [
        *_destruction(study),
        _adversary_gains_more(study),
        _a_know(findings["4"]),
        *_baselines(findings),
        _artificial(artificial),
        *_drops(table_2),
        _l_diversity(findings["4"]),
        _nothing_beyond_trivial(findings["4"]),
        _gain_below_delta(study),
        _table_3(findings["4"]),
        _reply(study),
    ]
    figures = [*map(_figure, findings.values()), *_tables(study, table_2)]
    made_of = {"adult": findings["1"].task.table.digest(NINE), "seed": SEED, "full": full, **study.run, "grid": GRID}
    return Results("brickell-shmatikov-2008", claims, figures, made_of=made_of)


def _destruction(study: BrickellShmatikov2008) -> Iterator[Claim]:
    """Compare the headline: what sanitizations keep that take some of the adversary's gain away, tested both ways."""
    for suffix, id_suffix, original in (("release", "", False), ("original", "-on-original", True)):
        kept: dict[str, dict[str, list[float]]] = {}
        for finding, made in study.all:
            room, intact = finding.most - finding.base, finding.intact["a_acc"]
            if room > EQUIVALENT and made.adversary <= LESS_PRIVATE * intact:
                pair = [round(made.adversary / intact, 3), round(finding.gain(made, original=original) / room, 3)]
                kept.setdefault(f"figure {finding.panel.figure}", {})[made.label] = pair
        pairs = [pair for by_label in kept.values() for pair in by_label.values()]
        destroyed = sum(share <= NEARLY_NOTHING for _, share in pairs)
        yield row(
            f"destruction-on-{suffix}",
            {"destroyed": destroyed, "of": len(pairs), "shares of A_acc and of U_max - U_base kept": kept},
            destroyed >= 2 / 3 * len(pairs) if pairs else None,
            tested_over=f"{study.over}, where U_max is above U_base and A_acc at most {LESS_PRIVATE:.0%} of the intact",
        )
        gains = [finding.gain(made, original=original) for finding, made in study.all]
        no_better = sum(gain <= EQUIVALENT for gain in gains)
        yield row(
            f"trivial-is-as-useful{id_suffix}",
            {"no better": no_better, "of": len(gains)},
            no_better > len(gains) / 2,
            tested_over=study.over,
        )


def _top_share(finding: PanelFinding) -> float:
    return round(float(finding.task.table.cells.sensitive[0].shares.max()), 4)


def _baselines(findings: Mapping[str, PanelFinding]) -> Iterator[Claim]:
    """Compare what is guessed and learned from trivial sanitizations with the numbers as they are printed."""
    pair = {"Marital": findings["1"], "Occupation": findings["2"]}
    ours = {name: _top_share(finding) for name, finding in pair.items()}
    yield row("adversary-baselines", ours, ours.__eq__)
    ours = {name: round(finding.task.baselines["without-quasi"].mean(TREE), 4) for name, finding in pair.items()}
    paper = row.paper("researcher-learns-sensitive")
    yield row("researcher-learns-sensitive", ours, all(_is_near(ours[name], paper[name]) for name in paper))
    for name in PAPER_NAMES:
        trivial = findings["3"].task.baselines
        learned = {base: round(trivial[base].mean(name), 4) for base in ("without-quasi", "without-sensitive")}
        yield row(f"salary-baseline-{name}", learned, partial(_is_near, learned["without-quasi"]))
    learned_best = round(findings["4"].task.baselines["without-sensitive"].mean(TREE), 4)
    yield row("marital-baseline-decision-tree", learned_best, partial(_is_near, learned_best))


def _a_know(finding: PanelFinding) -> Claim:
    intact = finding.intact["a_know"]
    shares = {
        sanitization.label: sanitization.measured["a_know"] / intact
        for sanitization in finding.made
        if sanitization.requirement[0] == "k"
    }
    ours = {name: round(share, 4) for name, share in shares.items()}
    over = ", ".join(shares)
    return row("a-know-k-anonymity", ours, shares["k=1000"] >= 0.75, tested_over=over)


def _adversary_gains_more(study: BrickellShmatikov2008) -> Claim:
    more = [sanitization.adversary > finding.gain(sanitization) for finding, sanitization in study.all]
    share = sum(more) / len(more)
    ours = {"share": round(share, 4), "sanitizations": len(more)}
    return row("adversary-gains-more", ours, share >= 2 / 3, tested_over=study.over)


def _gain_below_delta(study: BrickellShmatikov2008) -> Claim:
    gains = {}
    for finding, sanitization in study.all:
        if sanitization.requirement.startswith("delta"):
            delta = float(sanitization.label.partition("=")[2])
            name = f"figure {finding.panel.figure}, {sanitization.label}"
            gains[name] = sanitization.measured["information_gain"], delta
    ours = {name: round(gain, 4) for name, (gain, _) in gains.items()}
    return row("gain-below-delta", ours, all_of(gain < delta for gain, delta in gains.values()))


def artificial_table(times: int = 100) -> dict[str, dict[str, float]]:
    """Sanitize the table of section 7 by suppressing a2, and learn a4, a5 and a3 from it."""
    flips = list(product((0, 1), repeat=3)) * times
    columns = {
        "a1": [f"{r1}" for r1, _, _ in flips],
        "a2": [f"{r2}" for _, r2, _ in flips],
        "a3": [f"{r2}{r3}" for _, r2, r3 in flips],
        "a4": [f"{r1 ^ r3}" for r1, _, r3 in flips],
        "a5": [f"{r1 ^ r2}{r1 ^ r3}" for r1, r2, r3 in flips],
    }
    results = {}
    for target, neutral in (("a4", "a4"), ("a5", "a5"), ("a3", "a5")):
        table = read(pa.table(columns), quasi=["a1", "a2"], sensitive=["a3"], neutral=[neutral])
        task = Classification(target, TREE, seed=SEED).prepare(table)
        release = anonymize(table, "k-anonymity k=1", 'full-domain levels="a1=0, a2=1"')
        measured, learned = Scales(reader=UniformReader()).prepare(table).measure(release), task.learn(release)
        assert learned is not None
        results[target] = {
            "p_loss": measured["p_loss"],
            "a_know": measured["a_know"],
            "a_acc": measured["a_acc"],
            "accuracy": learned.accuracy,
            "U_max": task.baselines["original"].accuracy,
            **{name: baseline.accuracy for name, baseline in task.baselines.items() if name != "original"},
        }
    return results


def _artificial(results: Mapping[str, Mapping[str, float]]) -> Claim:
    private = all(max(values["p_loss"], values["a_know"], values["a_acc"]) < 1e-9 for values in results.values())
    useful = all(values["accuracy"] == values["U_max"] == 1 for values in results.values())
    ours = {target: {name: round(value, 4) for name, value in values.items()} for target, values in results.items()}
    return row("artificial-table", ours, private and useful)


def _is_near(ours: float, paper: float) -> bool:
    return abs(ours - paper) <= 0.025


def _drops(table_2: Mapping[str, tuple[Learned, Learned]]) -> Iterator[Claim]:
    """Table 2: which attributes are learned worse without age, sex and race, and of which that is certain."""
    drops = {name: round(whole.accuracy - without.accuracy, 4) for name, (whole, without) in table_2.items()}
    yield row("table-2-marital-drops-most", drops, max(drops, key=drops.__getitem__) == "marital-status")
    folds = {name: [learned.folds[learned.best]["accuracy"] for learned in pair] for name, pair in table_2.items()}
    ends = {name: interval(*accuracies) for name, accuracies in folds.items()}
    certain = [name for name, (low, _) in ends.items() if low > 0]
    yield row(
        "table-2-marital-alone",
        {name: [round(end, 4) for end in ends[name]] for name in ends},
        certain == ["marital-status"],
        reason=f"certain drops: {', '.join(certain) or 'none'}; the paper does not define significant",
    )


def _l_diversity(finding: PanelFinding) -> Claim:
    """Section 6: l-diversity has to suppress the quasi-identifiers to limit what the adversary learns."""
    made = [sanitization for sanitization in finding.made if sanitization.label[0] == "l"]
    ours = {
        sanitization.label: {"groups": sanitization.release.groups, "a_know": round(sanitization.measured["a_know"], 4)}
        for sanitization in made
    }
    half = finding.intact["a_know"] / 2
    parted = [sanitization for sanitization in made if sanitization.release.groups > 1]
    lacking = [label(text) for text in finding.infeasible if text.startswith("l-diversity")]
    over = f"{', '.join(sanitization.label for sanitization in parted) or 'no l'} (recursive, c = 3)"
    return row(
        "l-diversity-needs-suppression",
        ours,
        all_of(sanitization.measured["a_know"] > half for sanitization in parted),
        reason=f"half of the intact table's A_know is {half:.4f}; the parameters l of the paper are lost",
        tested_over=f"{over}; not even the whole table satisfies {', '.join(lacking)}" if lacking else over,
    )


def _nothing_beyond_trivial(finding: PanelFinding) -> Claim:
    gains = {sanitization.label: round(finding.gain(sanitization), 4) for sanitization in finding.made}
    return row(
        "figure-4-below-trivial",
        gains,
        all_of(gain <= 0 for gain in gains.values()),
        tested_over=f"{len(gains)} sanitizations",
    )


def _table_3(finding: PanelFinding) -> Claim:
    rows = {"intact": finding.intact, **{sanitization.label: sanitization.measured for sanitization in finding.made}}
    ours = {name: [round(measured["a_acc"], 4), round(measured["a_know"], 4)] for name, measured in rows.items()}
    return row(
        "table-3",
        ours,
        all_of(
            sanitization.measured[name] <= finding.intact[name] + 1e-9
            for sanitization in finding.made
            for name in ("a_acc", "a_know")
        ),
        tested_over=f"{len(finding.made)} sanitizations",
    )


def _reply(study: BrickellShmatikov2008) -> Claim:
    """Li & Li 2009 compare privacy for the worst record and utility with the original: the same releases there.

    A release has a share of the trivial U_loss, its loss of utility, and a share of the original's P_loss, its loss of
    privacy. A sanitization is worthwhile if their sum is below one: it is one for the trivial sanitization, for the
    original, and for any mixture of the two.
    """
    shares = [
        (
            sanitization.measured["u_loss"] / finding.trivial["u_loss"],
            sanitization.measured["p_loss"] / finding.intact["p_loss"],
        )
        for finding, sanitization in study.all
    ]
    means = {
        "mean share of the trivial U_loss": round(sum(lost for lost, _ in shares) / len(shares), 4),
        "mean share of the original's P_loss": round(sum(given for _, given in shares) / len(shares), 4),
    }
    hits = [1 - u > p for u, p in shares]
    name = "releases that keep a larger share of utility than they give up of privacy"
    return row("li-li-reply", {name: sum(hits), "of": len(hits), **means}, None, tested_over=study.over)


# -- figures -----------------------------------------------------------------------------------------------


def _table_2(study: BrickellShmatikov2008) -> Iterator[tuple[str, tuple[Learned, Learned]]]:
    """Learn every attribute with and without age, sex and race, by a decision tree."""
    table = opened(OCCUPATION, "occupation")
    for target in TABLE_2:
        baselines = Classification(target, TREE, seed=SEED, **study.run).prepare(table).baselines
        study.count_step(f"table 2: {target}")
        yield target, (baselines["original"], baselines["without-quasi"])


def _bars(label: str, heights: Mapping[str, float]) -> FigureLine:
    return FigureLine(label, [{"x": name, "y": height} for name, height in heights.items()], False)


def _figure(finding: PanelFinding) -> Figure:
    panel = finding.panel
    curves = [_bars("adversary (A_acc)", {made.label: made.adversary for made in finding.made})]
    for name in PAPER_NAMES:
        curves.append(_bars(f"researcher, {name}", {made.label: finding.gain(made, name) for made in finding.made}))
    on_original = {made.label: finding.gain(made, original=True) for made in finding.made}
    curves.append(_bars("researcher, best, tested on the original", on_original))
    title = (
        f"Brickell & Shmatikov 2008, figure {panel.figure}: {panel.data!r}, learning {panel.target}; "
        f"U_base {finding.base:.2%}, U_max {finding.most:.2%}"
    )
    return Figure(panel.figure, title, "", "gain in accuracy", curves, bars=True)


def _tables(study: BrickellShmatikov2008, table_2: Mapping[str, tuple[Learned, Learned]]) -> Iterator[Figure]:
    with_quasi = _bars("with age, sex, race", {name: whole.accuracy for name, (whole, _) in table_2.items()})
    without = _bars("without", {name: rest.accuracy for name, (_, rest) in table_2.items()})
    title = "Brickell & Shmatikov 2008, table 2: accuracy of a decision tree"
    yield Figure("table-2", title, "", "accuracy", [with_quasi, without], bars=True)
    finding = study.findings["4"]
    rows = {"intact": finding.intact, **{sanitization.label: sanitization.measured for sanitization in finding.made}}
    curves = [
        _bars(name, {label: measured[measure] for label, measured in rows.items()})
        for name, measure in (("A_acc", "a_acc"), ("A_know", "a_know"))
    ]
    title = "Brickell & Shmatikov 2008, table 3: what an adversary gains on 'Occupation'"
    yield Figure("table-3", title, "", "gain", curves, bars=True)
    replies = []
    for finding in study.findings.values():
        points = [
            {"x": made.measured["p_loss"], "y": made.measured["u_loss"], "parameter": made.label}
            for made in finding.made
        ]
        panel = finding.panel
        replies.append(FigureLine(f"figure {panel.figure}: {panel.data}, {panel.target}", points, False))
    title = "The same releases on the axes of Li & Li 2009"
    yield Figure("li-li", title, "P_loss (worst record)", "U_loss", replies)
