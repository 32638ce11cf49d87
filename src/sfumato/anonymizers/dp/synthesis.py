"""What a differentially private synthesizer is: a mechanism that estimates a model of all columns and draws records.

Nothing but the noisy answers to its questions goes into the model, and nothing but the model into the records; so both
may be published, and cost no more than the answers did.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from sfumato.anonymizers.dp._models import Model
from sfumato.anonymizers.dp._private_cells import PrivateRecords, RecordDomain, record_domain
from sfumato.anonymizers.dp.mechanism import Mechanism, public_knowledge
from sfumato.anonymizers.dp.noise import Noise, OpenDPNoise
from sfumato.config.options import Option
from sfumato.data.reading import Table
from sfumato.release.content import Budget
from sfumato.release.records import RecordRelease, Records, record_release

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

    shown_as: ClassVar[str] = "synthetic records"
    not_kept: ClassVar[str] = (
        "How columns go together is told by the tables that were counted; of what three columns have in common beyond "
        "these, the file says nothing."
    )
    stage: ClassVar[str] = "step"
    stages: ClassVar[str] = (
        "When a question was asked: the first ones, which are 0, ask for single columns, later ones for what these do "
        "not tell. All questions look at the same records, so what they cost adds up."
    )

    @property
    def budget(self) -> Budget:
        """Epsilon, or epsilon and delta."""
        return Budget(self.epsilon, self.delta or 0.0)

    @property
    def noise_in_words(self) -> str:
        """Say it of counts and choices."""
        noise = (
            "Counts get discrete Gaussian noise, P(z) in proportion to exp(-rho z^2), which costs rho in "
            "zero-concentrated differential privacy; tables are chosen by the exponential mechanism with an epsilon of "
            "sqrt(8 rho), which costs rho too (Cesar & Rogers 2021). What rho is worth in epsilon and delta: Canonne, "
            "Kamath & Steinke 2020, proposition 12."
            if self.delta
            else "Counts get discrete Laplace noise, P(z) in proportion to exp(-epsilon |z|); tables are chosen by "
            "permute-and-flip (McKenna & Sheldon 2020)."
        )
        return (
            f"{noise} Both are drawn by OpenDP, whose generator cannot be seeded. Nothing else looks at the records. "
            "Rows are drawn from a model of the noisy counts, which costs no budget."
        )

    def draw(self, table: Table, noise: Noise | None = None) -> RecordRelease:
        """Draw a release.

        Its `details` have the `model`, whose `marginal` tells what it expects of some columns, and the tables that were
        `counted`, each with its noise. Both come from noisy answers alone.
        """
        domain = record_domain(table)
        source = OpenDPNoise() if noise is None else noise
        private = PrivateRecords(table.cells, domain, source, self.budget)
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
        record_domain(table)

    @abstractmethod
    def estimate(self, domain: RecordDomain, private: PrivateRecords) -> Model:
        """Ask the records, and estimate a model from their answers."""
