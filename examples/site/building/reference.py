"""A page for every public object, in the groups of ``formulakern/__init__.pyi``."""

import ast
import inspect
import re
import sys
from pathlib import Path

import formulakern

STUB = Path(formulakern.__file__).with_suffix(".pyi")
GROUPS = {
    "": ("Modules", "Pictures, data, measures, and the cache on disk."),
    "syntax": ("Formulas", "Formulas and their operations."),
    "kernels": ("Kernels", "Functions of two tables, made from formulas."),
    "estimators": ("Estimators", "Learners with the interface of scikit-learn, and their results."),
    "rules": ("Rules", "Learned rules, in the words of the table."),
    "tables": ("Tables", "The table that every estimator and rule reads."),
    "partitions": ("Beyond memory", "The limit of packed rows that move to the local process."),
    "files": ("Models as files", "Functions that read the files of ``save``."),
    "solvers": ("Games", "The solvers of preference learning, for any game."),
    "errors": ("Errors", "All of them are :class:`~formulakern.FormulaKernError`."),
}

#: The parameters of estimators that most people set; the pages list the others below them.
COMMON = {
    "C", "Cs", "additivity", "candidates", "class_weight", "column", "cut_points", "cv", "degree",
    "directions", "encoder", "epsilon", "features", "formula", "formulas", "kernel", "learner",
    "max_conditions", "max_rules", "method", "missing", "monotone", "n_components", "nominal", "nu",
    "numeric", "ordinal", "random_state", "selection", "strategy", "time_limit", "variables",
    "verbose",
}  # fmt: skip


def public() -> dict[str, list[str]]:
    """Return the public names in the stub, by their subpackage."""
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            room = (node.module or "").split(".")[0]
            groups[room] += [alias.asname or alias.name for alias in node.names]
    return groups


def members(name: str) -> list[str]:
    """Return the public names of a module's ``__all__``, beginning with the module's own."""
    value = getattr(formulakern, name)
    if not inspect.ismodule(value):
        return []
    sys.modules.setdefault(f"formulakern.{name}", value)
    return [f"{name}.{member}" for member in value.__all__]


def find(name: str) -> object:
    """Return the public object of a name such as ``boolean.dnf``."""
    value: object = formulakern
    for part in name.split("."):
        value = getattr(value, part)
    return value


def methods(cls: type) -> tuple[list[str], list[str]]:
    """Return public methods and properties of the library, and those of scikit-learn."""
    ours, theirs = [], []
    for name in dir(cls):
        attribute = inspect.getattr_static(cls, name)
        if name.startswith("_"):
            continue
        owner = next(parent for parent in cls.__mro__ if name in vars(parent))
        if isinstance(attribute, type) or inspect.ismemberdescriptor(attribute):
            continue  # fields, documented as parameters
        if not hasattr(attribute, "__get__"):
            continue
        if type(attribute).__module__.startswith("sklearn"):  # set_fit_request and similar ones
            theirs.append(name)
        elif owner.__module__.startswith("formulakern"):
            ours.append(name)
        elif owner.__module__.startswith("sklearn"):
            theirs.append(name)
    if any("__call__" in vars(parent) for parent in cls.__mro__):
        ours.insert(0, "__call__")
    return ours, theirs


def page(name: str) -> str:
    """Return the text of the page of an object."""
    value = find(name)
    whole = f"formulakern.{name}"
    module, _, last = whole.rpartition(".")
    title = f"{whole}\n{'=' * len(whole)}\n\n.. currentmodule:: {module}\n\n"
    if inspect.ismodule(value):
        return f"{title}.. automodule:: {whole}\n\n{listing(members(name))}"
    if not callable(value):
        keys = ", ".join(f"``{key}``" for key in value)
        return f"{title}.. py:data:: {last}\n\n   A mapping with the keys {keys}.\n"
    if not inspect.isclass(value):
        return f"{title}.. autofunction:: {last}\n"
    if issubclass(value, Exception):
        return f"{title}.. autoexception:: {last}\n   :show-inheritance:\n"
    ours, theirs = methods(value)
    text = f"{title}.. autoclass:: {last}\n"
    text += f"   :members: {', '.join(ours)}\n" if ours else ""
    if theirs:
        listed = ", ".join(f"``{method}``" for method in theirs)
        text += f"\n.. rubric:: From scikit-learn\n\nIt also has {listed}.\n"
    return text


def group_parameters(app, what, name, value, options, lines) -> None:
    """Move the parameters of an estimator that few people set behind the others."""
    del app, options
    text = "\n".join(lines)
    if what != "class" or not hasattr(value, "fit") or name.count(".") > 1:
        return
    before, _, rest = text.partition("Parameters\n----------\n")
    end = re.search(r"\n(?=\w[\w ]*\n---)", rest)
    own, after = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    entries = [entry for entry in re.split(r"^(?=\S)", own, flags=re.MULTILINE) if entry.strip()]
    groups: dict[bool, list[str]] = {True: [], False: []}
    for entry in entries:
        names = entry.partition(" : ")[0].split(", ")
        groups[bool(COMMON.intersection(names))].append(entry.rstrip() + "\n")
    text = f"{before}Parameters\n----------\n{''.join(groups[True])}"
    if groups[False]:
        text += f"\nOther Parameters\n----------------\n{''.join(groups[False])}"
    lines[:] = f"{text}{after}".split("\n")


def summary(name: str) -> str:
    """Return the first sentence of the docstring of an object."""
    value = find(name)
    text = (inspect.getdoc(value) or "") if callable(value) or inspect.ismodule(value) else ""
    return " ".join(text.split("\n\n")[0].split())


def listing(names: list[str], caption: str = "") -> str:
    """Return a table of objects with their first sentences, and their entries in the menu."""
    text = ".. list-table::\n   :widths: 35 65\n\n"
    for name in names:
        last = name.rpartition(".")[2]
        text += f"   * - :doc:`{last} </generated/reference/formulakern.{name}>`\n"
        text += f"     - {summary(name)}\n"
    text += "\n.. toctree::\n   :hidden:\n" + (f"   :caption: {caption}\n" if caption else "")
    for name in names:
        text += f"\n   {name.rpartition('.')[2]} </generated/reference/formulakern.{name}>"
    return text + "\n\n"


def index() -> str:
    """Return the page that lists all objects."""
    text = "Reference\n=========\n\n.. currentmodule:: formulakern\n\n"
    text += "All public names of ``import formulakern as fk``.\n\n"
    for group, names in public().items():
        if not names:
            continue
        title, sentence = GROUPS[group]
        text += f"{title}\n{'-' * len(title)}\n\n{sentence}\n\n{listing(names, title)}"
    return text


def pages() -> dict[str, str]:
    """Return the texts of all pages, by file name."""
    names = [name for names in public().values() for name in names]
    names += [member for name in names for member in members(name)]
    return {f"formulakern.{name}.rst": page(name) for name in names} | {"index.rst": index()}


def write(folder: Path, texts: dict[str, str]) -> None:
    """Write files; unchanged files are left alone, so that Sphinx does not build them again."""
    for path in folder.glob("reference/*.rst"):
        if f"reference/{path.name}" not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
