"""What a kill between two renames would leave: looked at after each of them."""

from pathlib import Path


def watched_renames(monkeypatch, look):
    """Let a function look after every rename from now on; return the list to which the new names are added."""
    rename, seen = Path.replace, []

    def watched(draft, target):
        done = rename(draft, target)
        look()
        seen.append(Path(target).name)
        return done

    monkeypatch.setattr(Path, "replace", watched)
    return seen
