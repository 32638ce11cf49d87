"""The anonymizers: one file per algorithm.

Anonymizers of tables with items: first groups of the table, then the items of every group.

Anonymizers of transactions: one file per algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.config.options import Registry, parse
from sfumato.data.dataset import MixedTable
from sfumato.data.items import Baskets
from sfumato.data.reading import Columns, Table, as_table, check_keywords
from sfumato.errors import BadInputError
from sfumato.release.content import NoisyRelease
from sfumato.release.records import RecordRelease
from sfumato.release.release import Form, Release
from sfumato.requirements.requirement import KAnonymity, Requirement, requirement
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.anonymizers.dp.mechanism import Mechanism
    from sfumato.anonymizers.external.external import ExternalRelease
    from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker

    Maker = Anonymizer | Mechanism | RecordMaker | ExternalRelease
    """Any anonymizer: for a requirement, with noise, of synthetic or changed records, or external."""

ANONYMIZERS: Registry[Anonymizer] = Registry(
    __name__,
    "mondrian mondrian.mondrian.Mondrian",
    "full-domain full_domain.full_domain.FullDomain",
    "local-recoding local_recoding.local_recoding.LocalRecoding",
    "exchange exchange.Exchange",
    "cut-vector cut_vector.cut_vector.CutVector",
    "hilbert hilbert.Hilbert",
    "anatomy anatomy.Anatomy",
    "sabre sabre.Sabre",
    "burel burel.Burel",
    "local-suppression local_suppression.LocalSuppression",
    "top-coding top_coding.TopCoding",
    "without-quasi trivial.WithoutQuasi",
    "without-sensitive trivial.WithoutSensitive",
    "original trivial.Original",
)
MECHANISMS: Registry[Mechanism] = Registry(
    __name__,
    "dp-kd-tree dp.trees.DPKdTree",
    "dp-quadtree dp.trees.DPQuadtree",
    "dp-privtree dp.trees.DPPrivTree",
    "dp-grid dp.trees.DPGrid",
    "mst dp.mst.MST",
    "aim dp.aim.AIM",
)
RECORD_MAKERS: Registry[RecordMaker] = Registry(
    __name__,
    "microaggregation perturbation.microaggregation.Microaggregation",
    "pram perturbation.pram.Pram",
    "rank-swapping perturbation.swapping.RankSwapping",
    "record-swapping perturbation.swapping.RecordSwapping",
    "noise perturbation.noise_and_rounding.AddedNoise",
    "rounding perturbation.noise_and_rounding.Rounding",
    "cart perturbation.cart.Cart",
)
EXTERNAL: Registry[ExternalRelease] = Registry(
    __name__,
    "brought external.external.ExternalFile",
    "frame external.external.ExternalFrame",
    "function external.external.ExternalFunction",
)
NO_COMMANDS = (
    "candidates no longer run programs (command was removed); run the program yourself and name the file that it "
    'writes (file = "made.csv")'
)


def makers() -> tuple[type[Maker], ...]:
    """Return all kinds of makers of our own."""
    return (*ANONYMIZERS, *MECHANISMS, *RECORD_MAKERS)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[Maker]:
        """Return an anonymizer by its class, such as `sfumato.anonymizers.FullDomain`."""
        if name[:1].isupper():
            for kind in makers():
                if kind.__name__ == name:
                    return kind
        raise AttributeError(t("refusal.module_no_attribute", name=__name__, name_2=name))


def anonymizer(text: str) -> Maker:
    """Read an anonymizer from its text form, such as `mondrian mode=relaxed` or `dp-kd-tree epsilon=1 height=8`."""
    if text.split(None, 1)[:1] == ["command"]:
        raise BadInputError(f"{text!r}: {NO_COMMANDS}")
    name = text.split(None, 1)[0] if text.strip() else ""
    registries: tuple[Registry[Maker], ...] = (ANONYMIZERS, MECHANISMS, RECORD_MAKERS, EXTERNAL)  # type: ignore[assignment]
    found = [kinds[name] for kinds in registries if name in kinds.names]
    read: Maker = parse(text, found or (*makers(), *EXTERNAL), "anonymizer")
    return read


ANONYMIZE = ("require", "with_", "form", "suppress", "k")


def anonymize(
    table: Any,
    require: Requirement | str | Sequence[Requirement | str] = (),
    with_: Anonymizer | str | None = None,
    form: Form = "generalization",
    suppress: float = 0.0,
    *,
    k: int | None = None,
    **more: Any,
) -> Any:
    """Make one release of data (or of a frame or file) that satisfies all given requirements.

    A requirement is a text, an object, or a list of these; `k=10` is short for `"k-anonymity k=10"`. `with_` (or
    `anonymizer`) is the anonymizer, as in `--with`. For a frame or file, the keywords of `read` give the roles of its
    columns: `quasi`, `sensitive`, `neutral`, ... At most a share `suppress` of the records is left out. The release
    comes back as what came in by its `frame()`. For sets of items and records with items, the keywords are `utility`,
    `limit`, `item_maker`, `merge` and `sets`. An example:

    >>> import pyarrow
    >>> people = {"age": ["34", "36", "51", "58"], "illness": ["flu", "cold", "flu", "cold"]}
    >>> release = anonymize(pyarrow.table(people), k=2, quasi=["age"], sensitive=["illness"])
    >>> sorted(release.frame()["age"].to_pylist())
    ['30-39', '30-39', '50-59', '50-59']
    """
    parts = [require] if isinstance(require, Requirement | str) or not isinstance(require, Sequence) else [*require]
    parts += [] if k is None else [f"k-anonymity k={k}"]
    if not parts:
        raise refusal("nothing_required")
    require = parts[0] if len(parts) == 1 else " & ".join(map(str, parts))
    maker = more.pop("anonymizer", None) or with_
    if isinstance(table, Baskets | MixedTable):
        made = import_module("sfumato.anonymizers.items.items_of_groups").anonymize_items  # it reads anonymizers
        return made(table, require, maker, suppress=suppress, **more)
    check_keywords("anonymize", more, ANONYMIZE)
    chosen = anonymizer(maker or "mondrian") if maker is None or isinstance(maker, str) else maker
    if not isinstance(chosen, Anonymizer):
        raise refusal("satisfies_no_requirement_but", name=chosen.name, chosen=chosen)
    wanted = requirement(require) if isinstance(require, str) else require
    release = chosen.anonymize(as_table(table, more), wanted, form, suppress)  # type: ignore[arg-type]
    return release.made_by(chosen, wanted, form, suppress)


def draw(
    table: Table | Any, maker: Mechanism | RecordMaker | ExternalRelease | str, **columns: Unpack[Columns]
) -> NoisyRelease | RecordRelease | Release:
    """Draw one release that is noisy, synthetic or perturbed, such as `draw(table, "dp-kd-tree epsilon=1 height=8")`.

    For a frame or file, the keywords of `read` give the roles of its columns.
    """
    from sfumato.anonymizers.dp.mechanism import Mechanism
    from sfumato.anonymizers.external.external import ExternalRelease

    chosen = anonymizer(maker) if isinstance(maker, str) else maker
    if isinstance(chosen, Anonymizer):
        known = ", ".join(kind.name for kind in (*MECHANISMS, *RECORD_MAKERS))
        raise refusal("draws_nothing", name=chosen.name, known=known)
    if isinstance(chosen, Mechanism):
        data = as_table(table, columns)
        chosen.check(data, KAnonymity(1), "generalization", 0.0)
        return chosen.draw(data).made_by(chosen, KAnonymity(1))
    if isinstance(chosen, ExternalRelease):
        return chosen.anonymize(as_table(table, columns), KAnonymity(1))
    return chosen.anonymize(as_table(table, columns), chosen.promised).made_by(chosen, KAnonymity(1))
