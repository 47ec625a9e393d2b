"""Congruent tables drawn at random: how likely each value of a suppressed cell is, if all tables that agree are equally so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import null_space

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks.exact import ExactIntervals, ReducedSystem, exact
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.errors import InputError
from discreet.inference.congruent import components
from discreet.progress import Budget, Progress, Silent
from discreet.solvers import new_model

LARGEST = 1_200  # cells that hang together; the directions in which more can move do not fit into memory comfortably
CHAINS = 4
SETTLED = 1.05  # split R-hat below which chains from different places count as having met
EFFECTIVE = 100  # independent draws that quantiles take at least
WARM_UP = 100  # ends from which the shape is learnt


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(Finding):
    """Quantiles of every cell over congruent tables drawn uniformly; the range is that of the middle ``share``.

    ``settled`` says whether the chains agree (split R-hat and the effective number of draws); where they do not, or a cell
    has no end, the quantiles are no evidence.
    """

    share: float
    median: FloatArray
    r_hat: FloatArray
    effective: FloatArray
    settled: BoolArray

    def _more(self) -> dict[str, object]:
        return {
            "median": self.median,
            "r_hat": self.r_hat,
            "effective": self.effective,
            "settled": self.settled,
        }


def sample(
    public: Public,
    *,
    draws: int = 1_000,
    thin: int | None = None,
    share: float = 0.9,
    seed: int = 0,
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> Posterior:
    """Draw congruent tables by hit-and-run: from a table go in a random direction to a uniformly random point of the chord.

    ``draws`` are kept in each of four chains, one out of ``thin`` steps (by default as many as the cells that hang together have
    degrees of freedom). Directions are drawn with the spread of the ends of the polytope, fixed beforehand, so that the uniform
    distribution stays as it is. Cells need finite intervals; parts with more than 1,200 cells that hang together are left out.
    """
    if draws < 10 or not 0 < share < 1:
        raise InputError("At least 10 draws are needed, and a share between 0 and 1.")
    progress, budget = progress or Silent(), budget or Budget()
    seen = exact(public, progress=progress)
    out = np.full((6, len(seen.cell)), np.nan)
    open_ = seen.upper > seen.lower
    for row, end in ((0, seen.lower), (1, seen.upper), (2, seen.lower), (3, seen.lower)):
        out[row, ~open_] = end[~open_]
    out[4, ~open_], out[5, ~open_] = 1.0, np.inf
    for members, drawn in walks(public, seen, draws, thin, seed, budget, progress):
        out[:, members] = _summary(drawn, share)
    lower, upper, median, mean, r_hat, effective = out
    with np.errstate(invalid="ignore"):
        settled = (r_hat <= SETTLED) & (effective >= EFFECTIVE)
    return Posterior(
        attack="sample",
        assumes="all tables that agree with what is published are equally likely",
        public=public,
        cell=seen.cell,
        lower=np.where(settled, lower, np.nan),
        upper=np.where(settled, upper, np.nan),
        estimate=mean,
        certain=False,
        share=share,
        median=median,
        r_hat=r_hat,
        effective=effective,
        settled=settled,
    )


def walks(
    public: Public,
    seen: ExactIntervals,
    draws: int,
    thin: int | None,
    seed: int,
    budget: Budget,
    progress: Progress,
) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each set of unknown cells that hang together: which they are, and the draws of all chains, (chain, draw, cell).

    Sets that are too large or without end are left out, and those for which no time is left.
    """
    open_ = seen.upper > seen.lower
    system = ReducedSystem.of(public)
    rows = system.rows
    fixed = np.where(open_, 0.0, seen.lower)
    rhs = system.rhs - rows @ np.where(np.isfinite(fixed), fixed, 0.0)
    parts = list(components(rows, open_ & np.isfinite(seen.lower) & np.isfinite(seen.upper)))
    progress.stage("sample", draws * max(len(parts), 1))
    for k, (members, relations) in enumerate(parts):
        if len(members) > LARGEST or _endless(rows, members, seen.upper, seen.lower) or budget.over:
            continue

        def advance(done: int, before: int = k * draws) -> None:
            progress.update(before + done)

        mine = rhs[np.diff(sparse.csr_array(rows[:, members]).indptr) > 0]
        rng = np.random.default_rng([seed, k])
        part = _Polytope.of(relations, mine, seen.lower[members], seen.upper[members], rng)
        yield members, part.walk(draws, thin, budget, advance)


def _endless(rows: sparse.csr_array, members: IntArray, upper: FloatArray, lower: FloatArray) -> bool:
    """Whether cells without end hang on these: then there is no uniform distribution."""
    touching = np.flatnonzero(np.diff(sparse.csr_array(rows[:, members]).indptr) > 0)
    there = np.unique(sparse.csr_array(rows[touching]).indices)
    return bool(np.any(~np.isfinite(upper[there]) | ~np.isfinite(lower[there])))


@dataclass(frozen=True, eq=False)
class _Polytope:
    """All moves away from a table in the middle: ``low <= basis @ z <= high``."""

    centre: FloatArray
    shape: FloatArray  # (cells, freedom): directions, longer where there is more slack
    low: FloatArray
    high: FloatArray
    starts: FloatArray
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        relations: sparse.csr_array,
        rhs: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        rng: np.random.Generator,
    ) -> _Polytope:
        centre = _middle(relations, rhs, lower, upper)
        basis = null_space(relations.toarray() * (upper - lower)) * (upper - lower)[:, None]
        ends = _ends(relations, rhs, lower, upper, rng)
        place = np.linalg.lstsq(basis, (ends - centre).T, rcond=None)[0].T
        spread = np.atleast_2d(np.cov(place, rowvar=False))
        ridge = 0.05 * np.trace(spread) / len(spread) * np.eye(len(spread))
        shape = basis @ np.linalg.cholesky(spread + ridge)
        # Chains begin far apart: near different ends.
        starts = 0.8 * (basis @ place[:CHAINS].T).T
        return cls(centre, shape, lower - centre, upper - centre, starts, rng)

    def walk(self, draws: int, thin: int | None, budget: Budget, advance: Callable[[int], None]) -> FloatArray:
        """Draws of all chains, (chain, draw, cell), after a first quarter that is thrown away."""
        freedom = self.shape.shape[1]
        thin = max(1, min(freedom, 50)) if thin is None else thin
        at, kept = self.starts.copy(), np.empty((CHAINS, draws, len(self.centre)))
        burn = draws // 4
        for step in range(-burn, draws):
            for _ in range(thin):
                at = self._step(at, self.rng.standard_normal((CHAINS, freedom)) @ self.shape.T)
            if step >= 0:
                kept[:, step] = at
            if step % 100 == 0:
                advance(max(step, 0))
                if budget.over:
                    return kept[:, : max(step, 0)] + self.centre
        return kept + self.centre

    def _step(self, at: FloatArray, direction: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([(self.low - at) / direction, (self.high - at) / direction])
        flat = np.abs(direction) < 1e-14 * np.abs(direction).max()
        back = np.where(flat, -np.inf, ends.min(axis=0)).max(axis=1)
        forth = np.where(flat, np.inf, ends.max(axis=0)).min(axis=1)
        back, forth = np.minimum(back, 0.0), np.maximum(forth, 0.0)
        far = back + (forth - back) * self.rng.random(len(at))
        return np.asarray(np.clip(at + far[:, None] * direction, self.low, self.high))


def _middle(relations: sparse.csr_array, rhs: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """A table as far from all bounds as can be, in proportion to the intervals."""
    n, width = len(lower), upper - lower
    # Cells as shares of their intervals, and last how far all keep from the ends.
    eye, one = sparse.eye_array(n), np.ones((n, 1))
    rows = sparse.csr_array(sparse.block_array([[relations * width, None], [eye, -one], [eye, one]], format="csr"))
    left = rhs - relations @ lower
    slack = 1e-9 * (abs(relations) @ width)
    least, most = (
        np.r_[left - slack, np.zeros(n), np.full(n, -np.inf)],
        np.r_[left + slack, np.full(n, np.inf), np.ones(n)],
    )
    model = new_model("dual")
    model.load(np.r_[np.zeros(n), 1.0], np.zeros(n + 1), np.r_[np.ones(n), 0.5], rows, least, most)
    model.maximize(True)
    return np.asarray(lower + width * model.solve().primal[:n])


def _ends(
    relations: sparse.csr_array, rhs: FloatArray, lower: FloatArray, upper: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Some ends of the polytope, in random directions."""
    n, width = len(lower), upper - lower
    slack = 1e-9 * (abs(relations) @ width)
    model = new_model("primal")
    left = rhs - relations @ lower
    model.load(np.zeros(n), np.zeros(n), np.ones(n), sparse.csr_array(relations * width), left - slack, left + slack)
    ends = []
    for _ in range(WARM_UP):
        model.set_cost(np.arange(n), rng.standard_normal(n))
        ends.append(lower + width * model.solve().primal)
    return np.array(ends)


def _summary(drawn: FloatArray, share: float) -> FloatArray:
    """Lower and upper quantile, median, mean, R-hat and effective number of draws of each cell."""
    _, many, cells = drawn.shape
    if many < 10:
        return np.full((6, cells), np.nan)
    flat = drawn.reshape(-1, cells)
    tail = (1 - share) / 2
    quantiles = np.quantile(flat, [tail, 1 - tail, 0.5], axis=0)
    return np.vstack([quantiles, flat.mean(axis=0), *agreement(drawn)])


def agreement(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split R-hat, and the effective number of draws by batch means (Gelman et al., Bayesian Data Analysis, 11.4)."""
    chains, many, cells = drawn.shape
    half = many // 2
    pieces = drawn[:, : 2 * half].reshape(2 * chains, half, cells)
    within = pieces.var(axis=1, ddof=1).mean(axis=0)
    between = pieces.mean(axis=1).var(axis=0, ddof=1)
    total = within * (half - 1) / half + between
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.where(within > 0, np.sqrt(total / within), np.nan)
        size = max(int(np.sqrt(half)), 1)
        batches = pieces[:, : size * (half // size)].reshape(2 * chains, half // size, size, cells).mean(axis=2)
        noise = batches.reshape(-1, cells).var(axis=0, ddof=1) * size
        effective = np.where(noise > 0, 2 * chains * half * total / noise, np.nan)
    return r_hat, np.minimum(effective, 2.0 * chains * half)
