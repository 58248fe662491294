"""Configuration of Sphinx. A build needs no network: links to other projects stay plain text."""

import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from markdown_it import MarkdownIt  # comes with rich, which the package needs anyway
from sphinx_gallery.sorting import ExplicitOrder

import widemargin

project = "widemargin"
author = "The widemargin developers"
copyright = author
version = release = widemargin.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",  # tests/test_documentation.py runs the examples
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "sg_execution_times.rst"]
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections say it in words
numpydoc_show_class_members = False  # the class template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_decision_boundary.py",
            "plot_margin_distributions.py",
            "plot_certificate.py",
            "plot_parameter_search.py",
            "plot_linear_solvers.py",
            "plot_multiclass_text.py",
            "plot_gossip.py",
            "plot_partitions.py",
            "plot_levels.py",
            "plot_early_prediction.py",
        ]
    ),
    "min_reported_time": 1e9,
    "show_memory": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"widemargin {release}"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {
    "index": [],
    "install": [],
    "architecture": [],
    "glossary": [],
    "bibliography": [],
    "contributing": [],
    "changelog": [],
    "decisions": [],
}
html_show_sourcelink = False


class MarkdownFile(Directive):
    """Show a Markdown file of the repository, without its title; the page has one."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        page = Path(self.state.document.current_source)
        path = (page.parent / self.arguments[0]).resolve()
        self.state.document.settings.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8").split("\n", 1)[1]
        html = MarkdownIt("commonmark").enable("table").render(text)
        html = html.replace("<table>", '<table class="table">')
        return [nodes.raw("", html, format="html")]


def join_continued_lines(app, what, name, obj, options, lines):
    """Undo backslashes at the end of a line, which raw docstrings keep."""
    lines[:] = re.sub(r"\\\n\s*", "", "\n".join(lines)).split("\n")


def setup(app):
    app.connect("autodoc-process-docstring", join_continued_lines, priority=400)  # then numpydoc
    app.add_directive("markdown-file", MarkdownFile)
    return {"parallel_read_safe": True}
