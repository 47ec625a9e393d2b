"""Runs in the peers' environment, without this package: pytauargus' optimal suppression of one JJ file.

``python full_jj_runner.py PROBLEM FOLDER MINUTES SECONDS``: the folder takes what the solver writes, and at last
``answer.json``. The solver may not keep to its minutes of processor time: after so many seconds the process ends.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    from pytauargus._tauargus import HiTaSCtrl

    problem, folder, minutes, most = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(most), resource.RLIM_INFINITY))
    control = HiTaSCtrl()
    wall, use = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    code = control.full_jj(problem, f"{folder}/pattern.txt", int(minutes), "", f"{folder}/", "SCIP")
    now = resource.getrusage(resource.RUSAGE_SELF)
    spent = now.ru_utime + now.ru_stime - use.ru_utime - use.ru_stime
    answer = {"code": code, "cpu_s": spent, "wall_s": time.perf_counter() - wall}
    Path(folder, "answer.json").write_text(json.dumps(answer))
