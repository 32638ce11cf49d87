"""The guides: their commands run on the made-up file that they name, and print what they show."""

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from command_line import run

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def steps(page):
    """List the commands of a page, each with the lines that it shows."""
    found = []
    for line in "\n".join(BLOCK.findall(page.read_text(encoding="utf-8"))).splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ sfumato "), []))
        elif line.strip():
            found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", ["start/index.md", "guides/publication.md", "guides/analysis.md"])
def test_the_commands_of_a_page_print_what_it_shows(tmp_path, page):
    for example in (DOCS / "examples").glob("visits*"):
        shutil.copy(example, tmp_path)
    listed = steps(DOCS / page)
    assert len(listed) >= 4
    for command, shown in listed:
        done = run(*shlex.split(command), cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
        for line in shown:
            assert line.rstrip() in done.stdout, (command, line, done.stdout)


def test_the_example_file_is_what_its_script_writes(tmp_path):
    script = tmp_path / "make_visits.py"
    shutil.copy(DOCS / "examples" / "make_visits.py", script)
    exec(compile(script.read_text(), str(script), "exec"), {"__name__": "__main__", "__file__": str(script)})
    assert (tmp_path / "visits.csv").read_bytes() == (DOCS / "examples" / "visits.csv").read_bytes()


def test_the_worked_example_of_the_requirements_comes_out_so(capsys):
    page = DOCS / "concepts" / "requirements.md"
    text = re.sub("^```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(example).failed == 0 and len(example.examples) > 6, capsys.readouterr().out


def test_the_pictures_are_those_of_the_program(tmp_path):
    """They show real releases, so an anonymizer that changes makes them stale."""
    script = DOCS / "examples" / "make_pictures.py"
    (tmp_path / "images").mkdir()
    source = script.read_text(encoding="utf-8")
    exec(
        compile(source, str(script), "exec"), {"__name__": "__main__", "__file__": str(tmp_path / "examples" / "x.py")}
    )
    for name in ("records", "groups", "levels"):
        assert (tmp_path / "images" / f"{name}.svg").read_text() == (DOCS / "images" / f"{name}.svg").read_text()
