"""The settings of the documentation site: `make docs` writes it to build/docs, readable offline.

The pages are plain Markdown that also reads well without the site. Two things are derived when a page is read: the
navigation, from the links of each `index.md`, and the names of files outside this folder, which the site does not have.
"""

import os
import re
from pathlib import Path

import sfumato

project = "sfumato"
release = version = sfumato.__version__
copyright = "the authors of sfumato"
extensions = ["myst_parser"]
exclude_patterns = ["conf.py"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "colon_fence"]
html_theme = "pydata_sphinx_theme"
html_title = "sfumato"
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
}
html_show_sourcelink = False
html_copy_source = False

DOCS = Path(__file__).resolve().parent
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def _prepared(app, name, source):
    """Hide a table of contents in every index, and show links that lead out of the documentation as names of files."""
    page = DOCS / f"{name}.md"

    def inside(link):
        if "://" in link[2] or (page.parent / link[2]).resolve().is_relative_to(DOCS):
            return link[0]
        return f"{link[1]} (`{os.path.relpath(page.parent / link[2], DOCS.parent)}`)"

    source[0] = LINK.sub(inside, source[0])
    if page.name == "index.md" or name == "decisions/README":
        pages = [link[2] for link in LINK.finditer(source[0]) if link[2].endswith(".md") and "://" not in link[2]]
        listed = "\n".join(dict.fromkeys(each.removesuffix(".md") for each in pages))
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{listed}\n```\n"


def setup(app):
    """Register the preparation of pages."""
    app.connect("source-read", _prepared)
