"""Exact bounds in components that are networks: the farthest deviation of a cell is a maximum flow.

Relations are nodes and cells are arcs: in a two-way table a cell is an arc from its row to its column. A deviation is a
circulation, so a cell can deviate by the maximum flow from the head of its arc back to the tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray, SmallIntArray
from discreet.inference import tolerances
from discreet.inference.deviations import ComponentFindings, Deviation, tables_in_use
from discreet.inference.integer_system import SLACK_ROUNDING_TOLERANCE, slacks_in_units
from discreet.inference.max_flow_kernel import FlowTask, maximize_flows

MAX_BOUND_RATIO = 1e9  # of bounds that are not round: beyond it rounding to units takes too much off small ones


@dataclass(frozen=True, eq=False)
class Network:
    """Each column as an arc from node ``tail`` to node ``head``."""

    tail: IntArray
    head: IntArray
    nodes: int
    pinned: BoolArray  # columns that cannot deviate, whatever the bounds


# -- recognition ----------------------------------------------------------------------------------------------


def network(relations: sparse.csr_array) -> Network | None:
    """The network of these relations; relations that others imply are left out. None if no network is found."""
    terms, pinned = _without_pinned(_Terms.of(relations))
    if np.any(np.abs(terms.sign) != 1):
        return None
    pieces = _pieces(terms) if np.all(terms.per_column() <= 2) else _pieces_of_basis(terms)
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

    def per_column(self) -> IntArray:
        """The number of terms of each column."""
        return np.bincount(self.column, minlength=self.columns)


def _without_pinned(terms: _Terms) -> tuple[_Terms, BoolArray]:
    """The terms of the columns that can deviate, and which columns cannot.

    A column that is alone in a relation cannot deviate. Without it another one may be alone in its relation, and so on.
    """
    pinned = np.zeros(terms.columns, dtype=bool)
    while True:
        alone = (np.bincount(terms.row, minlength=terms.rows) == 1)[terms.row]
        if not alone.any():
            return terms, pinned
        pinned[terms.column[alone]] = True
        terms = terms.only(~pinned[terms.column])


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Blocks of relations, and the pieces of each column: its terms in one block are one piece.

    A piece with two terms is an arc between two relations of its block. A piece with a single term is an arc between its
    relation and the ground node, an additional node of the block. Mostly all relations are one block. There are several if the
    presolve made one column of two cells, such as the total of a subtable and another cell: this column then has a piece in the
    block of the subtable and a piece in that of the other relations.
    """

    column: IntArray  # column of each piece, in order
    block: IntArray
    tail: IntArray  # relations, or ground nodes, which are numbered after the relations
    head: IntArray
    single: BoolArray  # per term, whether it is the only one of its piece
    columns: int
    nodes: int


def _pieces(terms: _Terms) -> _Pieces | None:
    """The blocks and pieces of these terms; None if a block is not a network.

    At first every relation is a block. A column with a single term in each of two blocks joins them, until no column does.
    """
    m = terms.rows
    a = b = np.zeros(0, dtype=np.int64)  # the two terms of each column that joins blocks
    while True:
        # Each relation is two nodes, itself and its negative: nodes that must have the same sign are joined.
        like = (terms.sign[a] == terms.sign[b]) * m
        here, there = terms.row[a], terms.row[b]
        _, label = joined(np.r_[here, here + m], np.r_[there + like, there + m - like], 2 * m)
        if np.any(label[:m] == label[m:]):
            return None
        block = np.minimum(label[:m], label[m:])
        key, piece, size = np.unique(terms.column * 2 * m + block[terms.row], return_inverse=True, return_counts=True)
        single = size[piece] == 1
        joining = np.flatnonzero(single)
        joining = joining[(terms.only(single).per_column() == 2)[terms.column[joining]]]
        if not len(joining):
            break
        a, b = np.r_[a, joining[::2]], np.r_[b, joining[1::2]]
    sign = np.where(label[:m] < label[m:], 1, -1)[terms.row] * terms.sign
    if np.any(size > 2) or np.any(np.bincount(piece, sign)[size == 2]):
        return None
    column, block = np.divmod(key, 2 * m) if m else (key, key)
    tail, head = m + block, m + block
    tail[piece[sign < 0]], head[piece[sign > 0]] = terms.row[sign < 0], terms.row[sign > 0]
    return _Pieces(column, block, tail, head, single, terms.columns, 3 * m)


def _pieces_of_basis(terms: _Terms) -> _Pieces | None:
    """The pieces of a network of relations that imply all others.

    Relations are kept in rounds, and those that the kept ones imply are dropped. A round keeps the relations with a column that
    is in at most two of the remaining relations. In a table with one hierarchy this proceeds level by level, because the
    relations of a group follow from those of its parts. If there is no such column, a round keeps the relations with a column
    that has two pieces of a single term, or if there is none either, one such piece.
    """
    kept, left = np.zeros(terms.rows, dtype=bool), np.bincount(terms.row, minlength=terms.rows) > 0
    remaining, single = np.ones((2, len(terms.row)), dtype=bool)
    pieces = None
    while left.any():
        singles = terms.only(single).per_column()
        choices = (terms.only(remaining).per_column() <= 2, singles == 2, singles == 1)
        candidates = (
            (np.bincount(terms.row[columns[terms.column]], minlength=terms.rows) > 0) & left for columns in choices
        )
        new = next((rows for rows in candidates if rows.any()), None)
        if new is None:
            return None
        kept |= new
        pieces = _pieces(terms.only(kept[terms.row]))
        arcs = None if pieces is None else _arcs(pieces)
        if pieces is None or arcs is None:
            return None
        left &= ~kept
        left &= ~_implied(terms.only(left[terms.row]), *arcs)
        remaining, single = (kept | left)[terms.row], left[terms.row]
        single[kept[terms.row]] = pieces.single
    return pieces


def _arcs(pieces: _Pieces) -> tuple[IntArray, IntArray, int] | None:
    """The tail and head of each column, and the number of nodes; None if columns connect the blocks in cycles.

    The pieces of a column form a ring: the flow that leaves one block enters the next. Since blocks have nothing else in
    common, the same amount flows through all pieces of a column, so that all but one can be left out.
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
        parts, _ = joined(pieces.block[shared], pieces.nodes + column[shared], size)
        if size - parts < shared.sum():
            return None
        _, node = joined(pieces.tail[rest], pieces.head[following[rest]], pieces.nodes)
        tail, head = node[tail], node[head]
    names, ends = np.unique(np.concatenate([tail, head]), return_inverse=True)
    return ends[: len(tail)], ends[len(tail) :], len(names)


def _implied(terms: _Terms, tail: IntArray, head: IntArray, nodes: int) -> BoolArray:
    """The relations that a network implies: each weight is the difference between the potentials of the ends of its arc.

    Potentials are sums of weights along a spanning tree. Everything is in integers, because a relation that is left out by
    mistake could make an exposed cell look safe.
    """
    implied = np.ones(terms.rows, dtype=bool)
    implied[terms.row[(tail == head)[terms.column]]] = False  # the ends of a loop have the same potential
    terms = terms.only(implied[terms.row])
    _, label = joined(tail, head, nodes)
    # An arc from each connected component to a common root, which is in no relation, makes one tree.
    tops = np.unique(label, return_index=True)[1]
    above, below = np.r_[tail, tops], np.r_[head, np.full(len(tops), nodes)]
    _, parent = csgraph.breadth_first_order(_graph(above, below, nodes + 1), nodes, directed=False)
    # One of several parallel arcs to the parent is in the tree.
    tree_arc, sign = np.zeros((2, nodes), dtype=np.int64)
    for upper, lower, direction in ((above, below, 1), (below, above, -1)):
        found = np.flatnonzero(parent[lower] == upper)
        tree_arc[lower[found]], sign[lower[found]] = found, direction
    weights = terms.sign.astype(np.int64), (terms.row, terms.column)
    weight = sparse.csr_array(weights, shape=(terms.rows, len(above)))
    inner = np.flatnonzero(parent[:nodes] < nodes)
    descent = sparse.csr_array((np.ones_like(inner), (parent[inner], inner)), shape=(nodes, nodes))
    potential = sparse.csr_array(weight[:, tree_arc] * sign)
    while descent.nnz:  # sums over paths of twice the length in each round
        potential = potential + potential @ descent
        descent = descent @ descent
    wrong = potential[:, head] - potential[:, tail] - weight[:, : len(tail)]
    implied[wrong.nonzero()[0]] = False
    return implied


def _graph(tail: IntArray, head: IntArray, nodes: int) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(tail)), (tail, head)), shape=(nodes, nodes))


def joined(tail: IntArray, head: IntArray, nodes: int) -> tuple[int, IntArray]:
    """The number of connected components of a graph, and the component of each node."""
    count, label = csgraph.connected_components(_graph(tail, head, nodes), directed=False)
    return int(count), label.astype(np.int64)


def residual_edges_by_node(tail: IntArray, head: IntArray, nodes: int) -> tuple[IntArray, IntArray]:
    """The residual edges in the order of the nodes that they leave, and the position of the first one of each node.

    Each of n arcs has two residual edges: number k leaves the tail of arc k, number n + k its head.
    """
    ends = np.concatenate([tail, head])
    edges = np.argsort(ends, kind="stable")
    return edges, np.searchsorted(ends[edges], np.arange(nodes + 1))


# -- maximum flows --------------------------------------------------------------------------------------------


def fits_integers(low: FloatArray, high: FloatArray) -> bool:
    """Whether bounds can be rounded to multiples of a unit, which flows add up exactly.

    They can if they are such multiples, or if the largest is at most ``MAX_BOUND_RATIO`` times the smallest.
    """
    slack = np.stack([-low, high])
    size = slack[np.isfinite(slack) & (slack > 0)]
    bound, scale = slacks_in_units(slack)
    round_bounds = not _rounding_share(slack, bound / scale)
    return round_bounds or bool(size.max(initial=0.0) <= MAX_BOUND_RATIO * size.min(initial=np.inf))


def _rounding_share(slack: FloatArray, rounded: FloatArray) -> float:
    """The largest share of a slack that rounding took off."""
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
    """Deviations by which targets reach their levels; the farthest ones if they cannot, and for all with ``intervals``."""
    slack = np.stack([-low, high])
    slack[:, net.pinned] = 0.0
    bound, scale = slacks_in_units(slack)
    if intervals:
        level, sliding = np.full(slack.shape, np.inf), np.zeros(len(low))
    else:  # the largest level first: its deviation often settles other targets too
        targets = targets[np.argsort(-np.maximum(level.max(axis=0), sliding / 2)[targets], kind="stable")]
    needed = np.ascontiguousarray(level * scale), np.ascontiguousarray(sliding * scale)
    task = FlowTask(
        bound,
        _unbounded_components(net, bound),
        np.array(targets, dtype=np.int64),
        *needed,
        tolerances.LEVEL_TOLERANCE,
        max(scale, 1.0),
    )
    shown, (begin, column, amount) = maximize_flows(net.tail, net.head, net.nodes, task, keep=certify)
    amount = np.clip(amount / scale, -slack[DOWN][column], slack[UP][column])
    reach = np.minimum(shown.reach / scale, slack)
    # A maximum flow is a sum of bounds, so rounding took at most the largest share of a bound off it.
    share = _rounding_share(slack, bound / scale)
    unrounded = np.minimum(reach / (1 - share), slack) if share < 1 else slack
    limit = np.where(shown.farthest | (shown.reach >= bound), unrounded, slack)
    used, by = tables_in_use(shown.by if certify else np.full(shown.by.shape, -1))
    parts = [slice(begin[k], begin[k + 1]) for k in used]
    return ComponentFindings(reach, limit, [Deviation(column[part], amount[part]) for part in parts], by)


def _unbounded_components(net: Network, bound: FloatArray) -> SmallIntArray:
    """The strongly connected component of each node in the graph of unbounded arcs."""
    down, up = np.isinf(bound)
    ends = np.r_[net.tail[up], net.head[down]], np.r_[net.head[up], net.tail[down]]
    _, component = csgraph.connected_components(_graph(*ends, net.nodes), connection="strong")
    return np.asarray(component, dtype=np.int32)
