"""Runs in the peers' environment, without this package: pytauargus' optimal suppression of one JJ file.

``python full_jj_runner.py PROBLEM FOLDER MINUTES``: the folder takes what the solver writes; ``answer.json`` comes last, so
that what the solver left behind can be used without it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    from pytauargus._tauargus import HiTaSCtrl

    problem, folder, minutes = sys.argv[1:]
    control = HiTaSCtrl()
    wall, use = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    code = control.full_jj(problem, f"{folder}/pattern.txt", int(minutes), "", f"{folder}/", "SCIP")
    now = resource.getrusage(resource.RUSAGE_SELF)
    spent = now.ru_utime + now.ru_stime - use.ru_utime - use.ru_stime
    answer = {"code": code, "cpu_s": spent, "wall_s": time.perf_counter() - wall}
    Path(folder, "answer.json").write_text(json.dumps(answer))
