"""The ceilings of the package's size. To raise one needs a sentence in the changelog that says why."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato

pytestmark = pytest.mark.quick

SOURCES = Path(sfumato.__file__).parent
FILES = sorted(SOURCES.rglob("*.py"))
CEILINGS = {"code lines": 58_000, "files": 327, "folders": 39, "import lines in %": 9.0, "public names": 90}


def lines_of(nodes):
    return {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def counted(path):
    """Count the lines of code and the import lines: neither blank, comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    bodies = [node.body for node in nodes if isinstance(getattr(node, "body", None), list)]
    documented = lines_of(child for body in bodies for child in body if is_text(child))
    imported = lines_of(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    written = {i for i, line in enumerate(text.splitlines(), 1) if line.strip() and not line.strip().startswith("#")}
    return len(written - documented), len((written - documented) & imported)


def test_the_package_stays_below_its_ceilings():
    lines, imports = (sum(column) for column in zip(*map(counted, FILES), strict=True))
    found = {
        "code lines": lines,
        "files": len(FILES),
        "folders": len({path.parent for path in FILES}),
        "import lines in %": 100 * imports / lines,
        "public names": len(sfumato.__all__),
    }
    assert {name: value for name, value in found.items() if value > CEILINGS[name]} == {}


def test_one_release_without_a_certificate_imports_few_modules(tmp_path):
    """Engines, anonymizers and extras are imported when they are used."""
    asked = ["anonymize", "adult", "--require", "k-anonymity k=10", "--to", "x.csv", "--no-certificate"]
    code = (
        f"import sys; sys.argv = ['sfumato', *{asked!r}]\nfrom sfumato.commands.app import _command\n"
        "assert _command() == 0 and 'pandas' not in sys.modules\n"
        "print('modules:', sum(name.split('.')[0] == 'sfumato' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout.rpartition("modules:")[2]) <= 170
