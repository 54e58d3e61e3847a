"""How the pages of this folder become a site: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

import chainveil

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "chainveil"
author = "the chainveil developers"
release = version = chainveil.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "notebooks", "public_names"]
exclude_patterns = [
    "reproduction/**",
    "figures/**",
    "tables/**",
    "extensions/**",
    "notebooks/run.py",
]
suppress_warnings: list[str] = []

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Members are listed by autodoc, with the classes that they belong to.
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"chainveil {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# The same pages from the same sources: no date, and no name of whoever builds them.
html_last_updated_fmt = None
html_show_copyright = False
