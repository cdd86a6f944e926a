"""Measure what the tests of a module see: change its code in one place, and run them.

`make mutants MODULE=orchestrator.reading.grammar` prints each change that no test noticed. Such a
change is a gap in the tests, or makes no difference to callers.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.machinery
import importlib.util
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SLOW_IMPORTS = "numpy", "cv2", "torch", "pytest"
MIN_TIMEOUT_S = 30.0
MAX_MEMORY_BYTES = 8 << 30
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.USub: ast.UAdd,
}  # fmt: skip
PAIRS = ("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil")
NAMES = {name: other for pair in PAIRS for name, other in (pair, pair[::-1])}
SKIPPED = {"annotation", "returns", "decorator_list", "type_params", "format_spec"}
REMOVABLE = ast.Expr, ast.AugAssign, ast.Return, ast.Raise, ast.Continue, ast.Break, ast.Delete


@dataclass(frozen=True)
class Mutant:
    """One change of a module: in `parent.field`, `old` becomes `new`."""

    parent: ast.AST
    field: str
    old: ast.AST
    new: ast.AST

    def apply(self) -> None:
        """Change the tree that the mutant was made of."""
        value = getattr(self.parent, self.field)
        if isinstance(value, list):
            value[next(at for at, node in enumerate(value) if node is self.old)] = self.new
        else:
            setattr(self.parent, self.field, self.new)

    def __str__(self) -> str:
        return f"{ast.unparse(self.old)}  ->  {ast.unparse(self.new)}"


def mutants_in(parent: ast.AST) -> Iterator[Mutant]:
    """Yield every change below a node. Annotations, decorators and constants' values stay."""
    for field, value in ast.iter_fields(parent):
        if field in SKIPPED:
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or is_left_alone(parent, node):
                continue
            for new in change_node(node, is_condition=field in ("test", "ifs")):
                new = ast.fix_missing_locations(ast.copy_location(new, node))
                yield Mutant(parent, field, node, new)
            yield from mutants_in(node)


def is_left_alone(parent: ast.AST, node: ast.AST) -> bool:
    """Tell a docstring, a module's `NAME = 3`, which a test could only repeat, and `strict=`."""
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    is_constant = isinstance(getattr(node, "value", None), ast.Constant)
    is_assigned = isinstance(node, ast.Assign) and isinstance(parent, ast.Module)
    return is_constant and (is_assigned or isinstance(node, ast.Expr))


def change_node(node: ast.AST, *, is_condition: bool = False) -> Iterator[ast.AST]:
    """Yield the changed forms of one node, without changes inside it."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield from (ast.Constant(node.value + step) for step in (1, -1))
    elif isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            ops = [*node.ops[:at], OPERATORS[type(operator)](), *node.ops[at + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.AugAssign)):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand
        elif type(node.op) in OPERATORS:
            yield with_field(node, "op", OPERATORS[type(node.op)]())
    elif isinstance(node, (ast.Name, ast.Attribute, ast.keyword)):
        field = {ast.Name: "id", ast.Attribute: "attr", ast.keyword: "arg"}[type(node)]
        if getattr(node, field) in NAMES:
            yield with_field(node, field, NAMES[getattr(node, field)])
    if is_condition and not isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
        yield ast.UnaryOp(ast.Not(), node)
    if isinstance(node, REMOVABLE):
        yield ast.Pass()


def with_field(node: ast.AST, field: str, value: object) -> ast.AST:
    """Return a copy of a node with one other field."""
    node = copy.copy(node)
    setattr(node, field, value)
    return node


class MutatedModule(importlib.machinery.SourceFileLoader):
    """Finds and loads one module from a changed syntax tree."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self.tree = tree

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_code(self, fullname: str) -> object:
        return compile(self.tree, self.path, "exec")


def tests_of(module: str) -> tuple[list[str], list[str]]:
    """Return the tests that mirror a module, and the other tests of their folder."""
    *folders, name = module.removeprefix("orchestrator.").split(".")
    folder = Path("tests", *folders)
    mirrors = [*folder.glob(f"test_{name}*.py"), *folder.glob(f"{name}/test_*.py")]
    own = sorted(map(str, mirrors))
    of_folder = sorted(map(str, folder.glob("test_*.py"))) if folders else []
    return own, [path for path in of_folder if path not in own]


def passes(
    tests: list[str], timeout_s: float, module: MutatedModule, mutant: Mutant | None
) -> bool:
    """Run the tests in a fork of this process, with the module mutated there alone."""
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, timeout_s)  # its signal ends the process
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, resource.RLIM_INFINITY))
        sys.meta_path.insert(0, module)
        if mutant:
            mutant.apply()
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
        import pytest

        status = pytest.main(["-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests])
        sys.stdout.flush()
        os._exit(int(status))
    return os.waitpid(child, 0)[1] == 0


def main() -> None:
    """Run the tests once as they are, then once for each mutant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", help="for example orchestrator.reading.grammar")
    parser.add_argument("tests", nargs="*", help="tests beside those that mirror the module")
    parser.add_argument(
        "--only", action="store_true", help="leave out the other tests of the module's folder"
    )
    parser.add_argument("--count", type=int, help="mutants to try, drawn at random; else all")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    options = parser.parse_args()
    sys.path.insert(0, str(Path.cwd()))
    for name in filter(importlib.util.find_spec, SLOW_IMPORTS):
        importlib.import_module(name)
    path = Path(*options.module.split(".")).with_suffix(".py")
    tree, (own, others) = ast.parse(path.read_text()), tests_of(options.module)
    runs = [[*own, *options.tests]] if options.only else [own, [*others, *options.tests]]
    runs = [tests for tests in runs if tests]
    module, began = MutatedModule(options.module, path, tree), time.monotonic()
    if not runs or not all(passes(tests, 3600, module, None) for tests in runs):
        sys.exit(f"{options.module}: wanted tests that pass, got {runs or 'none'}")
    timeout_s = max(MIN_TIMEOUT_S, 3 * (time.monotonic() - began))
    mutants = list(mutants_in(tree))
    if options.count is not None and options.count < len(mutants):
        mutants = random.Random(options.seed).sample(mutants, options.count)
    survivors = [
        mutant
        for mutant in mutants
        if all(passes(tests, timeout_s, module, mutant) for tests in runs)
    ]
    for mutant in sorted(survivors, key=lambda mutant: mutant.new.lineno):
        print(f"{path}:{mutant.new.lineno}: {mutant}")
    killed_count = len(mutants) - len(survivors)
    share = killed_count / max(len(mutants), 1)
    print(f"{options.module}: {killed_count} of {len(mutants)} killed ({share:.0%})")


if __name__ == "__main__":
    main()
