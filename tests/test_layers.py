"""The rooms of the package: imports go one way, solvers stay behind their seam, names mean one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
# From left to right, as data flow: nothing on the left imports anything on its right.
ROOMS = (
    *("arrays", "errors", "printable", "display", "progress", "executors", "secret"),
    *("compiled", "compressed_files", "drafts", "languages", "solvers"),
    *("data", "rules", "costs", "attackers", "problem", "assess", "protection", "inference", "level", "guesses"),
    "presentation",
    *(
        "audit",
        "methods",
        "release",
        "attacks",
        "promise",
        "io",
        "terminal",
        "edit",
        "report",
        "compare",
        "jobs",
        "argus",
        "analysis",
        "cli",
    ),
    *("public", "testing", "__main__"),
)
ALIASES = {"FloatArray", "IntArray", "SmallIntArray", "BoolArray", "DOWN", "UP"}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"}


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax of all modules."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Modules of the package that a module imports, and what from them; those for type checkers aside."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "discreet":
            base = node.module.removeprefix("discreet").lstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                yield (inner if inner in MODULES else base), alias.name


def room(module: str) -> str:
    return module.split(".")[0]


def test_every_room_has_its_place():
    assert {room(name) for name in MODULES} == set(ROOMS)


def test_imports_go_from_right_to_left():
    wrong = [
        f"{name} imports {other}"
        for name, tree in trees().items()
        for other, _ in imported(tree)
        if other and ROOMS.index(room(other)) > ROOMS.index(room(name))
    ]
    assert wrong == []


def test_there_is_no_cycle():
    graph = {name: {other for other, _ in imported(tree) if other and other != name} for name, tree in trees().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a cycle of imports: {' → '.join(error.args[1])}") from None


def test_aliases_are_defined_once():
    defined = [
        f"{name}: {target.id}"
        for name, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.Assign) and name != "arrays"
        for target in ast.walk(node)
        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store) and target.id in ALIASES
    ]
    assert defined == []


def test_a_solver_is_imported_in_its_room_only():
    named = {
        name
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        if module.split(".")[0] in ("highspy", "pyscipopt")
    }
    assert all(room(name) == "solvers" for name in named)
    assert named


def test_methods_ask_the_audit_in_one_place():
    asking = {
        name
        for name, tree in trees().items()
        if room(name) == "methods"
        for other, _ in imported(tree)
        if room(other) == "audit"
    }
    assert asking == {"methods.check"}


def test_the_core_of_the_methods_imports_no_single_method():
    allowed = ("methods.core", "methods.check")
    wrong = [
        f"{name} imports {other}"
        for name, tree in trees().items()
        if name.startswith("methods.core")
        for other, _ in imported(tree)
        if room(other) == "methods" and not other.startswith(allowed)
    ]
    assert wrong == []


def test_a_class_name_means_one_thing():
    places = defaultdict(list)
    for name, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def constants(tree: ast.Module) -> Iterator[str]:
    """Public names in upper case that a module assigns at its top level."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and part.id.isupper() and not part.id.startswith("_"):
                    yield part.id


def test_a_constant_is_defined_in_one_module():
    """A name that means two things makes readers look up which one is meant."""
    places = defaultdict(list)
    for name, tree in trees().items():
        for constant in set(constants(tree)) - {"SIGN", "DOWN", "UP"}:
            places[constant].append(name)
    assert {constant: where for constant, where in places.items() if len(where) > 1} == {}


def test_a_name_that_does_not_exist_is_refused_as_by_any_module():
    with pytest.raises(AttributeError, match="module 'discreet' has no attribute 'protct'"):
        discreet.protct  # noqa: B018  reading it is enough
