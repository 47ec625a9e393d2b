"""What the rules of the manual say about a cell, worked out from its records: τ-ARGUS version 4.1, section 4.4.4."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracles.argus.folders import MISSING, Cell, Record, Spec

Need = tuple[float, float]  # how far below and above the value a reader must not be able to exclude values


def by_weights(members: list[Record], amount: Callable[[Record], float], units: int) -> list[float]:
    """The first units of a cell in which each contribution occurs as often as its weight says; at least once."""
    found, room, current = [], 1.0, 0.0
    for record in sorted(members, key=lambda r: -amount(r)):
        left = max(record.weight, 1.0)
        while left > 1e-12 and len(found) < units:
            part = min(left, room)
            current, left, room = current + part * amount(record), left - part, room - part
            if room < 1e-12:
                found.append(current)
                current, room = 0.0, 1.0
    return [*found, current] if len(found) < units else found


def by_holding(members: list[Record], amount: Callable[[Record], float]) -> list[float]:
    sums: dict[str, float] = {}
    for record in members:
        sums[record.group] = sums.get(record.group, 0.0) + amount(record)
    return sorted(sums.values(), reverse=True)


def need_of(spec: Spec, members: list[Record]) -> Need | None:
    """The levels of a cell that a rule calls unsafe; the first rule that it violates decides."""
    judged = spec.shadow or spec.response
    amount: Callable[[Record], float] = lambda r: r.amount(judged)  # noqa: E731
    value, total = spec.value(members), sum(spec.weight(r) * amount(r) for r in members)
    by_record = by_weights(members, amount, 10) if spec.weighted else sorted(map(amount, members), reverse=True)
    units = [by_record, by_record, by_holding(members, amount), by_holding(members, amount)]
    tolerance = 1e-9 * max(total, 1)
    needs = []
    for x, call in zip(units, spec.calls("P"), strict=False):
        p, q, n = call if len(call) == 3 else (call[0], 100.0, call[1] if len(call) > 1 else 1)
        need = p / q * x[0] - (total - sum(x[: int(n) + 1]))
        needs += [need / total * value] if p and need > tolerance else []
    for x, (n, k) in zip(units, spec.calls("NK"), strict=False):
        need = 100 / k * sum(x[: int(n)]) - total if n and k else 0.0
        needs += [need / total * value] if total > 0 and need > tolerance else []
    if needs:
        return _level(spec, value, max(needs))
    for first, second, minimum, margin in spec.calls("REQ"):
        for code, percent in (("1", first), ("2", second)):
            asked = [amount(r) for r in members if r.asked == code]
            if asked and (max(asked) > percent / 100 * total * (1 + 1e-12) or len(members) < minimum):
                return _level(spec, value, margin / 100 * value)
    for minimum, width in spec.calls("FREQ"):
        if sum(map(spec.weight, members)) < minimum:
            return _level(spec, value, width / 100 * value)
    if spec.calls("ZERO") and value == total == 0:
        return _level(spec, value, 0.0)
    return None


def _level(spec: Spec, value: float, need: float) -> Need:
    """No level is below one unit; of a zero that of the rule for zeros."""
    if value == 0:
        return 0.0, max((width for (width,) in spec.calls("ZERO")), default=0.0)
    need = max(need, 10.0**-spec.decimals)
    return need, need


def requirements(spec: Spec, cells: dict[Cell, list[Record]]) -> dict[Cell, Need]:
    """The cells to protect, after the decisions of a priori files."""
    needs = {cell: need for cell, members in cells.items() if (need := need_of(spec, members)) is not None}
    margin = next((numbers[0] for numbers in spec.calls("MAN")), 20.0)
    status = {cell: "U" if cell in needs else "S" for cell in cells}
    if spec.calls("MIS"):
        needs = {cell: need for cell, need in needs.items() if MISSING not in cell}
    for cell, word, numbers in spec.decisions:
        now, value = status[cell], spec.value(cells[cell])
        if word == "S" and now in "SUP":
            status[cell] = "S"
            needs.pop(cell, None)
        elif word == "U" and now in "SU":
            if now == "S" or cell not in needs:
                by_margin = max(margin / 100 * value, 10.0**-spec.decimals) if value else 0.0
                needs[cell] = need_of(spec, cells[cell]) or (by_margin, by_margin)
            status[cell] = "U"
        elif word in ("P", "M", "ML") and now == "S":
            status[cell] = word[0]
        elif word == "PL" and now == "U" and cell in needs:
            needs[cell] = (numbers[0], numbers[1])
    return needs
