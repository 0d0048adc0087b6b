"""The kernel of a formula: the number of substitutions that are true in both rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.backends.evaluation import (
    MAX_EXACT_OPERATIONS,
    Choice,
    Scale,
    Task,
    check_backend,
    choose_backend,
    emit_pair,
)
from formulakern.backends.lookup import row_classes
from formulakern.backends.tables import BlockWriter, PairedTables, TablePair
from formulakern.checks import check_choice, check_no_keyword
from formulakern.docstrings import parameters_from
from formulakern.errors import MagnitudeError, ParameterError
from formulakern.gram.triple_index import Counts
from formulakern.kernels.algebra import Kernel, Section, n_columns
from formulakern.kernels.graded import GradedKernel, graded
from formulakern.program import FLOAT64_MAX, Program, choices, dimension, listing, upper_bound
from formulakern.rewrite import Rewriting, rewrite
from formulakern.semantics import READINGS, check_reading, lower
from formulakern.syntax.connectives import UNICODE
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.leaves import Choice as ChoiceLeaf
from formulakern.syntax.parser import parse
from formulakern.text import clip

if TYPE_CHECKING:
    import sympy

Reading = Literal["bound", "free", "distinct"]
Inputs = Literal["binary", "graded"]

#: What ``inspect`` says of the choice of a backend.
_CHOSEN = (
    "chosen for each pair of tables by what it costs: the compiled source above, lookup tables "
    "(one-hot data),\nor the interpreter where there is little to do"
)

#: Of formulas of at most so many characters or leaves, the last ones are not prepared again.
SHORT = 200

#: Kernels whose exact integers would have more bits than this are refused: every literal has some,
#: and a rounding error of its own.
MAX_BITS = 1 << 32

#: Steps of a rewriting pass, lines of a tree and of the source, and characters that are shown.
MAX_STEPS, MAX_TREE_LINES, MAX_SOURCE_LINES, MAX_TEXT = 12, 40, 90, 400

#: Words that other parameters take, and that nobody means as a formula.
KEYWORDS = {
    "variables": ("bound", "free", "distinct"),
    "inputs": ("binary", "graded"),
    "scale": ("count", "probability"),
    "backend": ("interpreter", "lookup", "numba"),
}
#: The parameters of a formula's kernel beside the formula, and their defaults.
_DEFAULTS = {"variables": "bound", "domains": {}, "scale": "count", "backend": "auto"}


@overload
def kernel(
    formula: str | Formula,
    variables: Reading = ...,
    *,
    domains: Mapping[str, Any] | None = ...,
    scale: Scale = ...,
    backend: str = ...,
    inputs: Literal["binary"] = ...,
) -> FormulaKernel: ...
@overload
def kernel(
    formula: str | Formula,
    variables: Reading = ...,
    *,
    domains: Mapping[str, Any] | None = ...,
    scale: Scale = ...,
    backend: str = ...,
    inputs: Inputs,
) -> FormulaKernel | GradedKernel: ...
def kernel(
    formula: str | Formula,
    variables: Reading = "bound",
    *,
    domains: Mapping[str, Any] | None = None,
    scale: Scale = "count",
    backend: str = "auto",
    inputs: Inputs = "binary",
) -> FormulaKernel | GradedKernel:
    """The kernel of a formula.

    A formula is a template: substitute a column of a 0/1 table for each of its variables and get
    one Boolean feature of a row.  The kernel is the inner product of these feature vectors,

        K(x, z) = the number of substitutions under which the formula is true in x and true in z.

    It is computed from the joint counts s = ⟨x,z⟩, p = ⟨x,x⟩, q = ⟨z,z⟩ and the number of columns
    n, without enumerating substitutions.

    Parameters
    ----------
    formula : str or Formula
        For example ``"(a & ~b) | c"``; see ``grammar/README.md`` for the language.
    variables : {"bound", "free", "distinct"}
        Which substitutions are counted.

        ``"bound"``: equal names are the same column, different names may be too.  Only variables
        on which the truth value depends are substituted, so the kernel depends on the Boolean
        function alone: ``a & (b | ~b)`` has the kernel of ``a``, not n times that.

        ``"distinct"``: as ``"bound"``, and different names are different columns; substitutions
        that give the same feature count once (Polato, Lauriola & Aiolli 2018).

        ``"free"``: every occurrence of a variable is substituted independently, whatever its name
        (Polato & Aiolli 2021).
    domains : mapping of str to columns, optional
        For formulas such as ``a:symptom & b:gene``: the columns of each domain, as names (when
        the table has names), positions, a slice, a range or a Boolean mask.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension of the feature space: the share of
        substitutions that are true in both rows, for formulas whose counts pass 1.8e308.
    backend : {"auto", "interpreter", "lookup", "numba"}
        How it is computed; ``inspect()`` and the command line say what "auto" chose and why.
    inputs : {"binary", "graded"}
        ``"binary"`` reads tables of 0 and 1, ``"graded"`` degrees of truth from 0 to 1, by
        :func:`formulakern.graded`.

    Returns
    -------
    FormulaKernel
        With graded inputs a GradedKernel.

    Raises
    ------
    FormulaSyntaxError
        If the text is not a formula.
    FormulaSizeError
        When it is first used, if counting it would need more than a stated amount of work (in the
        readings where names matter this is #P-hard in general).
    ParameterError
        If a parameter has an unknown value.

    References
    ----------
    Polato & Aiolli (2021), Propositional Kernels, Entropy 23(8):1020, doi:10.3390/e23081020.
    Polato, Lauriola & Aiolli (2018), A Novel Boolean Kernels Family for Categorical Data,
    Entropy 20(6):444, doi:10.3390/e20060444.

    Examples
    --------
    >>> import numpy as np
    >>> k = kernel("a & ~b")
    >>> x = np.array([[1, 1, 0], [0, 1, 0]])
    >>> k(x)
    array([[2., 1.],
           [1., 2.]])
    >>> k
    fk.kernel('a & ~b')
    >>> k.dimension(3)
    9
    """
    check_no_keyword("formula", formula, KEYWORDS)
    parsed = _parsed(formula) if isinstance(formula, str) else formula
    if not isinstance(parsed, Formula):
        raise ParameterError(
            f"a kernel is made of a str or a Formula; got {type(formula).__name__}. "
            "Write for example fk.kernel('a & ~b')."
        )
    check_choice("inputs", inputs, ("binary", "graded"))
    made = FormulaKernel(parsed, variables, domains or {}, scale, backend)
    return graded(made) if inputs == "graded" else made


def _parsed(text: str) -> Formula:
    return _parse_short(text) if len(text) <= SHORT else parse(text)


_parse_short = lru_cache(maxsize=256)(parse)
_rewrite_short = lru_cache(maxsize=256)(rewrite)
_lower_short = lru_cache(maxsize=256)(lower)


@parameters_from(kernel)
@dataclass(eq=False, repr=False)
class FormulaKernel(Kernel):
    """A kernel made of a formula; build it with :func:`kernel`.

    Parameters
    ----------
    formula : Formula
        The template.  All parameters are attributes.

    Examples
    --------
    >>> kernel("a & ~b", "distinct")([[1, 0, 1]], [[1, 0, 0], [1, 0, 1]])
    array([[1., 2.]])
    """

    formula: Formula
    variables: Reading = "bound"
    domains: Mapping[str, Any] = field(default_factory=dict)
    scale: Scale = "count"
    backend: str = "auto"

    def __post_init__(self) -> None:
        self.__dict__["domains"] = _read_domains(self.domains)
        check_reading(self.variables)
        check_backend(self.backend)
        check_choice("scale", self.scale, ("count", "probability"))

    @cached_property
    def rewriting(self) -> Rewriting:
        """The trace of rewrites from the formula to the form that is counted."""
        short = self.formula.n_leaves <= SHORT
        return (_rewrite_short if short else rewrite)(self.formula, self.variables)

    @cached_property
    def program(self) -> Program:
        """The arithmetic on joint counts.

        Raises
        ------
        FormulaSizeError
        """
        formula = self.rewriting.formula
        return (_lower_short if formula.n_leaves <= SHORT else lower)(formula, self.variables)

    @property
    def source(self) -> str:
        """The Python source that the numba backend compiles; no word of the formula is in it."""
        weighted = self.scale == "probability" and self.program.degrees is not None
        return emit_pair(self.program, weighted)

    def task(self, pair: TablePair) -> Task:
        """The program, to be evaluated on two tables."""
        return pair.remembered(self, self._task)

    def _task(self, pair: TablePair) -> Task:
        columns = tuple(pair.columns_of(name, self.domains) for name in self.program.domains)
        if self.variables == "distinct":
            self._check_disjoint(columns, pair.x.n_columns)
        tables = pair.tables(columns)
        self._check_choices(tables.sizes)
        task = Task(self.program, tables, self.scale)
        if task.bits > MAX_BITS:
            raise MagnitudeError(
                f"the integers of this formula have about {task.bits:.3g} bits; at more than "
                f"{MAX_BITS:,} the rounding errors of its literals would add up to more than a "
                "millionth of a value. Use a formula with fewer literals."
            )
        return task

    def choose(self, pair: TablePair) -> Choice:
        """The backend for two tables, and why."""
        return choose_backend(self.backend, self.task(pair))

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Lower, choose a backend, compile."""
        task = self.task(pair)
        return choose_backend(self.backend, task).backend.compile(task)

    def counts_of(self, pair: TablePair) -> PairedTables | None:
        """The counts of the domains, unless another backend is asked for."""
        return self.task(pair).tables if self.backend in ("auto", "lookup") else None

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        """Exact, rounded once; not implemented where the exact integers would take too long."""
        task = self.task(pair)
        operations = counts.same.size * len(task.program.kernel_nodes)
        if task.dtype is not np.int64 and operations > MAX_EXACT_OPERATIONS:
            raise NotImplementedError
        triples = (list(counts.s), list(counts.p), list(counts.q))
        return np.broadcast_to(task.values(triples), counts.same.shape)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """Exact, computed once for every different number of ones."""
        task = self.task(pair)
        ones, row_class = row_classes(task.tables.x_counts)
        values = task.values((list(ones),) * 3)
        return np.asarray(np.broadcast_to(values, ones.shape[1:])[row_class])

    def exactly_symmetric(self, pair: TablePair) -> bool:
        """Yes, where every number on the way is an integer that float64 holds."""
        return self.scale == "count" and self.task(pair).bound < 2**53

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """The number of substitutions, an exact integer.

        Parameters
        ----------
        n : int or mapping
            The number of columns of every domain, or of each by name (None: all columns).

        Examples
        --------
        >>> kernel("a & b & c", variables="distinct").dimension(10)
        120
        """
        sizes = [n_columns(n, name) for name in self.program.domains]
        self._check_choices(sizes)
        return dimension(self.program, sizes)

    def scaled_into_range(self, pair: TablePair) -> FormulaKernel:
        """Return this kernel, or scale="probability" if its counts may pass float64.

        The values of x with x and of z with z, by which cosines divide, are counts here too.
        """
        tables = self.task(pair).tables
        most = [
            int(max(x.max(initial=0), z.max(initial=0)))
            for x, z in zip(tables.x_counts, tables.z_counts, strict=True)
        ]
        largest = upper_bound(self.program, tables.sizes, most, most)
        if self.scale == "probability" or largest <= FLOAT64_MAX:
            return self
        made = replace(self, scale="probability")
        made.__dict__["rewriting"], made.__dict__["program"] = self.rewriting, self.program
        return made

    def polynomial(self) -> sympy.Expr:
        """The closed form, expanded where it stays readable.

        Examples
        --------
        >>> kernel("a & ~b").polynomial()
        s*(n - p - q + s)
        """
        from formulakern.kernels.polynomial import closed_form

        return closed_form(self.program, probability=self.scale == "probability")

    @property
    def letter(self) -> str:
        """K with the formula below it."""
        below = self.formula.latex() if self.formula.n_leaves < 200 else r"\varphi"
        return f"K_{{{below}}}"

    def stages(self, closed_form: str) -> list[Section]:
        """Text → tree → rewrites → program → closed form → source → backend."""
        backend = f"{self.backend}, as asked" if self.backend != "auto" else _CHOSEN
        return [
            Section("text", clip(str(self.formula), MAX_TEXT)),
            Section("tree", _tree(self.formula)),
            Section("rewrites", _rewrites(self.rewriting)),
            Section("meaning", _meaning(self.formula, self.variables, self.program)),
            Section("program", listing(self.program)),
            Section("closed form", closed_form),
            Section("source", _clip_lines(self.source.rstrip(), MAX_SOURCE_LINES)),
            Section("backend", backend),
        ]

    def _check_choices(self, sizes: Sequence[int]) -> None:
        """Refuse to choose more different features than there are."""
        for total, degree in choices(self.program, sizes):
            if degree > total:
                raise ParameterError(
                    f"{clip(str(self.formula), 200)!r} chooses {degree:,} different features where "
                    f"{max(sizes):,} columns give only {total:,}. Use a smaller degree, or more "
                    "columns."
                )

    def _check_disjoint(self, columns: tuple[tuple[int, ...] | None, ...], n: int) -> None:
        times = Counter(chain.from_iterable(range(n) if c is None else c for c in columns))
        twice = [column for column, domains in times.items() if domains > 1]
        if twice:
            raise ParameterError(
                f"variables='distinct' needs domains without common columns; column {min(twice)} "
                "is in two. Give every variable a domain of its own columns, or use "
                "variables='bound'."
            )

    def _key(self) -> tuple[Any, ...]:
        return (self.formula, self.variables, str(self.domains), self.scale, self.backend)

    def __reduce__(self) -> tuple[Any, ...]:
        return FormulaKernel, (self.formula, self.variables, dict(self.domains), *self._key()[3:])

    def __repr__(self) -> str:
        arguments = [repr(str(self.formula))]
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                arguments.append(f"{name}={value if name == 'domains' else repr(value)}")
        return f"fk.kernel({', '.join(arguments)})"


def _read_domains(domains: object) -> Mapping[str, Any]:
    """The columns of each domain, copied, as plain Python values that cannot be changed."""
    if not isinstance(domains, Mapping) or not all(isinstance(n, str) and n for n in domains):
        raise ParameterError(
            f"domains is a mapping from names to columns; got {domains!r}. "
            "Write for example domains={'symptom': ['fever', 'rash']}."
        )
    return MappingProxyType({name: _plain(domains[name]) for name in sorted(domains)})


def _plain(columns: object) -> object:
    """Columns of a domain as a value: lists for arrays and other collections, copied."""
    if isinstance(columns, (str, int, slice, range)):
        return columns
    items = columns.tolist() if hasattr(columns, "tolist") else columns
    if not isinstance(items, Iterable):
        return items
    return [item.item() if isinstance(item, np.generic) else item for item in items]


def inner_formula(kernel: Kernel) -> FormulaKernel:
    """The kernel of the formula itself, on 0 and 1: of a graded kernel the one inside."""
    inside = kernel.kernel if isinstance(kernel, GradedKernel) else kernel
    if not isinstance(inside, FormulaKernel):
        raise ParameterError(f"{kernel!r} is not the kernel of a formula: give fk.kernel(...).")
    return inside


# -- what inspect shows ----------------------------------------------------------------------------


def _tree(formula: Formula) -> str:
    """A formula as an indented tree, at most ``MAX_TREE_LINES`` lines of it."""
    lines: list[str] = []
    pending: list[tuple[Formula, str, str]] = [(formula, "", "")]
    while pending and len(lines) <= MAX_TREE_LINES:
        node, first, rest = pending.pop()
        below = node.inside or node.arguments
        if isinstance(node, ChoiceLeaf):
            lines.append(f"{first}{_choice(node)}")
        elif node.connective is None:
            kind = "constant" if isinstance(node, Constant) else "variable"
            lines.append(f"{first}{node.leaf_text(UNICODE)}  ({kind})")
        else:
            row = node.connective
            lines.append(f"{first}{row.unicode}  {row.name}, truth table {row.truth}")
        branches = [("├─ ", "│  ")] * (len(below) - 1) + [("└─ ", "   ")] * bool(below)
        for argument, (branch, under) in zip(below[::-1], branches[::-1], strict=True):
            pending.append((argument, rest + branch, rest + under))
    if len(lines) > MAX_TREE_LINES:
        lines[MAX_TREE_LINES:] = [f"… ({formula.n_leaves:,} leaves in all)"]
    return "\n".join(lines)


def _choice(choice: ChoiceLeaf) -> str:
    """The head of a choice, in words."""
    how_many = {
        "all": "all",
        "any": "at least one",
        "atleast": f"at least {choice.least:,}",
        "exactly": f"exactly {choice.least:,}",
    }[choice.kind]
    return f"{choice.kind}  {how_many} of {choice.degree:,} different features"


def _rewrites(rewriting: Rewriting) -> str:
    """The passes, each with its result and at most ``MAX_STEPS`` of its steps."""
    lines = []
    for result in rewriting.passes:
        lines.append(f"{result.name}: {clip(str(result.formula), MAX_TEXT)}")
        lines += [
            f"    {clip(str(step.before), 60)}  ⟹  {clip(str(step.after), 60)}   ({step.rule})"
            for step in result.steps[:MAX_STEPS]
        ]
        if len(result.steps) > MAX_STEPS:
            lines.append(f"    … and {len(result.steps) - MAX_STEPS:,} more steps")
    return "\n".join(lines) or "none needed"


def _meaning(formula: Formula, variables: str, program: Program) -> str:
    """The reading in words, and what its variables range over."""
    lines = [f"variables={variables!r}: {READINGS[variables].meaning}"]
    if program.degrees is None:
        lines.append(
            "a choice takes different features of the formula inside; names inside are its own"
        )
    elif any(isinstance(leaf, Variable) for leaf in formula.leaves):
        for name, degree in zip(program.domains, program.degrees, strict=True):
            where = f"domain {name!r}" if name else "all columns"
            what = "variable ranges" if degree == 1 else "variables range"
            lines.append(f"{degree} {what} over {where}")
    if program.divisor > 1:
        lines.append(f"{program.divisor:,} symmetries: every feature is counted that often")
    return "\n".join(lines)


def _clip_lines(text: str, limit: int) -> str:
    """At most so many lines, and how many are left out."""
    lines = text.splitlines()
    if len(lines) <= limit:
        return text
    return "\n".join([*lines[:limit], f"… ({len(lines) - limit:,} more lines)"])
