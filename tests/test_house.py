"""The house: imports point one way, importing is light, public names are documented."""

import ast
import functools
import importlib
import inspect
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import formulakern

PACKAGE = Path(formulakern.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

#: Rooms that may import each other's modules downwards only; rooms of one storey not at all.
STOREYS = (
    (
        "arrays",
        "errors",
        "checks",
        "cache",
        "compilation",
        "deadline",
        "docstrings",
        "grammar",
        "interrupts",
        "markup",
        "optional",
        "progress",
        "registry",
        "text",
    ),
    ("partitions", "syntax", "program", "solvers"),
    ("tables",),
    ("encoding", "files", "rewrite", "semantics"),
    ("backends", "mining", "rules", "measures"),
    ("gram",),
    ("kernels",),
    ("learning", "display"),
    ("estimators", "datasets", "plot"),
    ("cli",),
    ("__main__",),
)
STOREY = {room: height for height, rooms in enumerate(STOREYS) for room in rooms}


def room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


@functools.cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@functools.cache
def imports(module: str, *, type_checking: bool) -> dict[str, int]:
    """Modules of the package that a module imports, anywhere in it, with the line."""
    found: dict[str, int] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            if type_checking:
                for child in node.body:
                    visit(child)
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "formulakern":
                    found.setdefault(name.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: write imports in full"
            if (node.module or "").split(".")[0] == "formulakern":
                for name in node.names:
                    whole = f"{node.module}.{name.name}"
                    found.setdefault(whole if whole in MODULES else node.module, node.lineno)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):  # else it holds no statement
                visit(child)

    visit(tree(module))
    return found


def test_imports_point_to_earlier_rooms():
    wrong = []
    for module in MODULES:
        if (here := room(module)) is None:
            continue
        assert here in STOREY, f"{here} is not in the plan of the house"
        for target, line in imports(module, type_checking=True).items():
            there = room(target)
            if there is None:
                allowed = here == "cli"  # the package itself
            else:  # the ground floor has an order of its own, without a cycle
                allowed = STOREY[there] < STOREY[here] or there == here
                allowed = allowed or STOREY[here] == STOREY[there] == 0
            if not allowed:
                wrong.append(f"{module}:{line} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_order_inside_rooms():
    """In every folder, files and sub-packages import each other in one direction only."""
    graph: dict[str, set[str]] = {}
    for module in MODULES:
        for target in imports(module, type_checking=True):
            folder, ours, theirs = "formulakern", module.split(".")[1:], target.split(".")[1:]
            while ours and theirs and ours[0] == theirs[0]:  # the folder that holds both
                folder, ours, theirs = f"{folder}.{ours[0]}", ours[1:], theirs[1:]
            if ours and theirs:
                graph.setdefault(f"{folder}.{ours[0]}", set()).add(f"{folder}.{theirs[0]}")
    _assert_acyclic(graph)


@pytest.mark.parametrize("type_checking", [False, True])
def test_no_cycles(type_checking):
    """Imports between modules; those for type checking count between subpackages above."""
    if type_checking:
        graph: dict[str, set[str]] = {}
        for module in MODULES:
            if (here := room(module)) is not None:
                targets = {room(t) for t in imports(module, type_checking=True)}
                graph.setdefault(here, set()).update(t for t in targets if t and t != here)
    else:
        graph = {
            module: set(imports(module, type_checking=False)) - {module}
            for module in MODULES
            if module != "formulakern"
        }
    _assert_acyclic(graph)


def _assert_acyclic(graph: dict[str, set[str]]) -> None:
    done: set[str] = set()
    trail: list[str] = []

    def visit(node: str) -> None:
        assert node not in trail, " → ".join([*trail[trail.index(node) :], node])
        if node not in done:
            trail.append(node)
            for target in sorted(graph.get(node, ())):
                visit(target)
            done.add(trail.pop())

    for node in graph:
        visit(node)


def test_emitted_code_names_earlier_rooms():
    """It imports nothing, and names Python's own functions and those that it is given."""
    from formulakern.backends.evaluation import NAMES

    texts = [
        "(a & ~b) | c",
        "all[3](any[2](x))",
        "a:g & b:h",
        " & ".join(f"x{i}" for i in range(40)),
    ]
    for text, reading in itertools.product(texts, ["bound", "distinct"]):
        for scale in ("count", "probability"):
            (function,) = ast.parse(formulakern.kernel(text, reading, scale=scale).source).body
            assert isinstance(function, ast.FunctionDef)
            nodes = list(ast.walk(function))
            assert not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes)
            names = [node for node in nodes if isinstance(node, ast.Name)]
            own = {argument.arg for argument in function.args.args}
            own |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
            assert {name.id for name in names} - own - {"float", "max"} <= NAMES.keys()
    for value in NAMES.values():
        module = getattr(value, "__module__", None)
        if module is not None:  # else a number
            assert STOREY[room(module)] <= STOREY["backends"]


HEAVY = {
    "numba", "llvmlite", "sympy", "sklearn", "scipy", "pandas", "polars", "lark", "rich", "jinja2",
}  # fmt: skip


def _loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=900
    )
    return set(done.stdout.split())


def test_importing_loads_nothing_heavy():
    assert _loaded_after("import formulakern") & (HEAVY | {"numpy"}) == set()


def test_using_loads_what_is_used():
    code = """
import formulakern as fk
k = fk.kernel("a & ~b")
k([[1, 0, 1], [0, 1, 1]])
k.dimension(3), fk.rule("x = 3")({"x": [1, 3]})
"""
    loaded = _loaded_after(code)
    assert loaded & HEAVY - {"llvmlite", "lark"} == set()


def test_rules_predict_without_their_learners():
    code = """
import importlib, pkgutil, formulakern as fk, formulakern.rules
for module in pkgutil.walk_packages(formulakern.rules.__path__, "formulakern.rules."):
    importlib.import_module(module.name)
vote = fk.WeightedRule(fk.rule("odor = foul"), 2.0, "poisonous", "edible")
made = fk.RuleEnsemble.of([vote], ("edible", "poisonous"), [1.0, 0.0])
read = fk.RuleEnsemble.from_json(made.to_json())
assert read.predict({"odor": ["foul", "none"]}).tolist() == ["poisonous", "edible"]
"""
    assert _loaded_after(code) & HEAVY == {"lark"}  # the grammar of rules


def test_public_names_resolve():
    for name in formulakern.__all__:
        value = getattr(formulakern, name)
        assert name in dir(formulakern)
        if name != "__version__":
            assert inspect.getdoc(value), name


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="attribute nothing"):
        _ = formulakern.nothing


def test_public_objects_are_documented():
    """Whatever a module defines without an underscore; lists of names are for public modules."""
    missing = []
    for module, path in MODULES.items():
        loaded = importlib.import_module(module)
        objects = {module: loaded}
        exported = getattr(loaded, "__all__", [])
        assert all(hasattr(loaded, name) for name in exported), module
        if path.name != "__init__.py":
            assert exported == sorted(exported, key=_export_order), module
        for name, value in vars(loaded).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module:
                continue
            if inspect.isclass(value) or inspect.isroutine(value):
                objects[f"{module}.{name}"] = value
            if inspect.isclass(value):
                for member, attribute in vars(value).items():
                    if not member.startswith("_") and inspect.isroutine(attribute):
                        objects[f"{module}.{name}.{member}"] = getattr(value, member)
        missing += [name for name, value in objects.items() if not inspect.getdoc(value)]
    assert not missing, "\n".join(missing)


def _export_order(name: str) -> tuple[int, str]:
    """The order that ruff keeps: CONSTANTS, Classes, functions."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


#: Words that no name in the package contains; the names of today say what a thing is or does.
OLD_WORDS = frozenset(
    {
        "answered", "answers", "asked", "beside", "patience", "pieced", "pieces", "said",
        "showing", "spread", "surprises", "tell", "telling", "together", "told", "trials",
    }
)  # fmt: skip
#: Whole names that were too short or had several meanings.
OLD_NAMES = frozenset(
    {
        "BUDGET", "CLOSELY", "EARLY", "ENOUGH", "FEW", "HARD", "HUGE", "LARGE", "LARGEST", "LAST",
        "LEAST", "LONG", "LONGEST", "LOOKED_AT", "MANY", "MOST", "NEARLY", "READING", "ROOM",
        "SHORT", "SHOWN", "SMALL", "TINY", "TOP", "_HOW",
        "CountedFill", "DividedRows", "Few", "FewFeatures", "FewVotes", "Fill", "FirstRule",
        "GroupedRows", "How", "Made", "Part", "Problems", "Question", "Task", "Text", "Unread",
        "WeighedRows", "Written", "WrittenRules",
        "advice", "answer", "bare", "class_scores", "contrary", "crossing", "drawn", "few",
        "filling", "in_words", "leaks", "letters_of", "lines_below", "long_fits", "made",
        "measured", "no_letter", "on_pieces", "pace", "pairs", "parted", "put", "spread_out",
        "standing_out", "targets", "tell_apart", "turn", "turn_squares", "weighed",
        "warn_if_told",
    }
)  # fmt: skip
#: Classes of one meaning, which one module defines.
ONE_MEANING = ("Choice", "Comparison", "Problem", "TrainingRows")


DEFINITIONS = (ast.ClassDef, ast.FunctionDef)


def _defined(module: str) -> list[str]:
    """The module's name, and its classes, functions, methods and constants."""
    body = tree(module).body
    names = [node.name for node in ast.walk(tree(module)) if isinstance(node, DEFINITIONS)]
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            inside = itertools.chain.from_iterable(map(ast.walk, targets))
            names += [target.id for target in inside if isinstance(target, ast.Name)]
    return [module.rpartition(".")[2], *names]


def test_old_names_do_not_come_back():
    wrong, defined = [], []
    for module in MODULES:
        for name in _defined(module):
            words = {word.lower() for word in re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
            if name in OLD_NAMES or words & OLD_WORDS:
                wrong.append(f"{module}: {name}")
            defined.append(name)
    assert not wrong, "\n".join(wrong)
    assert [name for name in ONE_MEANING if defined.count(name) > 1] == []
