"""The guards of the house: rooms in their order, every name documented, nothing heavy behind a plain import."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import sfumato
from sfumato._packages import PACKAGES

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "sfumato"
ORDER = list(PACKAGES)
MODULES = sorted(module.name for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."))


def room_of(module):
    return module.split(".")[1]


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """The modules of sfumato that a file imports anywhere, also inside functions and for types alone."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "sfumato")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sfumato":
            names = [alias.name for alias in node.names]
            yield from (
                [f"sfumato.{name}" for name in names if name in PACKAGES] if node.module == "sfumato" else [node.module]
            )


def test_no_import_between_rooms_points_back():
    backwards, looked = [], 0
    for path in SOURCES.rglob("*.py"):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        if parts in (("__init__",), ("__main__",)):
            continue
        for module in imported(path):
            looked += 1
            if module != "sfumato" and ORDER.index(room_of(module)) > ORDER.index(parts[0]):
                backwards.append(f"{'/'.join(parts)} imports {module}")
    assert looked > 1000
    assert backwards == []


def test_every_file_and_folder_of_the_package_is_a_room():
    names = {path.stem for path in SOURCES.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert names - {"__init__", "__main__", "__pycache__"} == set(PACKAGES)


def test_the_made_parts_of_the_docs_are_up_to_date():
    done = subprocess.run([sys.executable, "tools/docs.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"^\| `(\w+)` \|", page.split("<!-- made: packages -->")[1].split("<!-- end -->")[0], re.MULTILINE
    )
    assert shown == ORDER


def test_every_public_name_has_a_docstring_and_stands_in_the_reference():
    page = (ROOT / "docs" / "reference" / "names.md").read_text(encoding="utf-8")
    for name in sfumato.__all__:
        thing = getattr(sfumato, name)
        if inspect.isclass(thing) or callable(thing):
            assert (thing.__doc__ or "").strip() and not thing.__doc__.startswith(f"{name}("), f"{name} says what it is"
        assert f"| `{name}` |" in page


@pytest.mark.parametrize("room", ORDER)
def test_all_doctests_of_a_room_hold(room):
    modules = [name for name in MODULES if name.split(".")[1] == room]
    assert modules, room
    for name in modules:
        failed, _ = doctest.testmod(importlib.import_module(name))
        assert failed == 0, name


def test_make_quick_runs_what_is_marked_and_so_goes_through_every_room():
    """Every room has a case of the test above, which is marked; names of files in the Makefile would grow stale."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    pattern = re.search(r'^QUICK = \$\(shell grep -l "(.+)" tests/test_\*\.py\)$', makefile, re.MULTILINE)
    assert pattern is not None and "-m quick $(QUICK)" in makefile
    files = (ROOT / "tests").glob("test_*.py")
    marked = {path.name for path in files if re.search(pattern[1], path.read_text(encoding="utf-8"), re.MULTILINE)}
    assert Path(__file__).name in marked and len(marked) > 5
    named = re.findall(r"tests/(\w+\.py)", makefile)
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []


def test_there_are_doctests_at_all():
    finder = doctest.DocTestFinder()
    modules = (importlib.import_module(name) for name in MODULES)
    assert sum(len(found.examples) for module in modules for found in finder.find(module)) >= 20


HEAVY = ("numba", "numpy", "pyarrow", "duckdb", "sklearn", "scipy", "altair", "pymoo", "opendp", "pandas", "jinja2")


@pytest.mark.parametrize("what", ["import sfumato", "import sfumato.commands.app"])
def test_importing_loads_nothing_heavy(what):
    code = f"import sys; {what}; print(*sorted({{name.split('.')[0] for name in sys.modules}} & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


ROW_MODULES = ("duckdb", "pyarrow.csv", "pyarrow.parquet", "pyarrow.json", "pyarrow.dataset", "pyarrow.feather")


def test_only_engines_touch_rows_and_their_files():
    """DuckDB and the file modules of Arrow stand behind the protocol; tables in memory may be Arrow's everywhere."""
    outside = []
    for path in SOURCES.rglob("*.py"):
        if path.relative_to(SOURCES).parts[0] != "engines":
            for node in ast.walk(parsed(path)):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
                outside += [f"{path.name} imports {name}" for name in names if name in ROW_MODULES]
    assert outside == []


def test_no_folder_has_more_files_side_by_side_than_a_stranger_can_look_through():
    for folder in [SOURCES, *(path for path in SOURCES.rglob("*") if path.is_dir())]:
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 30, folder


def test_no_two_classes_are_called_by_one_name():
    places = defaultdict(list)
    for path in SOURCES.rglob("*.py"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCES)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_what_the_page_on_extending_says_works_as_it_stands(tmp_path):
    """In a process of its own, since it adds to the lists of anonymizers, requirements and measures."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    code += "\nfrom sfumato.tradeoff.catalogue import catalogue, find\n"
    code += "assert find('runs') and find('no-majority') and find('size_spread')\n"
    code += "assert catalogue()['anonymizers']['runs']['properties']['length']['minimum'] == 1\n"
    file = tmp_path / "extending.py"
    file.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
