"""How the site is built: ``python -m sphinx -n -W --keep-going -b html docs build/docs``.

Nothing here needs the network. Types in docstrings are agnograd's own names, terms of the
glossary, or those of Python and other libraries, which are left without a link.
"""

import importlib
import re
import sys

from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import agnograd as ag

project = "agnograd"
release = ag.__version__
version = release.rpartition(".")[0]  # a site has one folder for all patches of a minor version
author = copyright = "the authors of agnograd"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_external_toc",
]
exclude_patterns = ["reports"]

# Pages are plain Markdown, which reads as well on a code host; where each one stands on the site is
# in _toc.yml.
myst_heading_anchors = 3
external_toc_path = "_toc.yml"

# The reference: docstrings are numpydoc's, and `__all__` says what is public.
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # a docstring's own types say more: shapes, terms, what None means
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a field may be a member, too
napoleon_use_rtype = False
napoleon_preprocess_types = True
# Types that are words, each explained in the glossary; builtins and agnograd's own find themselves.
napoleon_type_aliases = {
    word: f":term:`{word}`"
    for word in (
        *("array", "callable", "device", "domain", "dtype", "handle", "iterable", "key"),
        *("mapping", "mark", "namespace", "nested list", "pytree", "scalar", "sequence"),
    )
}

# What is neither agnograd's nor a builtin; inventories of other sites would need the network.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|os|contextlib|inspect|types|typing|pluggy)\..*"),
    ("py:.*", r"(click|matplotlib|rich|tqdm)\..*"),
    ("py:class", "Path"),
]

html_theme = "furo"
html_title = "agnograd"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",  # ours: other versions of the same page
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# Where each public name is documented: in agnograd, or the first of its modules that has it.
SUBMODULES = (
    *("autodiff", "bridge", "certify", "errors", "extend", "extend.transforms"),
    *("extend.members", "extend.arguments", "extend.entry_points", "testing"),
)
NAMES = {
    name: f"{module}.{name}"
    for module in (*(f"agnograd.{name}" for name in SUBMODULES[::-1]), "agnograd")
    for name in importlib.import_module(module).__all__
}


# Namespaces are modules: the one over NumPy stands for all of them, as the module ``xp``.
xp = ag.namespace("numpy")
sys.modules |= {"xp": xp, "xp.nn": xp.nn, "xp.random": xp.random}

# An array's type with what numpydoc has behind it, such as its shape: ``x : array, shape (n,)``.
ARRAY = re.compile(r"^( *)((?:[\w, ]+ : )?array), (?!optional)(.+?)(, optional)?$")


def prepare(
    app: Sphinx, what: str, name: str, member: object, options: object, lines: list[str]
) -> None:
    """Put the shapes of arrays into the text, since a type is made only of words."""
    if what == "property":  # what is before a colon would be taken for its type
        lines[:1] = [f": {line}" for line in lines[:1]]
    for index in range(len(lines) - 1, -1, -1):
        if found := ARRAY.match(lines[index]):
            indent, start, rest, optional = found.groups()
            text = re.sub(r"\([^()]*\)", r"``\g<0>``", rest[0].upper() + rest[1:])
            lines[index : index + 1] = [f"{indent}{start}{optional or ''}", f"{indent}    {text}."]


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: Element
) -> Element | None:
    """Link a public name that a docstring gives without its module."""
    full = NAMES.get(node.get("reftarget", ""))
    if node.get("refdomain") != "py" or full is None:
        return None
    domain = env.domains["py"]
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, content)


def skip(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool:
    """Leave out what says nothing to a reader: a plugin's own hooks, and fields without a text."""
    own_hook = hasattr(member, "agnograd_impl")
    return skip or own_hook or (member.__doc__ or "").startswith("Alias for field number")


def setup(app: Sphinx) -> None:
    """Register what is special to these pages."""
    app.connect("autodoc-process-docstring", prepare, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
