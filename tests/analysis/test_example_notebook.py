"""The notebook of the examples runs, and what it displays is published."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "analyst.ipynb"


def test_the_cells_of_the_notebook_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space, displayed = {}, []
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"]
        *statements, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(statements, []), "cell", "exec"), space)
        if isinstance(last, ast.Expr):
            displayed.append(eval(compile(ast.Expression(last.value), "cell", "eval"), space))
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), space)
    shown = [html() for html in (getattr(thing, "_repr_html_", None) for thing in displayed) if html]
    assert sum("×" in text for text in shown) >= 2
    printed = capsys.readouterr().out
    assert "aggfunc='median' is not audited" in printed
    assert "shares pass" in printed
    assert set(json.loads(Path("project/results.json").read_text())["results"]) == {"output_0", "shares"}


@pytest.mark.slow
def test_the_notebook_runs_in_jupyter(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    assert (tmp_path / "project" / "results.json").exists()
