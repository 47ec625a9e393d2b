"""Congruent tables drawn uniformly at random: quantiles of every suppressed cell."""

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
from discreet.inference.congruent_tables import components
from discreet.progress import Budget, Progress, Silent
from discreet.solvers import new_model

MAX_CELLS_PER_COMPONENT = 1_200  # linear algebra on components is dense: 12 MB per matrix here, and cubic time
CHAINS = 4  # enough to notice that one of them has not reached the others
MAX_R_HAT = 1.05  # split R-hat up to which chains from different starts count as converged
MIN_EFFECTIVE_DRAWS = 100  # five of them are in each tail outside the 90 percent interval
SAMPLING_TOO_SLOW = "the time was too short"
SHAPE_VERTICES = 100  # vertices of the polytope from which its spread is estimated; one linear program each


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(Finding):
    """Quantiles of every cell over congruent tables drawn uniformly; the interval is that of the middle ``share``."""

    share: float
    median: FloatArray
    r_hat: FloatArray
    effective: FloatArray
    settled: BoolArray  # the chains have converged, by R-hat and effective draws; otherwise quantiles are no evidence
    obstacle: str  # why no cell could be sampled, if none could

    @property
    def reason_without_claims(self) -> str:
        return self.obstacle or super().reason_without_claims

    def _extra_columns(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("median", "r_hat", "effective", "settled")}


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

    ``draws`` are kept in each of four chains, one out of ``thin`` steps (by default the degrees of freedom of the connected
    component, 50 at most). Directions are drawn with the spread of the vertices of the polytope. It is fixed beforehand, so the
    distribution stays uniform. Cells need finite intervals; components with more than 1,200 cells are left out.
    """
    if draws < 10 or not 0 < share < 1:
        raise InputError("The attack 'sample' needs 10 draws or more, and a share between 0 and 1.")
    progress, budget = progress or Silent(), budget or Budget()
    intervals = exact(public, progress=progress)
    out = np.full((6, len(intervals.cell)), np.nan)
    fixed = ~(intervals.upper > intervals.lower)
    value = intervals.lower[fixed]
    out[:, fixed] = (value, intervals.upper[fixed], value, value, np.ones_like(value), np.full_like(value, np.inf))
    for members, drawn in walks(public, intervals, draws, thin, seed, budget, progress):
        out[:, members] = _summary(drawn, share)
    lower, upper, median, mean, r_hat, effective = out
    with np.errstate(invalid="ignore"):
        settled = (r_hat <= MAX_R_HAT) & (effective >= MIN_EFFECTIVE_DRAWS)
    return Posterior(
        attack="sample",
        assumes="all congruent tables are equally likely",
        public=public,
        cell=intervals.cell,
        lower=np.where(settled, lower, np.nan),
        upper=np.where(settled, upper, np.nan),
        estimate=mean,
        certain=False,
        share=share,
        median=median,
        r_hat=r_hat,
        effective=effective,
        settled=settled,
        obstacle=obstacle_to_sampling(public, intervals)
        or (SAMPLING_TOO_SLOW if budget.over else "the draws have not converged"),
    )


def obstacle_to_sampling(public: Public, intervals: ExactIntervals) -> str | None:
    """Why some cells cannot be sampled in any time; None if all can."""
    unknown = intervals.upper > intervals.lower
    if not np.isfinite(intervals.upper - intervals.lower)[unknown].all():
        return "some suppressed cells are unbounded"
    largest = max((len(members) for members, _ in components(ReducedSystem.of(public).rows, unknown)), default=0)
    if largest > MAX_CELLS_PER_COMPONENT:
        return f"{largest:,} suppressed cells are connected, and at most {MAX_CELLS_PER_COMPONENT:,} can be sampled together"
    return None


def walks(
    public: Public,
    intervals: ExactIntervals,
    draws: int,
    thin: int | None,
    seed: int,
    budget: Budget,
    progress: Progress,
) -> Iterator[tuple[IntArray, FloatArray]]:
    """The cells of each connected component of unknown cells, and the draws of all chains: (chain, draw, cell).

    Components that are too large or unbounded, and those for which no time is left, are left out.
    """
    system = ReducedSystem.of(public)
    rows = system.rows
    unknown = intervals.upper > intervals.lower
    bounded = np.isfinite(intervals.lower) & np.isfinite(intervals.upper)
    rhs = system.rhs - rows @ np.where(~unknown & np.isfinite(intervals.lower), intervals.lower, 0.0)
    blocks = list(components(rows, unknown & bounded))
    progress.stage("sample", draws * max(len(blocks), 1))
    for k, (members, relations) in enumerate(blocks):
        touching = np.flatnonzero(np.diff(sparse.csr_array(rows[:, members]).indptr) > 0)
        neighbours = np.unique(sparse.csr_array(rows[touching]).indices)
        # There is no uniform distribution if an unbounded cell shares a relation with the component.
        if len(members) > MAX_CELLS_PER_COMPONENT or not bounded[neighbours].all() or budget.over:
            continue

        def advance(done: int, before: int = k * draws) -> None:
            progress.update(before + done)

        rng = np.random.default_rng([seed, k])
        polytope = _Polytope.of(relations, rhs[touching], intervals.lower[members], intervals.upper[members], rng)
        yield members, polytope.walk(draws, thin, budget, advance)


@dataclass(frozen=True, eq=False)
class _Polytope:
    """All deviations from a central table: ``low <= shape @ z <= high``."""

    centre: FloatArray
    shape: FloatArray  # (cells, degrees of freedom): directions, longer where the polytope is wider
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
        width = upper - lower
        # The relations of the cells as shares of their intervals, which are fulfilled up to a tolerance.
        rows, left = sparse.csr_array(relations * width), rhs - relations @ lower
        tolerance = 1e-9 * (abs(relations) @ width)
        centre = lower + width * _centre(rows, left, tolerance)
        basis = null_space(relations.toarray() * width) * width[:, None]
        vertices = lower + width * _random_vertices(rows, left, tolerance, rng)
        coordinates = np.linalg.lstsq(basis, (vertices - centre).T, rcond=None)[0].T
        spread = np.atleast_2d(np.cov(coordinates, rowvar=False))
        ridge = 0.05 * np.trace(spread) / len(spread) * np.eye(len(spread))
        shape = basis @ np.linalg.cholesky(spread + ridge)
        # Chains start near different vertices, so that disagreement shows.
        starts = 0.8 * (basis @ coordinates[:CHAINS].T).T
        return cls(centre, shape, lower - centre, upper - centre, starts, rng)

    def walk(self, draws: int, thin: int | None, budget: Budget, advance: Callable[[int], None]) -> FloatArray:
        """Draws of all chains, (chain, draw, cell), after a burn-in of a quarter as many."""
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
        step = back + (forth - back) * self.rng.random(len(at))
        return np.asarray(np.clip(at + step[:, None] * direction, self.low, self.high))


def _centre(rows: sparse.csr_array, left: FloatArray, tolerance: FloatArray) -> FloatArray:
    """The table with the largest minimum distance from all bounds, as shares of the intervals."""
    n = rows.shape[1]
    # Columns: the shares, and last the minimum distance from the ends.
    eye, one = sparse.eye_array(n), np.ones((n, 1))
    rows = sparse.csr_array(sparse.block_array([[rows, None], [eye, -one], [eye, one]], format="csr"))
    row_lower = np.r_[left - tolerance, np.zeros(n), np.full(n, -np.inf)]
    row_upper = np.r_[left + tolerance, np.full(n, np.inf), np.ones(n)]
    model = new_model("dual")
    model.load(np.r_[np.zeros(n), 1.0], np.zeros(n + 1), np.r_[np.ones(n), 0.5], rows, row_lower, row_upper)
    model.maximize(True)
    return np.asarray(model.solve().primal[:n])


def _random_vertices(
    rows: sparse.csr_array, left: FloatArray, tolerance: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Vertices of the polytope in random directions, as shares of the intervals."""
    n = rows.shape[1]
    model = new_model("primal")
    model.load(np.zeros(n), np.zeros(n), np.ones(n), rows, left - tolerance, left + tolerance)
    vertices = []
    for _ in range(SHAPE_VERTICES):
        model.set_cost(np.arange(n), rng.standard_normal(n))
        vertices.append(model.solve().primal)
    return np.array(vertices)


def _summary(drawn: FloatArray, share: float) -> FloatArray:
    """Lower and upper quantile, median, mean, R-hat and effective number of draws of each cell."""
    _, draws, cells = drawn.shape
    if draws < 10:
        return np.full((6, cells), np.nan)
    flat = drawn.reshape(-1, cells)
    tail = (1 - share) / 2
    quantiles = np.quantile(flat, [tail, 1 - tail, 0.5], axis=0)
    return np.vstack([quantiles, flat.mean(axis=0), *agreement(drawn)])


def agreement(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split R-hat, and the effective number of draws by batch means (Gelman et al., Bayesian Data Analysis, 11.4)."""
    chains, draws, cells = drawn.shape
    half = draws // 2
    halves = drawn[:, : 2 * half].reshape(2 * chains, half, cells)
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    total = within * (half - 1) / half + between
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.where(within > 0, np.sqrt(total / within), np.nan)
        size = max(int(np.sqrt(half)), 1)
        batches = halves[:, : size * (half // size)].reshape(2 * chains, half // size, size, cells).mean(axis=2)
        noise = batches.reshape(-1, cells).var(axis=0, ddof=1) * size
        effective = np.where(noise > 0, 2 * chains * half * total / noise, np.nan)
    return r_hat, np.minimum(effective, 2.0 * chains * half)
