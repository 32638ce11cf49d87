# The README's two commands. Both set everything up on a fresh machine: a virtual environment in .venv, the package.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed is compiled when it is first imported: most of it never is.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo test quick docs clean

# What a person waits for between two edits: the files of tests that are marked so, which go through every room and explore
# no bundled table. They are looked for, not listed, since a list that names a file that is gone runs nothing at all.
QUICK = $(shell grep -l "^pytestmark = pytest.mark.quick" tests/test_*.py)

demo: $(VENV)/.installed
	$(BIN)/sfumato explore adult --out demo

# Types are checked beside the tests, since that takes one processor alone for a minute; what is wrong is said at the end.
TYPES = $(VENV)/types.txt
test: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict > $(TYPES) 2>&1 & types=$$!; $(BIN)/pytest -n 2 --dist worksteal; tests=$$?; \
	wait $$types; types=$$?; cat $(TYPES); test $$types -eq 0 -a $$tests -eq 0

quick: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n 2 --dist worksteal -q -m quick $(QUICK)

docs: $(VENV)/.documented
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs

$(VENV)/.documented: $(VENV)/.installed
	$(PIP) --group docs
	touch $@

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --editable .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(PIP) --group dev
	touch $@

clean:
	rm -rf $(VENV) demo
