"""A differentially private mechanism: a frozen configuration that draws releases of a table with noise.

It is the sibling of an `Anonymizer`: there a requirement is searched for and checked, here nothing about the records
is checked, and the guarantee lies in how the release was drawn. A `BoxMechanism` divides the domain into boxes with
noisy counts of one sensitive attribute; a `RecordMechanism` draws records of all columns from a model.

A differentially private synthesizer: a mechanism that estimates a model of all columns and draws records.

Only the noisy answers to its questions enter the model, and only the model determines the records. Both may be
published, at no further cost.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from sfumato.anonymizers.anonymizer import Dial, ReleaseMaker
from sfumato.anonymizers.dp import _private_cells as private_cells
from sfumato.anonymizers.dp._models import Model
from sfumato.anonymizers.dp.account import sampled_counts
from sfumato.anonymizers.dp.noise import Noise, OpenDPNoise
from sfumato.config.options import Option
from sfumato.data.cells import Cells
from sfumato.data.reading import Table
from sfumato.errors import BadInputError
from sfumato.release.content import Budget, NoisyRelease, noisy_release
from sfumato.release.records import RecordRelease, Records, record_release
from sfumato.release.release import Form, Published, Release
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.texts.catalogue import refusal, t

LEAST_EPSILON, MOST_EPSILON = 1e-6, 1000
MOST_CONTRIBUTION = 1000
MOST_LEVELS = 20
"""A tree of more levels would have more than a million boxes."""

Epsilon = Annotated[
    float,
    Option(
        "The budget: how much the release may depend on any one record. Smaller protects more.",
        least=LEAST_EPSILON,
        most=MOST_EPSILON,
    ),
]
Negatives = Annotated[
    Literal["cut", "unbiased"],
    Option(
        "How negative counts are read. `cut` sets them to 0, because the written file holds whole records and a map "
        "should show what analysts will see; `unbiased` keeps them for users of the counts themselves."
    ),
]
Contribution = Annotated[
    int | None,
    Option(
        "With a person column: how many records of one person are counted at most, drawn at random where there are "
        "more. Choose it without looking at the records; the promise is then about persons.",
        least=1,
        most=MOST_CONTRIBUTION,
    ),
]
Height = Annotated[
    int, Option("How many levels the tree has: more would make more than a million boxes.", least=1, most=MOST_LEVELS)
]
Ratio = Annotated[
    float, Option("By how much the budget for counts grows from one level to the next.", least=0.1, most=10)
]


def share_of_budget(meaning: str) -> Option:
    """Declare a share of the budget that leaves something on both sides."""
    return Option(meaning, more_than=0, most=0.99)


MedianShare = Annotated[float, share_of_budget("The share of the budget that finds the medians; counts get the rest.")]


class Mechanism(ReleaseMaker, ABC):
    """Draws releases with noise. Two draws differ: the noise cannot be seeded."""

    epsilon: Epsilon
    contribution: int | None

    noisy: ClassVar[bool] = True
    people: ClassVar[bool] = False
    takes_requirements: ClassVar[bool] = False
    drawn_as: ClassVar[str] = "differential privacy"
    procedure: ClassVar[str]
    """Its description for readers of a certificate."""

    not_kept: ClassVar[str]
    """The relations that its records do not preserve, in words for their readers."""

    stage: ClassVar[str]
    """The name of a `level` of its account."""

    stages: ClassVar[str]
    """The meaning of that, in a sentence for readers of a certificate."""

    @property
    @abstractmethod
    def budget(self) -> Budget:
        """What a draw may cost."""

    @property
    @abstractmethod
    def noise_in_words(self) -> str:
        """The noise it uses; nothing else reads the records."""

    def dial(self, records: int) -> Dial:
        """Turn epsilon, as far as anybody would."""
        return Dial("epsilon", 0.01, 10.0)

    @abstractmethod
    def draw(self, table: Table, noise: Noise | None = None) -> NoisyRelease | RecordRelease:
        """Draw a release; `noise` is OpenDP's unless another one is handed in, for tests and for maps."""

    @abstractmethod
    def check_table(self, table: Table) -> None:
        """Raise where this configuration cannot be used on a table: its domain was not declared, or is too small."""

    def anonymize(
        self, table: Table, requirement: Requirement, form: Form = "generalization", suppress: float = 0.0
    ) -> NoisyRelease | RecordRelease:
        """Draw a release where an anonymizer would make one: asked for no requirement, and nothing to suppress."""
        self.check(table, requirement, form, suppress)
        return self.draw(table)

    def check(self, table: Table, requirement: Requirement, form: Form, suppress: float) -> None:
        """Raise where `anonymize` would, without drawing anything."""
        self.check_request(requirement, form, suppress)
        if table.why_no_persons is not None:
            raise BadInputError(table.why_no_persons)
        self.check_contribution(table)
        self.check_table(table)

    @property
    def counts_persons(self) -> bool:
        """Whether its noise hides persons: it is known how many records of one are counted at most."""
        return self.contribution is not None

    def check_contribution(self, table: Table) -> None:
        """Raise where a person may have several records and nobody bounds them, or where nobody says whose they are."""
        if (table.cells.persons is None) == self.counts_persons:
            needed = "without_a_person" if self.counts_persons else "needed"
            raise refusal(f"contribution_{needed}", maker=self, table=table)

    def counted(self, table: Table, noise: Noise) -> Cells:
        """Return the cells that are counted: with a person column, of every person at most `contribution` records."""
        self.check_contribution(table)
        if table.cells.persons is None or self.contribution is None:
            return table.cells
        kept = sampled_counts(table.cells.persons, self.contribution, noise.generator())
        return replace(table.cells, counts=kept, persons=None)

    @property
    def persons_in_words(self) -> str:
        """Describe which records of a person are counted, where persons are protected."""
        return "" if self.contribution is None else " " + t("privacy.of_persons", budget=self.budget)

    def check_request(self, requirement: Requirement, form: Form, suppress: float) -> None:
        """Raise where something is asked for that noise cannot give."""
        if any(part != KAnonymity(1) for part in requirement.parts):
            raise refusal("protects_noise_cannot_promise", name=self.name, requirement=requirement)
        if form != "generalization":
            raise refusal("publishes_form_generalization", name=self.name, shown_as=self.shown_as, form=form)
        if suppress != 0:
            raise refusal("suppresses_no_records", name=self.name, suppress=suppress)


class BoxMechanism(Mechanism):
    """Draws boxes that tile the domain, with noisy counts of one sensitive attribute."""

    counts: Negatives

    stage: ClassVar[str] = "level"

    @property
    def budget(self) -> Budget:
        """Epsilon alone."""
        return Budget(self.epsilon, contribution=self.contribution)

    @property
    def noise_in_words(self) -> str:
        """Describe it for counts and medians."""
        return t("notice.counts_get_discrete_laplace", persons_in_words=self.persons_in_words)

    def draw(self, table: Table, noise: Noise | None = None) -> NoisyRelease:
        """Draw a release."""
        domain = self.checked_domain(table)
        source = OpenDPNoise() if noise is None else noise
        private = private_cells.PrivateCells(self.counted(table, source), source, self.budget)
        lo, hi, counts = self.decompose(domain, private)
        quasi = {name: hierarchy.size for name, hierarchy in zip(domain.names, domain.hierarchies, strict=True)}
        guarantee = private.account.guarantee(public_knowledge(quasi, {domain.sensitive: domain.values.size}))
        return noisy_release(table, lo, hi, counts, guarantee, publishable=source.safe).read(self.counts)

    def check_table(self, table: Table) -> None:
        """Raise unless the table has a declared domain that is large enough."""
        self.checked_domain(table)

    def checked_domain(self, table: Table) -> private_cells.Domain:
        """Return the declared domain of a table, if this configuration can be used on it."""
        domain = private_cells.declared_domain(table)
        self.check_domain(domain)
        return domain

    @abstractmethod
    def decompose(
        self, domain: private_cells.Domain, private: private_cells.PrivateCells
    ) -> tuple[Codes, Codes, Numbers]:
        """Divide the domain into boxes; return their ends, and their noisy counts of every declared value."""

    def check_domain(self, domain: private_cells.Domain) -> None:
        """Raise where the domain is too small for this configuration; nothing to say against it by default."""


class CountedTree(BoxMechanism):
    """A mechanism that cuts all boxes `height` times, on the first levels at private medians, below in the middle.

    The medians share `median_share` of the budget equally. The rest counts every level, growing by `ratio` from one to
    the next, and the counts of all levels are made consistent.
    """

    height: int
    ratio: float
    median_share: float

    @property
    @abstractmethod
    def median_levels(self) -> int:
        """How many levels are cut at medians."""

    def check_domain(self, domain: private_cells.Domain) -> None:
        """Raise where the tree has more levels than its domain can be halved."""
        if self.height > domain.halvings:
            raise refusal(
                "height_must_most_table", halvings=domain.halvings, height=self.height, names=", ".join(domain.names)
            )

    def decompose(
        self, domain: private_cells.Domain, private: private_cells.PrivateCells
    ) -> tuple[Codes, Codes, Numbers]:
        """Grow the tree."""
        for_medians, for_counts = private_cells.split(private.account.amount, self.median_share)
        medians = private_cells.shares(for_medians, self.median_levels, 1.0) if self.median_levels else []
        budgets = private_cells.shares(for_counts, self.height + 1, self.ratio)

        def cut(level: int, attribute: Counts, lo: Codes, hi: Codes) -> Codes:
            if level < len(medians):
                return private.medians(attribute, lo, hi, level, medians[level])
            return domain.middles(attribute, lo, hi)

        levels, noisy = private_cells.grow(domain, private, budgets, cut)
        return levels[-1].lo, levels[-1].hi, private_cells.consistent(levels, noisy, budgets)[-1]


def assigned(release: Published) -> Release:
    """Return a release that says where every record went, and refuse one that is noisy or of other records."""
    if not isinstance(release, Release):
        raise refusal("cannot_done_noisy")
    return release


def public_knowledge(quasi: Mapping[str, int], sensitive: Mapping[str, int]) -> tuple[str, ...]:
    """Say in sentences what is taken as known to everybody, so that the noise need not hide it.

    Given are the quasi-identifiers and sensitive attributes, each with its number of declared values.
    """
    sizes, values = (", ".join(f"{name} ({size})" for name, size in columns.items()) for columns in (quasi, sensitive))
    several = t("notice.least_two_values_occur", sensitive=sensitive) if sensitive else ""
    return (
        t("notice.declared_domains_quasi_identifiers", sizes=sizes),
        *([t("notice.declared_values", values=values)] if sensitive else []),
        t("notice.every_record_values_lie", several=several),
        t("notice.method_parameters"),
    )


MOST_DELTA = 0.01

DELTA = Option(
    "With which probability epsilon may be exceeded; far less than 1 / the number of records. Noise is then Gaussian.",
    more_than=0,
    most=MOST_DELTA,
)
Delta = Annotated[float, DELTA]
OptionalDelta = Annotated[float | None, DELTA]


class RecordMechanism(Mechanism):
    """Draws synthetic records of all quasi-identifiers and sensitive attributes."""

    delta: float | None

    stage: ClassVar[str] = "step"

    @property
    def budget(self) -> Budget:
        """Epsilon, or epsilon and delta."""
        return Budget(self.epsilon, self.delta or 0.0, self.contribution)

    @property
    def noise_in_words(self) -> str:
        """Describe it for counts and choices."""
        noise = (
            t("notice.counts_get_discrete_gaussian") if self.delta else t("notice.counts_get_discrete_laplace_noise")
        )
        return t("notice.both_drawn_opendp", noise=noise, persons_in_words=self.persons_in_words)

    def draw(self, table: Table, noise: Noise | None = None) -> RecordRelease:
        """Draw a release.

        Its `details` have the `model`, whose `marginal` returns the expected counts of some columns, and the `counted`
        tables, each with its noise. Both come from noisy answers alone.
        """
        domain = private_cells.record_domain(table)
        source = OpenDPNoise() if noise is None else noise
        private = private_cells.PrivateRecords(self.counted(table, source), domain, source, self.budget)
        model = self.estimate(domain, private)
        sizes = list(zip(domain.names, domain.sizes, strict=True))
        return record_release(
            table,
            Records(table.cells, model.sample(source.generator())),
            people=False,
            guarantee=private.account.guarantee(
                public_knowledge(dict(sizes[: domain.quasi]), dict(sizes[domain.quasi :]))
            ),
            publishable=source.safe,
            details={"model": model, "counted": tuple(private.counted)},
        )

    def check_table(self, table: Table) -> None:
        """Raise unless the domains of all coded columns are declared."""
        private_cells.record_domain(table)

    @abstractmethod
    def estimate(self, domain: private_cells.RecordDomain, private: private_cells.PrivateRecords) -> Model:
        """Ask the records, and estimate a model from their answers."""
