"""Pages: HTML made of templates that escape whatever is handed to them."""

from sfumato.pages.render import drawing, file, in_script, render, source

__all__ = ["drawing", "file", "in_script", "render", "source"]
