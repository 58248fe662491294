"""Configuration of Sphinx. Neither a build nor a reader needs a network.

Formulas are MathML, which browsers draw themselves. Links to other projects come from the tables in
``inventories/``, which list the names that these pages mention.
"""

import inspect
import re
import tempfile
import zlib
from importlib import import_module
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.utils.math import latex2mathml
from markdown_it import MarkdownIt  # comes with rich, which the package needs anyway
from sphinx.directives.patches import CSVTable
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
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "sg_execution_times.rst"]
nitpicky = False
suppress_warnings = ["config.cache"]  # a function for the templates is not kept between builds

html_math_renderer = "mathml"


def inventory(path: Path) -> str:
    """Write a table of names as Sphinx's inventories are written; return the file."""
    project, *names = path.read_text(encoding="utf-8").splitlines()
    header = f"# Sphinx inventory version 2\n# Project: {project}\n# Version:\n# (zlib)\n"
    file = Path(tempfile.mkdtemp()) / path.name
    file.write_bytes(header.encode() + zlib.compress("\n".join([*names, ""]).encode()))
    return str(file)


INVENTORIES = Path(__file__).parent / "inventories"
intersphinx_mapping = {
    "sklearn": ("https://scikit-learn.org/stable", inventory(INVENTORIES / "sklearn.txt")),
    "python": ("https://docs.python.org/3", inventory(INVENTORIES / "python.txt")),
    "numpy": ("https://numpy.org/doc/stable", inventory(INVENTORIES / "numpy.txt")),
    "spark": (
        "https://spark.apache.org/docs/latest/api/python",
        inventory(INVENTORIES / "spark.txt"),
    ),
}


def methods_of(module: str, name: str) -> list[str]:
    """Return the public methods that classes of this library define for a class, in their order."""
    found: dict[str, None] = {}
    cls = import_module(module)
    for part in name.split("."):
        cls = getattr(cls, part)
    for base in cls.__mro__:
        if base.__module__.startswith("widemargin"):
            found |= {k: None for k, v in vars(base).items() if not k.startswith("_") and _shown(v)}
    return list(found)


def _shown(member: object) -> bool:
    return isinstance(member, classmethod | staticmethod) or (
        inspect.isfunction(member) and bool(member.__doc__)
    )


autosummary_generate = True
autosummary_context = {"methods_of": methods_of}
autodoc_typehints = "none"  # numpydoc sections say it in words
numpydoc_show_class_members = False  # the class template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_quick_start.py",
            "plot_auto.py",
            "plot_decision_boundary.py",
            "plot_margin_distributions.py",
            "plot_certificate.py",
            "plot_parameter_search.py",
            "plot_linear_solvers.py",
            "plot_multiclass_text.py",
            "plot_multiclass_odm.py",
            "plot_all_classes.py",
            "plot_quantile_band.py",
            "plot_linear_quantiles.py",
            "plot_novelty.py",
            "plot_updates.py",
            "plot_shapley.py",
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


class RecordTable(CSVTable):
    """A csv-table of a paper's record, left out where nobody has written it yet."""

    def run(self) -> list[nodes.Node]:
        page = Path(self.state.document.current_source)
        return super().run() if (page.parent / self.options["file"]).exists() else []


def join_continued_lines(app, what, name, obj, options, lines):
    """Undo backslashes at the end of a line, which raw docstrings keep."""
    lines[:] = re.sub(r"\\\n\s*", "", "\n".join(lines)).split("\n")


def mathml(formula: str, as_block: bool = False) -> str:
    """Return a formula as MathML.

    docutils reads digits together, LaTeX one by one: \\tfrac12 is a half.
    """
    formula = re.sub(r"(\\[td]?frac)(\d)(?:(\d)|(?=[\\{]))", _braced, formula.strip())
    return latex2mathml.tex2mathml(formula, as_block=as_block)


def _braced(found: re.Match[str]) -> str:
    name, above, below = found.groups()
    return f"{name}{{{above}}}" + (f"{{{below}}}" if below else "")


def inline_formula(translator, node):
    """Write a formula in a sentence."""
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def displayed_formula(translator, node):
    """Write a formula on lines of its own."""
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    translator.body.append(mathml(node.astext(), as_block=True))
    translator.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("autodoc-process-docstring", join_continued_lines, priority=400)  # then numpydoc
    app.add_directive("markdown-file", MarkdownFile)
    app.add_directive("record-table", RecordTable)
    return {"parallel_read_safe": True}
