"""In Python a release is published through the same pipeline as a point of a map."""

import csv
import json
from dataclasses import replace

import pytest

import sfumato
from sfumato.publish.certificate import certificate_files

PEOPLE = {
    "age": [str(20 + i % 17) for i in range(60)],
    "sex": ["fm"[i % 2] for i in range(60)],
    "ill": [("flu", "cold", "gout")[i * 7 % 3] for i in range(60)],
}


@pytest.fixture
def release():
    pyarrow = pytest.importorskip("pyarrow")
    return sfumato.anonymize(pyarrow.table(PEOPLE), "k-anonymity k=4", quasi=["age", "sex"], sensitive=["ill"])


def test_a_release_is_published_with_certificates_and_written_without(release, tmp_path):
    assert release.to_csv(tmp_path / "data.csv") == [tmp_path / "data.csv"]
    done = release.publish(tmp_path / "out.csv")
    assert sorted(done.files) == sorted([tmp_path / "out.csv", *certificate_files(tmp_path / "out.csv")])
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "data.csv").read_bytes()
    own, _, public, _ = (json.loads(path.read_text()) if path.suffix == ".json" else path for path in done.files[1:])
    assert own["for_your_eyes"]["input"]["records"] == 60 and "for_your_eyes" not in public
    assert public["promise"]["checked_on_the_file"] and public["measures"]["k"] >= 4
    with (tmp_path / "out.csv").open(newline="") as stream:
        assert public["rows"] == len(list(csv.DictReader(stream)))
    with pytest.raises(sfumato.BadInputError, match="exists already"):
        release.publish(tmp_path / "out.csv")


def test_what_was_changed_after_it_was_made_is_not_certified(release, tmp_path):
    with pytest.raises(sfumato.BadInputError, match="not known how"):
        replace(release, levels=()).publish(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_anonymize_certifies_unless_it_is_told_not_to(tmp_path, monkeypatch, capsys):
    from command_line import run

    rows = ["age,sex,ill", *map(",".join, zip(*PEOPLE.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    asked = ("anonymize", "t.csv", "--quasi", "age,sex", "--sensitive", "ill", "--require", "k-anonymity k=4")
    done = run(*asked, "--to", "a.csv", cwd=tmp_path)
    assert done.returncode == 0 and "For the public: a.csv.certificate-public.html" in done.stdout
    own = json.loads((tmp_path / "a.csv.certificate.json").read_text())
    assert "--original" in own["verify"] and run(*own["verify"][1:], cwd=tmp_path).returncode == 0
    public = json.loads((tmp_path / "a.csv.certificate-public.json").read_text())
    assert "t.csv" not in json.dumps(public) and run(*public["verify"][1:], cwd=tmp_path).returncode == 0
    done = run(*asked, "--to", "b.csv", "--no-certificate", cwd=tmp_path)
    assert done.returncode == 0 and "Neither audited nor certified" in done.stdout
    assert sorted(path.name for path in tmp_path.glob("b.csv*")) == ["b.csv"]
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    (tmp_path / "a.csv.board.html").write_text("the page of an earlier release")
    refused = run(*asked, "--to", "a.csv", "--no-certificate", cwd=tmp_path)
    assert refused.returncode == 2 and len(list(tmp_path.glob("a.csv*"))) == 6
    done = run(*asked, "--to", "a.csv", "--no-certificate", "--force", cwd=tmp_path)
    assert done.returncode == 0 and sorted(path.name for path in tmp_path.glob("a.csv*")) == ["a.csv"]


def test_no_certificate_of_an_earlier_file_stays_beside_another_one(release, tmp_path):
    """Its promise is about other bytes: it goes with them, and without force nothing is written beside it."""
    path = tmp_path / "out.csv"
    release.publish(path)
    path.unlink()
    from sfumato.publish._single import Target

    with pytest.raises(sfumato.BadInputError, match="certificate.json exists already"):
        Target(path, certificate=False).check()
