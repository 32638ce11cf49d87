"""sfumato: decide what to publish of data about people.

Make many releases of a table, measure each on the same scales of risk and utility, choose one, publish it, and prove
its promise.

    import sfumato

    table = sfumato.read("patients.csv", quasi=["age", "zip"], sensitive=["diagnosis"])
    release = sfumato.anonymize(table, "k-anonymity k=10")
    print(sfumato.measure(release)["loss"])
    release.to_csv("published.csv")
"""

__version__ = "0.3.0"


def _public_names() -> dict[str, str]:
    """Return the module of each public name from the stub next to this file, which type checkers read, too."""
    with open(f"{__file__}i", encoding="utf-8") as stub:  # noqa: PTH123 (pathlib is slow to import)
        imports = [line.split() for line in stub if line.startswith("from ")]
    return {name: module for _, module, *_, name in imports}


_MODULES = _public_names()
__all__: list[str] = sorted([*_MODULES, "__version__"])


def __getattr__(name: str) -> object:
    """Import a public name at its first use, so that `import sfumato` and `sfumato --help` are fast."""
    if name not in _MODULES:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = getattr(import_module(_MODULES[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
