# The README's two commands. Both set everything up on a fresh machine: a virtual environment in .venv, the package.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick clean

# What a person waits for between two edits: the files of tests that are marked so, which go through every room and explore
# no bundled table. They are looked for, not listed, since a list that names a file that is gone runs nothing at all.
QUICK = $(shell grep -l "^pytestmark = pytest.mark.quick" tests/test_*.py)

demo: $(VENV)/.installed
	$(BIN)/sfumato explore adult --out demo

test: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/pytest -n 2 --dist worksteal

quick: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n 2 --dist worksteal -q -m quick $(QUICK)

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@

clean:
	rm -rf $(VENV) demo
