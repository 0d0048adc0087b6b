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
    BackendChoice,
    KernelTask,
    Scale,
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

#: The text of ``inspect`` about the choice of a backend.
_CHOSEN = (
    "the cheapest for each pair of tables: the compiled source above, lookup tables "
    "(one-hot data),\nor the interpreter for little work"
)

#: The largest number of characters or leaves of formulas that are cached.
MAX_CACHED_LENGTH = 200

#: The largest number of bits of a kernel's exact integers: the bits, and the rounding errors, grow
#: with the number of literals.
MAX_BITS = 1 << 32

#: The numbers of steps of a pass, lines of a tree and of the source, and characters that are shown.
MAX_STEPS, MAX_TREE_LINES, MAX_SOURCE_LINES, MAX_TEXT = 12, 40, 90, 400

#: Values of other parameters, which are not meant as formulas.
KEYWORDS = {
    "variables": ("bound", "free", "distinct"),
    "inputs": ("binary", "graded"),
    "scale": ("count", "probability"),
    "backend": ("interpreter", "lookup", "numba"),
}
#: The parameters of a formula's kernel other than the formula, and their defaults.
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
    """Return the kernel of a formula.

    A formula is a template: each substitution of columns of a 0/1 table for its variables gives one
    Boolean feature of a row.  The kernel is the inner product of these feature vectors,

        K(x, z) = the number of substitutions under which the formula is true in x and true in z.

    It is computed from the joint counts s = ⟨x,z⟩, p = ⟨x,x⟩, q = ⟨z,z⟩ and the number of columns
    n, without enumerating substitutions.

    Parameters
    ----------
    formula : str or Formula
        For example ``"(a & ~b) | c"``; see ``grammar/README.md`` for the language.
    variables : {"bound", "free", "distinct"}
        The substitutions that are counted.

        ``"bound"``: equal names are the same column; different names may be the same column.  Only
        variables that change the truth value are substituted, so the kernel depends only on the
        Boolean function: ``a & (b | ~b)`` has the kernel of ``a``, not n times that kernel.

        ``"distinct"``: equal names are the same column, different names are different columns.
        Substitutions that give the same feature count once (Polato, Lauriola & Aiolli 2018).

        ``"free"``: every occurrence of a variable is substituted independently, whatever its name
        (Polato & Aiolli 2021).
    domains : mapping of str to columns, optional
        For formulas such as ``a:symptom & b:gene``: the columns of each domain, as names (when
        the table has names), positions, a slice, a range or a Boolean mask.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension of the feature space, which gives the share of
        substitutions that are true in both rows.  Use it for formulas with counts beyond 1.8e308.
    backend : {"auto", "interpreter", "lookup", "numba"}
        The method of computation; ``inspect()`` and the command line show the choice of "auto".
    inputs : {"binary", "graded"}
        ``"binary"`` reads tables of 0 and 1, ``"graded"`` degrees of truth from 0 to 1, by
        :func:`formulakern.graded`.

    Returns
    -------
    FormulaKernel
        Or a GradedKernel, for graded inputs.

    Raises
    ------
    FormulaSyntaxError
        If the text is not a formula.
    FormulaSizeError
        At the first use, if counting would exceed a limit on work.  (Counting is #P-hard in general
        with ``"bound"`` and ``"distinct"``.)
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
            f"expected a str or a Formula; got {type(formula).__name__}. "
            "Write for example fk.kernel('a & ~b')."
        )
    check_choice("inputs", inputs, ("binary", "graded"))
    made = FormulaKernel(parsed, variables, domains or {}, scale, backend)
    return graded(made) if inputs == "graded" else made


def _parsed(text: str) -> Formula:
    return _parse_short(text) if len(text) <= MAX_CACHED_LENGTH else parse(text)


_parse_short = lru_cache(maxsize=256)(parse)
_rewrite_short = lru_cache(maxsize=256)(rewrite)
_lower_short = lru_cache(maxsize=256)(lower)


@parameters_from(kernel)
@dataclass(eq=False, repr=False)
class FormulaKernel(Kernel):
    """The kernel of a formula, built by :func:`kernel`.

    Parameters
    ----------
    formula : Formula
        The formula.  All parameters are attributes.

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
        """The rewrites from the formula to the form whose substitutions are counted."""
        short = self.formula.n_leaves <= MAX_CACHED_LENGTH
        return (_rewrite_short if short else rewrite)(self.formula, self.variables)

    @cached_property
    def program(self) -> Program:
        """The arithmetic on joint counts; FormulaSizeError if it is too large."""
        formula = self.rewriting.formula
        return (_lower_short if formula.n_leaves <= MAX_CACHED_LENGTH else lower)(
            formula, self.variables
        )

    @property
    def source(self) -> str:
        """The Python source that the numba backend compiles; it has no text of the formula."""
        weighted = self.scale == "probability" and self.program.degrees is not None
        return emit_pair(self.program, weighted)

    def task(self, pair: TablePair) -> KernelTask:
        """Return the task of evaluating the program on two tables."""
        return pair.remembered(self, self._task)

    def _task(self, pair: TablePair) -> KernelTask:
        columns = tuple(pair.columns_of(name, self.domains) for name in self.program.domains)
        if self.variables == "distinct":
            self._check_disjoint(columns, pair.x.n_columns)
        tables = pair.tables(columns)
        self._check_choices(tables.sizes)
        task = KernelTask(self.program, tables, self.scale)
        if task.bits > MAX_BITS:
            raise MagnitudeError(
                f"the integers of this formula have about {task.bits:.3g} bits; the limit is "
                f"{MAX_BITS:,}, beyond which rounding errors could exceed a millionth of a value. "
                "Use a formula with fewer literals."
            )
        return task

    def choose(self, pair: TablePair) -> BackendChoice:
        """Return the backend for two tables, and the reason for the choice."""
        return choose_backend(self.backend, self.task(pair))

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Return the block writer of the chosen backend."""
        task = self.task(pair)
        return choose_backend(self.backend, task).backend.compile(task)

    def counts_of(self, pair: TablePair) -> PairedTables | None:
        """Return the joint counts of the domains, or None for the backends that do not use them."""
        return self.task(pair).tables if self.backend in ("auto", "lookup") else None

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        """Return exact values, rounded once, or raise NotImplementedError if they take too long."""
        task = self.task(pair)
        operations = counts.same.size * len(task.program.kernel_nodes)
        if task.dtype is not np.int64 and operations > MAX_EXACT_OPERATIONS:
            raise NotImplementedError
        triples = (list(counts.s), list(counts.p), list(counts.q))
        return np.broadcast_to(task.values(triples), counts.same.shape)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """Return exact values, computed once for every different number of ones."""
        task = self.task(pair)
        ones, row_class = row_classes(task.tables.x_counts)
        values = task.values((list(ones),) * 3)
        return np.asarray(np.broadcast_to(values, ones.shape[1:])[row_class])

    def exactly_symmetric(self, pair: TablePair) -> bool:
        """Return True if float64 holds all intermediate results, which are integers, exactly."""
        return self.scale == "count" and self.task(pair).bound < 2**53

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """Return the number of substitutions, an exact integer.

        Parameters
        ----------
        n : int or mapping
            The number of columns of every domain, or a mapping from the names of domains (None:
            all columns) to such numbers.

        Examples
        --------
        >>> kernel("a & b & c", variables="distinct").dimension(10)
        120
        """
        sizes = [n_columns(n, name) for name in self.program.domains]
        self._check_choices(sizes)
        return dimension(self.program, sizes)

    def scaled_into_range(self, pair: TablePair) -> FormulaKernel:
        """Return this kernel, with scale="probability" if K or its diagonal may exceed float64."""
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
        """Return the closed form, expanded if that is short.

        Examples
        --------
        >>> kernel("a & ~b").polynomial()
        s*(n - p - q + s)
        """
        from formulakern.kernels.polynomial import closed_form

        return closed_form(self.program, probability=self.scale == "probability")

    @property
    def letter(self) -> str:
        """K with the formula as subscript."""
        below = self.formula.latex() if self.formula.n_leaves < 200 else r"\varphi"
        return f"K_{{{below}}}"

    def stages(self, closed_form: str) -> list[Section]:
        """Return the stages from the text of the formula to the backend."""
        backend = f"{self.backend}, as requested" if self.backend != "auto" else _CHOSEN
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
        """Raise ParameterError if a choice has more different features than exist."""
        for total, degree in choices(self.program, sizes):
            if degree > total:
                raise ParameterError(
                    f"{clip(str(self.formula), 200)!r} chooses {degree:,} different features, but "
                    f"{max(sizes):,} columns give only {total:,}. Use a smaller degree, or more "
                    "columns."
                )

    def _check_disjoint(self, columns: tuple[tuple[int, ...] | None, ...], n: int) -> None:
        times = Counter(chain.from_iterable(range(n) if c is None else c for c in columns))
        twice = [column for column, domains in times.items() if domains > 1]
        if twice:
            raise ParameterError(
                f"variables='distinct' needs disjoint domains; column {min(twice)} belongs to two "
                "domains. Give every variable a domain of its own columns, or use "
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
    """Return an immutable copy of the columns of each domain, as plain Python values."""
    if not isinstance(domains, Mapping) or not all(isinstance(n, str) and n for n in domains):
        raise ParameterError(
            f"domains={domains!r}; expected a mapping from names to columns. "
            "Write for example domains={'symptom': ['fever', 'rash']}."
        )
    return MappingProxyType({name: _plain(domains[name]) for name in sorted(domains)})


def _plain(columns: object) -> object:
    """Return the columns of a domain as a plain value, with a new list for any collection."""
    if isinstance(columns, (str, int, slice, range)):
        return columns
    items = columns.tolist() if hasattr(columns, "tolist") else columns
    if not isinstance(items, Iterable):
        return items
    return [item.item() if isinstance(item, np.generic) else item for item in items]


def inner_formula(kernel: Kernel) -> FormulaKernel:
    """Return the kernel of the formula on 0 and 1, which is the inner one of a graded kernel."""
    inside = kernel.kernel if isinstance(kernel, GradedKernel) else kernel
    if not isinstance(inside, FormulaKernel):
        raise ParameterError(f"{kernel!r} is not the kernel of a formula; pass fk.kernel(...).")
    return inside


# -- stages of inspect -----------------------------------------------------------------------------


def _tree(formula: Formula) -> str:
    """Return a formula as an indented tree of at most ``MAX_TREE_LINES`` lines."""
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
    """Return the head of a choice, in words."""
    how_many = {
        "all": "all",
        "any": "at least one",
        "atleast": f"at least {choice.least:,}",
        "exactly": f"exactly {choice.least:,}",
    }[choice.kind]
    return f"{choice.kind}  {how_many} of {choice.degree:,} different features"


def _rewrites(rewriting: Rewriting) -> str:
    """Return the passes as text, each with its result and at most ``MAX_STEPS`` steps."""
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
    """Return the reading in words, and the columns over which the variables range."""
    lines = [f"variables={variables!r}: {READINGS[variables].meaning}"]
    if program.degrees is None:
        lines.append(
            "a choice takes different features of its inner formula, whose names are local to it"
        )
    elif any(isinstance(leaf, Variable) for leaf in formula.leaves):
        for name, degree in zip(program.domains, program.degrees, strict=True):
            where = f"domain {name!r}" if name else "all columns"
            what = "variable ranges" if degree == 1 else "variables range"
            lines.append(f"{degree} {what} over {where}")
    if program.divisor > 1:
        lines.append(f"symmetries: every feature is counted {program.divisor:,} times")
    return "\n".join(lines)


def _clip_lines(text: str, limit: int) -> str:
    """Return at most ``limit`` lines, followed by the number of omitted lines."""
    lines = text.splitlines()
    if len(lines) <= limit:
        return text
    return "\n".join([*lines[:limit], f"… ({len(lines) - limit:,} more lines)"])
