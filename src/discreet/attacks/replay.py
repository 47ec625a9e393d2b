"""The attacker who knows the method: congruent tables that would have led to the same publication."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import FloatArray
from discreet.attacks.exact import ExactIntervals, exact
from discreet.attacks.finding import Finding
from discreet.attacks.lattice import Lattice
from discreet.attacks.likelihoods import Drawing, drawing_model, likelihood_of
from discreet.attacks.public import Public
from discreet.attacks.recipe import Recipe
from discreet.attacks.sample import CHAINS, SAMPLING_TOO_SLOW, agreement, obstacle_to_sampling, walks
from discreet.errors import DiscreetError, InputError
from discreet.problem import Problem, Status
from discreet.progress import Budget, OutOfTime, Progress, Silent, Timed
from discreet.protection import Protection
from discreet.secret import Secret

MIN_INDEPENDENT_DRAWS = 39  # the range of n draws contains the next one with probability (n − 1)/(n + 1): 95 percent
MAX_INDEPENDENT_DRAWS = 400  # at which trying ends: the standard error of a 2.5 percent tail is 0.8 percentage points
MAX_ENUMERATED_TABLES = 5_000  # tried one by one; of more tables a sample is tried
TABLES_BEFORE_FORECAST = 50  # after which the share of tables that are kept is known well enough for a forecast
MAX_RUNS_PER_TABLE = 20  # with fresh secrets, for methods whose draws are not known; nearly all time goes into runs
APPROXIMATE_MATCH_WIDTH = 0.15  # of an interval: drawn ends closer than this match; smaller values keep too few runs
REPEATED_RUN_TOLERANCE = 1e-9  # relative difference between published numbers of two runs with the same input
CUMULATION_TOLERANCE = 1e-12  # of sums of up to 5,000 probabilities


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Replayed(Finding):
    """The middle share, by default 95 percent, of the values of each unknown cell in tables that lead to the same publication.

    Each table is weighted by the probability that it leads to this publication. ``baseline_lower`` and ``baseline_upper``: the
    same over all tables that were tried, with equal weights, as for an attacker who does not know the method.
    ``all_tables``: all congruent tables of integers were tried. ``estimated``: probabilities are estimates. If all tables were
    tried and probabilities are not estimates, the posterior is exact and the finding ``complete``; otherwise it rests on
    ``effective`` independent draws, of tables or of the method. With fewer than 39 nothing is claimed.
    """

    baseline_lower: FloatArray
    baseline_upper: FloatArray
    tried: int
    kept: int
    effective: float
    all_tables: bool
    estimated: bool
    obstacle: str  # why no tables were tried, if none were

    @property
    def complete(self) -> bool:
        return self.all_tables and not self.estimated

    @property
    def reason_without_claims(self) -> str:
        return (
            f"too few tables for a statement: {self.basis()}"
            if self.tried
            else self.obstacle or super().reason_without_claims
        )

    def baseline(self) -> Finding:
        """The finding of the same attacker without knowledge of the method."""
        return replace(self, lower=self.baseline_lower, upper=self.baseline_upper)

    def basis(self) -> str:
        """The number of tables and draws on which the finding rests, in words."""
        if self.complete:
            return f"all {self.tried:,} congruent tables were tried, {self.kept:,} lead to this publication"
        if self.all_tables:
            tables = f"all {self.tried:,} congruent tables were tried, {self.kept:,} may lead to this publication"
            return f"{tables} (with probabilities estimated as from {self.effective:,.0f} draws)"
        tables = f"of {self.tried:,} tables drawn, {self.kept:,} lead to this publication"
        return f"{tables} (equivalent to {self.effective:,.0f} independent ones)"


def replay(
    public: Public,
    recipe: Recipe,
    *,
    draws: int = 1_000,
    share: float = 0.95,
    seed: int = 0,
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> Replayed:
    """Run the method on congruent tables, and keep those that lead to the same publication.

    If there are at most 5,000 congruent tables of integers, all are tried, in random order. Otherwise tables are drawn by
    hit-and-run in four chains, ``draws`` in each, and rounded to the last digit. All are equally likely a priori, and
    contributions are uniformly random shares of their cells.

    A table is weighted by the probability that it leads to the publication. If the method draws from an unknown secret, this
    is, in order of preference,

    1. the formula for this method;
    2. the probability that the published value of the sensitive cell is drawn, times the share of such draws with which a run
       leads to the publication;
    3. the share of runs with fresh secrets that lead approximately to the publication.

    Tables are tried until enough are kept, until the ``budget`` is used up, or until it is clear that it will be used up before
    39 tables are kept.
    """
    if draws < 10 or not 0 < share < 1:
        raise InputError("The attack 'replay' needs 10 draws or more, and a share between 0 and 1.")
    progress, budget = progress or Silent(), budget or Budget()
    intervals = exact(public, progress=progress)
    cells, rng = public.unknown, np.random.default_rng([seed, 2])
    tables, independence, enumerated = _candidates(public, intervals, draws, seed, budget, progress)
    obstacle = None if len(tables) else obstacle_to_sampling(public, intervals)
    tables = tables[rng.permutation(len(tables))]
    trial = _Trial(public, recipe, budget, rng)
    try:
        weight, hits = _weigh(trial, tables, independence, enumerated, progress)
    except _UnknownDrawsError:
        trial.use_fresh_secrets()
        weight, hits = _weigh(trial, tables, independence, enumerated, progress)
    tried = len(weight)
    kept = weight > 0
    all_tables = enumerated and tried == len(tables)
    complete = all_tables and not trial.estimates
    effective = _equivalent_tables(weight) if complete else _independent(weight, hits, independence, all_tables)
    columns = np.full((5, len(cells)), np.nan)
    if kept.any() and (complete or effective >= MIN_INDEPENDENT_DRAWS):
        columns[:2] = _central_interval(tables[:tried], weight, share)
        columns[2] = np.average(tables[:tried], axis=0, weights=weight)
        columns[3:] = _central_interval(tables[:tried], np.ones(tried), share)
    return Replayed(
        attack="replay",
        assumes="the method, rules, costs and public seed are known; all congruent tables are equally likely a priori",
        public=public,
        cell=cells,
        lower=columns[0],
        upper=columns[1],
        estimate=columns[2],
        certain=False,
        baseline_lower=columns[3],
        baseline_upper=columns[4],
        tried=tried,
        kept=int(kept.sum()),
        effective=effective,
        all_tables=all_tables,
        estimated=trial.estimates,
        obstacle=obstacle or SAMPLING_TOO_SLOW,
    )


def _candidates(
    public: Public, intervals: ExactIntervals, draws: int, seed: int, budget: Budget, progress: Progress
) -> tuple[FloatArray, float, bool]:
    """The unknown cells of congruent tables, one row each; how many independent tables a row counts as; whether these are all."""
    lattice = Lattice.of(public, intervals)
    enumerated = None if lattice is None else lattice.tables(MAX_ENUMERATED_TABLES)
    if enumerated is not None:
        return enumerated, 1.0, True
    drawn = np.broadcast_to(intervals.lower, (CHAINS * draws, len(intervals.cell))).copy()
    settled, independence = ~(intervals.upper > intervals.lower), 1.0
    for members, walked in walks(public, intervals, draws, None, seed, budget.share(0.3), progress):
        if walked.shape[1] < draws:
            break
        drawn[:, members] = walked.reshape(-1, len(members))
        settled[members] = True
        _, effective = agreement(walked)
        independence = min(independence, float(np.nanmin(effective, initial=np.inf)) / len(drawn))
    if not settled.all():  # too large, unbounded, or out of time
        return drawn[:0], 0.0, False
    if lattice is not None:
        drawn, _ = lattice.rounded(drawn)
    return drawn, independence, False


class _UnknownDrawsError(Exception):
    """The draws of the method are not known for some table."""


class _Trial:
    """The probability that a table leads to the publication, one table at a time."""

    def __init__(self, public: Public, recipe: Recipe, budget: Budget, rng: np.random.Generator) -> None:
        self.public, self.recipe, self.budget, self.rng = public, recipe, budget, rng
        secret = recipe.draws_in_secret
        self.likelihood = likelihood_of(recipe.method) if secret else None
        self.estimates = secret and self.likelihood is None
        self.drawing_model = drawing_model(recipe.method) if self.estimates else None
        self.runs_per_table = MAX_RUNS_PER_TABLE if self.estimates and self.drawing_model is None else 1
        self._cache: dict[bytes, tuple[float, float]] = {}
        self._value = np.where(public.lower < public.upper, 0.0, public.lower)

    def use_fresh_secrets(self) -> None:
        """Run the method with fresh secrets for all tables: probabilities of different kinds cannot be compared."""
        self.drawing_model, self.runs_per_table, self._cache = None, MAX_RUNS_PER_TABLE, {}

    def probability(self, table: FloatArray) -> tuple[float, float]:
        """The probability that a table leads to the publication, and the number of draws behind it; may raise OutOfTime."""
        key = table.tobytes()
        if self.runs_per_table > 1 or self.recipe.draws_contributions or key not in self._cache:
            value = self._value.copy()
            value[self.public.unknown] = table
            self._cache[key] = self._probability(value)
        return self._cache[key]

    def _probability(self, value: FloatArray) -> tuple[float, float]:
        """As :meth:`probability`, for the values of all cells. It is zero if rules, costs or the method reject the table."""
        try:
            problem = self.recipe.problem(self.public, value, self.rng)
        except DiscreetError:
            return 0.0, 0.0
        if _contradicts_statuses(self.public, problem):
            return 0.0, 0.0
        if self.likelihood is not None:
            return self.likelihood(problem, self.public), np.inf
        if not self.recipe.draws_in_secret:
            return float(self._leads_to_publication(problem, self.recipe.seed)), np.inf
        if self.drawing_model is not None:
            drawn = self.drawing_model(problem, self.public)
            if drawn is None:
                raise _UnknownDrawsError
            return drawn.probability * self._leading_share(problem, drawn), drawn.hits
        leads = float(self._leads_to_publication(problem, int(self.rng.integers(1 << 31))))
        return leads, leads

    def _leading_share(self, problem: Problem, drawn: Drawing) -> float:
        """The share of the draws that lead to the publication, by bisection; the draws that lead to it are first in order."""
        draws = len(drawn.numbers)
        if not drawn.probability or not self._draw_leads(problem, drawn, 0):
            return 0.0
        if draws == 1 or self._draw_leads(problem, drawn, draws - 1):
            return 1.0
        return bisect(range(draws), False, 1, draws - 1, key=lambda k: not self._draw_leads(problem, drawn, k)) / draws

    def _draw_leads(self, problem: Problem, drawn: Drawing, place: int) -> bool:
        return self._leads_to_publication(problem, self.recipe.seed, drawn.secret(place))

    def _leads_to_publication(self, problem: Problem, seed: int, secret: Secret | None = None) -> bool:
        try:
            found = self.recipe.protect(problem, seed, Timed(Silent(), self.budget), secret)
        except (DiscreetError, ArithmeticError):
            return False
        if self.recipe.draws_in_secret and secret is None:
            return _matches_approximately(self.public, found)
        columns = (
            (found.published, self.public.published),
            (found.lower, self.public.published_lower),
            (found.upper, self.public.published_upper),
        )
        tolerance = REPEATED_RUN_TOLERANCE
        return all(np.allclose(one, seen, rtol=tolerance, atol=tolerance, equal_nan=True) for one, seen in columns)


def _weigh(
    trial: _Trial, tables: FloatArray, independence: float, enumerated: bool, progress: Progress
) -> tuple[FloatArray, FloatArray]:
    """The probability that each table leads to the publication and the draws behind it, for the tables tried in time."""
    budget, sums, runs = trial.budget, np.zeros((2, len(tables))), np.zeros(len(tables))
    planned, tried, started = trial.runs_per_table * len(tables), len(tables), budget.spent
    progress.stage("replay", planned)
    for number in range(planned):
        k, seen = number % len(tables), min(number, tried)
        independent = 0.0
        if budget.seconds is not None:
            all_tables = enumerated and seen == len(tables)
            weight = sums[0, :seen] / np.maximum(runs[:seen], 1)
            independent = _independent(weight, sums[1, :seen], independence, all_tables)
        hopeless = 1 < number <= TABLES_BEFORE_FORECAST and _is_hopeless(independent, number, planned, budget, started)
        try:
            if budget.over or hopeless or independent >= MAX_INDEPENDENT_DRAWS:
                raise OutOfTime
            sums[:, k] += trial.probability(tables[k])
        except OutOfTime:
            tried = seen
            break
        runs[k] += 1
        progress.update(number + 1)
        if number == 0:  # the first table takes longer, because modules are loaded
            started = budget.spent
    return sums[0, :tried] / np.maximum(runs[:tried], 1), sums[1, :tried]


def _independent(weight: FloatArray, hits: FloatArray, independence: float, all_tables: bool) -> float:
    """The equivalent number of independent draws: of the method, and of tables unless all were tried."""
    kept = weight > 0
    share = weight[kept] / weight.max(initial=1e-300)
    by_draws = float(share.sum() ** 2 / max((share**2 / hits[kept]).sum(), 1e-300))
    return by_draws if all_tables else min(by_draws, independence * _equivalent_tables(weight))


def _equivalent_tables(weight: FloatArray) -> float:
    """Kish's effective sample size, the number of equally weighted tables whose mean varies as much: (Σ w)² / Σ w²."""
    share = weight / max(weight.max(initial=0.0), 1e-300)  # squares of probabilities of large tables would underflow
    return float(share.sum() ** 2 / max((share**2).sum(), 1e-300))


def _is_hopeless(independent: float, runs_done: int, planned: int, budget: Budget, started: float) -> bool:
    """Whether at the speed of the runs done so far the budget will end before enough tables are kept, or all runs are done."""
    if budget.seconds is None:
        return False
    seconds_each = (budget.spent - started) / (runs_done - 1)  # the first table, which takes longer, does not count
    if runs_done == TABLES_BEFORE_FORECAST:
        needed = MIN_INDEPENDENT_DRAWS * runs_done / (independent + 1)
    else:  # which of the first tables are kept is chance, so all further ones are assumed to be kept
        needed = MIN_INDEPENDENT_DRAWS - runs_done
    return min(needed, planned) * seconds_each > budget.seconds - started


def _contradicts_statuses(public: Public, problem: Problem) -> bool:
    """Whether statuses alone rule the publication out, so that the method need not be run."""
    suppressed, tolerance = np.isnan(public.published), REPEATED_RUN_TOLERANCE
    changed = ~suppressed & ~np.isclose(public.published, problem.table.value, rtol=tolerance, atol=tolerance)
    wrong = (problem.status == Status.PUBLISHED) & (suppressed | changed)
    return bool(np.any(wrong | ((problem.status == Status.SUPPRESSED) & ~suppressed)))


def _matches_approximately(public: Public, found: Protection) -> bool:
    """Whether the same cells are suppressed or have intervals; their ends may differ in sensitive cells by 15 % of the width.

    No two draws lead to exactly the same numbers, so similar ones count: this is approximate Bayesian computation.
    """
    ends = ((public.published_lower, found.lower), (public.published_upper, found.upper))
    if np.any(np.isnan(public.published) != np.isnan(found.published)):
        return False
    if any(np.any(np.isfinite(seen) != np.isfinite(one)) for seen, one in ends):
        return False
    cells = found.problem.primaries
    width = (public.upper - public.lower)[cells]
    with np.errstate(invalid="ignore"):
        differences = [np.nan_to_num(np.abs(seen - one)[cells]) for seen, one in ends]
    return all(np.all(difference <= APPROXIMATE_MATCH_WIDTH * width) for difference in differences)


def _central_interval(tables: FloatArray, weight: FloatArray, share: float) -> FloatArray:
    """The weighted interval of the middle share of each cell: one row of lower and one of upper ends."""
    tail = (1 - share) / 2
    order = np.argsort(tables, axis=0, kind="stable")
    values = np.take_along_axis(tables, order, axis=0)
    cumulative = np.cumsum(weight[order], axis=0) / weight.sum()
    first = np.argmax(cumulative > tail + CUMULATION_TOLERANCE, axis=0)
    last = np.argmax(cumulative >= 1 - tail - CUMULATION_TOLERANCE, axis=0)
    at = np.arange(tables.shape[1])
    return np.stack([values[first, at], values[last, at]])
