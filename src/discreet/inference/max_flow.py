"""Exact bounds in components that are networks: what a cell can move by is a largest flow.

Relations are nodes and cells are arcs: in a two-way table a cell runs from its row to its column. A difference that keeps
all relations is a circulation, so a cell moves as far as flow gets back from the end of its arc to the start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.inference import tolerances
from discreet.inference.deviations import ComponentFindings, Deviation
from discreet.inference.integer_system import SLACK_ROUNDING_TOLERANCE, slacks_in_units

MAX_BOUND_RATIO = 1e9  # by which bounds that are not round may differ, or too little would be left of the small ones


@dataclass(frozen=True, eq=False)
class Network:
    """Each column as an arc from ``tail`` to ``head``, two of so many nodes."""

    tail: IntArray
    head: IntArray
    nodes: int
    pinned: BoolArray  # columns that relations alone keep from moving


# -- recognising one ------------------------------------------------------------------------------------------


def network(relations: sparse.csr_array) -> Network | None:
    """The network that these relations are, once those implied by the others are left out; None if none is found."""
    terms, pinned = _without_pinned(_Terms.of(relations))
    if np.any(np.abs(terms.sign) != 1):
        return None
    pieces = _pieces(terms) if np.all(terms.times() <= 2) else _pieces_of_basis(terms)
    arcs = None if pieces is None else _arcs(pieces)
    return None if arcs is None else Network(*arcs, pinned)


@dataclass(frozen=True, eq=False)
class _Terms:
    """The nonzeros of a matrix, by column."""

    row: IntArray
    column: IntArray
    sign: FloatArray
    rows: int
    columns: int

    @staticmethod
    def of(relations: sparse.csr_array) -> _Terms:
        entries = relations.tocsc().tocoo()
        return _Terms(entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data, *relations.shape)

    def only(self, chosen: BoolArray) -> _Terms:
        return _Terms(self.row[chosen], self.column[chosen], self.sign[chosen], self.rows, self.columns)

    def times(self) -> IntArray:
        """How many terms each column has."""
        return np.bincount(self.column, minlength=self.columns)

    def sums(self, value: IntArray) -> IntArray:
        """What the relations add up to, modulo 2⁶⁴."""
        total = np.zeros(self.rows, dtype=np.int64)
        np.add.at(total, self.row, self.sign.astype(np.int64) * value[self.column])
        return total


def _without_pinned(terms: _Terms) -> tuple[_Terms, BoolArray]:
    """A column that is alone in a relation cannot move, and others may then be alone in theirs."""
    pinned = np.zeros(terms.columns, dtype=bool)
    while True:
        alone = (np.bincount(terms.row, minlength=terms.rows) == 1)[terms.row]
        if not alone.any():
            return terms, pinned
        pinned[terms.column[alone]] = True
        terms = terms.only(~pinned[terms.column])


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Relations joined to blocks, and the columns cut into pieces, one for each block they are in.

    A piece with two ends is an arc of its block; one with a loose end goes on to the ground of the block. Mostly there is one
    block. But when two suppressed cells in the total of a group were merged, their column runs through the group, which may hang
    together by nothing else with the rest of the table, and once more through the rest.
    """

    column: IntArray  # of each piece, in order
    block: IntArray
    tail: IntArray  # rows, or grounds, which are numbered behind the rows
    head: IntArray
    loose: BoolArray  # by term
    columns: int
    nodes: int


def _pieces(terms: _Terms) -> _Pieces | None:
    """Join relations by columns that have two loose ends, again and again; None if blocks are no networks."""
    m = terms.rows
    a = b = np.zeros(0, dtype=np.int64)  # terms that are the two ends of a piece
    while True:
        # Each row is two nodes, itself and its negative: what must be turned alike is joined.
        like = (terms.sign[a] == terms.sign[b]) * m
        here, there = terms.row[a], terms.row[b]
        _, label = _joined(np.r_[here, here + m], np.r_[there + like, there + m - like], 2 * m)
        if np.any(label[:m] == label[m:]):
            return None
        block = np.minimum(label[:m], label[m:])
        key, piece, times = np.unique(terms.column * 2 * m + block[terms.row], return_inverse=True, return_counts=True)
        loose = times[piece] == 1
        ends = np.flatnonzero(loose)
        ends = ends[(terms.only(loose).times() == 2)[terms.column[ends]]]
        if not len(ends):
            break
        a, b = np.r_[a, ends[::2]], np.r_[b, ends[1::2]]
    sign = np.where(label[:m] < label[m:], 1, -1)[terms.row] * terms.sign
    if np.any(times > 2) or np.any(np.bincount(piece, sign)[times == 2]):
        return None
    column, block = np.divmod(key, 2 * m) if m else (key, key)
    tail, head = m + block, m + block
    tail[piece[sign < 0]], head[piece[sign > 0]] = terms.row[sign < 0], terms.row[sign > 0]
    return _Pieces(column, block, tail, head, loose, terms.columns, 3 * m)


def _pieces_of_basis(terms: _Terms) -> _Pieces | None:
    """A network of relations that imply all others.

    A relation is kept once it holds a column that is in no more than two of those left, and left out once those kept imply it.
    In a table with one hierarchy this goes up level by level: what holds across all parts of a group holds across the group.
    When that comes to a halt, columns count that have no more than two loose ends left.
    """
    kept, left = np.zeros(terms.rows, dtype=bool), np.bincount(terms.row, minlength=terms.rows) > 0
    in_play, loose = np.ones((2, len(terms.row)), dtype=bool)
    pieces = None
    while left.any():
        ends = terms.only(loose).times()
        rules = (
            _holding(terms, columns) & left for columns in (terms.only(in_play).times() <= 2, ends == 2, ends == 1)
        )
        new = next((rows for rows in rules if rows.any()), None)
        if new is None:
            return None
        kept |= new
        pieces = _pieces(terms.only(kept[terms.row]))
        arcs = None if pieces is None else _arcs(pieces)
        if pieces is None or arcs is None:
            return None
        # Random numbers that fulfil the relations kept fulfil others that those imply, and else only by a miracle.
        left &= ~kept & (terms.sums(_random_circulation(*arcs)) != 0)
        in_play, loose = (kept | left)[terms.row], left[terms.row]
        loose[kept[terms.row]] = pieces.loose
    return pieces


def _holding(terms: _Terms, columns: BoolArray) -> BoolArray:
    """Relations that hold one of these columns."""
    found = np.zeros(terms.rows, dtype=bool)
    found[terms.row[columns[terms.column]]] = True
    return found


def _arcs(pieces: _Pieces) -> tuple[IntArray, IntArray, int] | None:
    """One arc a column, and the number of nodes; None if columns join the blocks in circles.

    The pieces of a column are joined in a ring: what leaves a block goes into the next. As the blocks have nothing else in
    common the same must then flow through all pieces, so that all but one can be left out.
    """
    column, n = pieces.column, len(pieces.column)
    is_first = np.r_[True, column[1:] != column[:-1]][:n]
    first = np.flatnonzero(is_first)
    following = np.arange(1, n + 1)
    following[np.r_[first[1:], n][: len(first)] - 1] = first
    rest = np.flatnonzero(~is_first)
    tail, head = np.zeros((2, pieces.columns), dtype=np.int64)
    tail[column[first]], head[column[first]] = pieces.tail[first], pieces.head[following[first]]
    if len(rest):
        shared = np.isin(column, column[rest])
        size = pieces.nodes + pieces.columns
        parts, _ = _joined(pieces.block[shared], pieces.nodes + column[shared], size)
        if size - parts < shared.sum():
            return None
        _, node = _joined(pieces.tail[rest], pieces.head[following[rest]], pieces.nodes)
        tail, head = node[tail], node[head]
    names, ends = np.unique(np.concatenate([tail, head]), return_inverse=True)
    return ends[: len(tail)], ends[len(tail) :], len(names)


def _random_circulation(tail: IntArray, head: IntArray, nodes: int) -> IntArray:
    """Random numbers on the arcs outside a spanning tree, and on those inside what then balances every node."""
    flow = np.random.default_rng(0).integers(-(2**62), 2**62, len(tail))
    _, label = _joined(tail, head, nodes)
    # All parts hang from one root, by arcs that nothing will flow through.
    tops = np.unique(label, return_index=True)[1]
    tail, head, flow = np.r_[tail, tops], np.r_[head, np.full(len(tops), nodes)], np.r_[flow, np.zeros_like(tops)]
    _, above = csgraph.breadth_first_order(_graph(tail, head, nodes + 1), nodes, directed=False)
    # Of parallel arcs to the node above one is in the tree.
    stem = np.zeros(nodes, dtype=np.int64)
    for lower, upper in ((tail, head), (head, tail)):
        found = np.flatnonzero(above[lower] == upper)
        stem[lower[found]] = found
    flow[stem] = 0
    balance = np.zeros(nodes + 1, dtype=np.int64)
    np.add.at(balance, head, flow)
    np.subtract.at(balance, tail, flow)
    # Sums over branches, of twice the height each time.
    above[nodes] = nodes
    while np.any(above < nodes):
        balance, below = balance.copy(), balance[:nodes]
        np.add.at(balance, above[:nodes], below)
        above = above[above]
    flow[stem] = np.where(tail[stem] == np.arange(nodes), balance[:nodes], -balance[:nodes])
    return np.asarray(flow[: len(flow) - len(tops)])


def _graph(tail: IntArray, head: IntArray, nodes: int) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(tail)), (tail, head)), shape=(nodes, nodes))


def _joined(tail: IntArray, head: IntArray, nodes: int) -> tuple[int, IntArray]:
    """How many parts a graph has, and which one each node is in."""
    count, label = csgraph.connected_components(_graph(tail, head, nodes), directed=False)
    return int(count), label.astype(np.int64)


# -- exploring it ---------------------------------------------------------------------------------------------


def fits_integers(low: FloatArray, high: FloatArray) -> bool:
    """Whether bounds can be whole numbers, which flows add up without loss: if they are round, or not too different."""
    slack = np.stack([-low, high])
    size = slack[np.isfinite(slack) & (slack > 0)]
    bound, scale = slacks_in_units(slack)
    return not _cut(slack, bound / scale) or bool(size.max(initial=0.0) <= MAX_BOUND_RATIO * size.min(initial=np.inf))


def _cut(slack: FloatArray, rounded: FloatArray) -> float:
    """The largest share that rounding took off a slack."""
    at = np.isfinite(slack) & (slack > 0)
    share = 1 - rounded[at] / slack[at]
    return float(np.where(share <= SLACK_ROUNDING_TOLERANCE, 0.0, share).max(initial=0.0))


def search_network(
    net: Network,
    low: FloatArray,
    high: FloatArray,
    targets: IntArray,
    level: FloatArray,
    sliding: FloatArray,
    intervals: bool,
    certify: bool = True,
) -> ComponentFindings:
    """How far the targets move: with ``intervals`` as far as they can, else as far as their levels ask for.

    Where a level is out of reach, the target is moved as far as it goes. Without ``certify`` no tables are returned.
    """
    from discreet.inference.max_flow_kernel import (  # takes half a second, which most runs need not wait for
        FlowTask,
        maximize_flows,
    )

    slack = np.stack([-low, high])
    slack[:, net.pinned] = 0.0
    bound, scale = slacks_in_units(slack)
    if intervals:
        level, sliding = np.full(slack.shape, np.inf), np.zeros(len(low))
    else:  # large moves first: they show much about small ones
        targets = targets[np.argsort(-np.maximum(level.max(axis=0), sliding / 2)[targets], kind="stable")]
    needed = np.ascontiguousarray(level * scale), np.ascontiguousarray(sliding * scale)
    task = FlowTask(
        bound,
        _knots(net, bound),
        np.array(targets, dtype=np.int64),
        *needed,
        tolerances.LEVEL_TOLERANCE,
        max(scale, 1.0),
    )
    shown, (begin, column, move) = maximize_flows(net.tail, net.head, net.nodes, task, keep=certify)
    move = np.clip(move / scale, -slack[DOWN][column], slack[UP][column])
    reach = np.minimum(shown.reach / scale, slack)
    # What stops a flow is a sum of bounds: if each lost no more than a share in rounding, so did the sum.
    cut = _cut(slack, bound / scale)
    most = np.minimum(reach / (1 - cut), slack) if cut < 1 else slack
    edge = np.where(shown.farthest | (shown.reach >= bound), most, slack)
    used = np.unique(shown.by[shown.by >= 0]) if certify else np.zeros(0, dtype=np.int64)
    number = np.full(shown.by.max(initial=-1) + 2, -1)  # the last place stands for none
    number[used] = np.arange(len(used))
    ends = zip(begin[used].tolist(), begin[used + 1].tolist(), strict=True)
    tables = [Deviation(column[first:end], move[first:end]) for first, end in ends]
    return ComponentFindings(reach, edge, tables, number[shown.by])


def _knots(net: Network, bound: FloatArray) -> NDArray[np.int32]:
    """Nodes between which endless arcs lead to and fro get the same number."""
    down, up = np.isinf(bound)
    ends = np.r_[net.tail[up], net.head[down]], np.r_[net.head[up], net.tail[down]]
    _, knot = csgraph.connected_components(_graph(*ends, net.nodes), connection="strong")
    return np.asarray(knot, dtype=np.int32)
