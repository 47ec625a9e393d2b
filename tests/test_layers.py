"""The rooms of the package: imports go one way, solvers stay behind their seam, names mean one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent
# From left to right, as data flow: nothing on the left imports anything on its right.
ROOMS = (
    *("arrays", "errors", "printable", "display", "progress", "executors", "secret"),
    *("compiled", "decompress", "drafts", "solvers"),
    *("data", "rules", "costs", "attackers", "problem", "assess", "protection", "inference", "level", "guesses"),
    *("audit", "methods", "promise", "release", "attacks", "io", "show", "edit", "report", "compare", "jobs", "cli"),
    *("public", "testing", "__main__"),
)
ALIASES = {"FloatArray", "IntArray", "SmallIntArray", "BoolArray", "DOWN", "UP"}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Modules of the package that a module imports, and what from them; those for type checkers aside."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "discreet":
            base = node.module.removeprefix("discreet").lstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                yield (inner if inner in MODULES else base), alias.name


def slack(module: str) -> str:
    return module.split(".")[0]


def test_every_room_has_its_place():
    assert {slack(name) for name in MODULES} == set(ROOMS)


def test_imports_go_from_right_to_left():
    wrong = [
        f"{name} imports {other}"
        for name, tree in TREES.items()
        for other, _ in imported(tree)
        if other and ROOMS.index(slack(other)) > ROOMS.index(slack(name))
    ]
    assert wrong == []


def test_there_is_no_cycle():
    graph = {name: {other for other, _ in imported(tree) if other and other != name} for name, tree in TREES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a cycle of imports: {' → '.join(error.args[1])}") from None


def test_aliases_are_defined_once():
    defined = [
        f"{name}: {target.id}"
        for name, tree in TREES.items()
        for node in tree.body
        if isinstance(node, ast.Assign) and name != "arrays"
        for target in ast.walk(node)
        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store) and target.id in ALIASES
    ]
    assert defined == []


def test_a_solver_is_imported_in_its_room_only():
    named = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        if module.split(".")[0] in ("highspy", "pyscipopt")
    }
    assert all(slack(name) == "solvers" for name in named)
    assert named


def test_a_class_name_means_one_thing():
    places = defaultdict(list)
    for name, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
