"""GLPK as a second opinion: one linear or integer program a bound, sharing no code with the audit or with HiGHS."""

from __future__ import annotations

import numpy as np
import swiglpk as glpk

from discreet.attackers import Attacker
from discreet.protection import Protection


def infer_with_glpk(
    protection: Protection, cells: list[int], attacker: Attacker | None = None, *, whole: bool = False
) -> list[tuple[float, float]]:
    """What an attacker infers about each of ``cells``, on the whole system; ``whole``: knowing that all are whole numbers."""
    table, who = protection.problem.table, attacker or protection.problem.attackers()[0]
    lower, upper = np.maximum(protection.lower, who.lower), np.minimum(protection.upper, who.upper)
    glpk.glp_term_out(glpk.GLP_OFF)
    program = glpk.glp_create_prob()
    m, n = table.relations.shape
    if m:
        glpk.glp_add_rows(program, m)
    glpk.glp_add_cols(program, n)
    for j in range(n):
        glpk.glp_set_col_bnds(program, j + 1, _kind(lower[j], upper[j]), _end(lower[j]), _end(upper[j]))
        if whole:
            glpk.glp_set_col_kind(program, j + 1, glpk.GLP_IV)
    rhs = table.relations @ table.value
    for i in range(m):
        row = slice(int(table.relations.indptr[i]), int(table.relations.indptr[i + 1]))
        index, data = glpk.intArray(row.stop - row.start + 1), glpk.doubleArray(row.stop - row.start + 1)
        for k, (j, weight) in enumerate(zip(table.relations.indices[row], table.relations.data[row], strict=True)):
            index[k + 1], data[k + 1] = int(j) + 1, float(weight)
        glpk.glp_set_mat_row(program, i + 1, row.stop - row.start, index, data)
        glpk.glp_set_row_bnds(program, i + 1, glpk.GLP_FX, float(rhs[i]), float(rhs[i]))
    found = [tuple(_solve(program, cell, sign, whole) for sign in (-1, 1)) for cell in cells]
    glpk.glp_delete_prob(program)
    return found


def _solve(program: object, cell: int, sign: int, whole: bool) -> float:
    glpk.glp_set_obj_dir(program, glpk.GLP_MAX if sign > 0 else glpk.GLP_MIN)
    glpk.glp_set_obj_coef(program, cell + 1, 1.0)
    simplex = glpk.glp_smcp()
    glpk.glp_init_smcp(simplex)
    simplex.tol_bnd = simplex.tol_dj = 1e-9
    failed = glpk.glp_simplex(program, simplex)
    status, value = glpk.glp_get_status(program), glpk.glp_get_obj_val(program)
    if whole and not failed and status == glpk.GLP_OPT:
        search = glpk.glp_iocp()
        glpk.glp_init_iocp(search)
        failed = glpk.glp_intopt(program, search)
        status, value = glpk.glp_mip_status(program), glpk.glp_mip_obj_val(program)
    glpk.glp_set_obj_coef(program, cell + 1, 0.0)
    if not failed and status == glpk.GLP_UNBND:
        return sign * float("inf")
    if failed or status != glpk.GLP_OPT:
        raise ArithmeticError(f"GLPK did not solve the attacker's program: {failed}, {status}")
    return float(value)


def _kind(lower: float, upper: float) -> int:
    if lower == upper:
        return int(glpk.GLP_FX)
    if np.isinf(lower):
        return int(glpk.GLP_FR if np.isinf(upper) else glpk.GLP_UP)
    return int(glpk.GLP_LO if np.isinf(upper) else glpk.GLP_DB)


def _end(bound: float) -> float:
    return 0.0 if np.isinf(bound) else float(bound)
