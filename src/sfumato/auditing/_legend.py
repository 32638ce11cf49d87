"""Reading what stands behind published items: the legend beside a file, a mapping, or a certificate that names one."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.auditing.ledger import file_digest
from sfumato.config.documents import fields, in_shape, listed, mapped, one_of, read_json, text
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import t

KIND = "sfumato legend"
MAPPING = "sfumato mapping of baskets"
SCHEMA = 1
WORDS = mapped(listed(text))
"""Which items each published item stands for, in a document."""

Legend = Mapping[str, Sequence[str]]
"""Which items each published text stands for."""

WHAT = "a legend, a mapping or a certificate of baskets"
LEGEND = fields({"schema": one_of(SCHEMA), "file": text, "sha256": text, "legend": WORDS})


def legend_file(path: Path) -> Path:
    """Name the legend of a data file: it lies beside it."""
    return path.with_name(f"{path.name}.legend.json")


def read_legend(path: Path) -> dict[str, list[str]]:
    """Read which items stand behind published ones, from a legend, a mapping, or a certificate beside its legend."""
    content = read_json(path, WHAT, fields({"kind": one_of(KIND, MAPPING, "sfumato certificate")}))
    if content["kind"] == KIND:
        in_shape(content, str(path), WHAT, LEGEND)
        return dict(content["legend"])
    if content["kind"] == MAPPING:
        in_shape(content, str(path), WHAT, fields({"published": WORDS}))
        return dict(content["published"])
    in_shape(content, str(path), WHAT, fields({}, {"legend": fields({"file": text})}))
    if "legend" not in content:
        raise BadInputError(f"{path}: this certificate names no legend: every published item says what it stands for")
    return read_legend(path.with_name(Path(content["legend"]["file"]).name))


def legend_beside(path: Path) -> tuple[Legend | None, tuple[str, ...]]:
    """Read the legend that lies beside a data file; one that speaks of another file is passed over, and it is said."""
    beside = legend_file(path)
    if not beside.is_file():
        return None, ()
    content = read_json(beside, WHAT, fields({"kind": one_of(KIND)}))
    in_shape(content, str(beside), WHAT, LEGEND)
    if content["sha256"] != file_digest(path):
        return None, (t("audit_notice.other_legend", beside=beside, path=path),)
    return dict(content["legend"]), (f"{beside}: read as the legend of this file",)
