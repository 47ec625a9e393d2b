"""An attacker who knows the method: which of the tables that agree would have led to the same publication."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import FloatArray
from discreet.attacks.chances import Chance, chance_of
from discreet.attacks.draws import Drawing, Drawings, drawings_of
from discreet.attacks.exact import ExactIntervals, exact
from discreet.attacks.finding import Finding
from discreet.attacks.lattice import Lattice
from discreet.attacks.public import Public
from discreet.attacks.recipe import Recipe
from discreet.attacks.sample import CHAINS, agreement, walks
from discreet.errors import DiscreetError, InputError
from discreet.problem import Problem, Status
from discreet.progress import Budget, OutOfTime, Progress, Silent, Timed
from discreet.protection import Protection
from discreet.secret import Secret

SHARE = 0.95
LEAST = 39  # draws whose range holds the next one in 95 of 100 cases: (n − 1) / (n + 1)
ENOUGH = 400  # of those that are kept, as independent draws: more would not change a quantile much
LISTED = 5_000  # tables that are gone through one by one; where there are more, some are drawn
TRIED = 50  # tables before it is judged whether enough can be kept in time
SECRETS = 20  # fresh secrets that a method is run with for each table, at most, where it is not known how it draws
NEARLY = 0.15  # of an interval: ends drawn with a secret that differ by less count as the same
SAME = 1e-9  # share by which numbers that were published may differ from those of another run and still be the same
ROUNDING = 1e-12  # of sums of chances


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Replayed(Finding):
    """The middle 95 percent of every unknown cell over the tables that lead to the same publication, each by its chance.

    ``before_lower`` and ``before_upper``: the same over all tables that agree, without knowing the method. With ``every`` all
    whole tables that agree were gone through; chances of a method that draws may be ``estimated``. Where neither tables nor
    chances are, the posterior is exact, and the finding ``complete``; otherwise it rests on ``effective`` independent draws, of
    tables or of what the method draws. Nothing is claimed where these are fewer than 39.
    """

    before_lower: FloatArray
    before_upper: FloatArray
    tried: int
    kept: int
    effective: float
    every: bool
    estimated: bool

    @property
    def complete(self) -> bool:
        return self.every and not self.estimated

    @property
    def silence(self) -> str:
        if not self.tried:
            return "too many cells hang together, or have no end, or time is up"
        return f"too few tables for a statement: {self.words()}"

    def before(self) -> Finding:
        """What the same attacker would say without knowing the method."""
        return replace(self, lower=self.before_lower, upper=self.before_upper)

    def words(self) -> str:
        """How much the finding rests on."""
        if self.complete:
            return f"all {self.tried:,} tables that agree were tried, {self.kept:,} lead to this publication"
        if self.every:
            drawn = f"all {self.tried:,} tables that agree were tried, {self.kept:,} may lead to this publication"
            return f"{drawn} (by chances estimated as from {self.effective:,.0f} draws)"
        drawn = f"of {self.tried:,} tables drawn, {self.kept:,} lead to this publication"
        return f"{drawn} (as good as {self.effective:,.0f} independent ones)"


def replay(
    public: Public,
    recipe: Recipe,
    *,
    draws: int = 1_000,
    share: float = SHARE,
    seed: int = 0,
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> Replayed:
    """Run the method on tables that agree with the publication, and keep those that lead to the same one.

    All whole tables that agree are tried where there are at most 5,000, in random order; otherwise ``draws`` of them in each of
    four chains, by hit-and-run and rounded to the last digit. All are taken as equally likely beforehand, and contributions as
    uniformly random shares of their cells. A random method whose secret is not known counts by the chance of the publication:
    as it is known; or, where it is known how the method draws, as the chance that the sensitive cell is drawn to where it is
    published, if one run with such a draw leads to the publication; or as its share among runs with fresh secrets. Trying ends
    when enough tables are kept, when the ``budget`` is over, or when it is clear that it will be over before 39 are.
    """
    if draws < 10 or not 0 < share < 1:
        raise InputError("At least 10 draws are needed, and a share between 0 and 1.")
    progress, budget = progress or Silent(), budget or Budget()
    seen = exact(public, progress=progress)
    cells, rng = public.unknown, np.random.default_rng([seed, 2])
    tables, worth, complete = _candidates(public, seen, draws, seed, budget, progress)
    order = rng.permutation(len(tables))
    tables = tables[order]
    trial = _Trial(public, recipe, budget, rng)
    try:
        weight, hits = _weigh(trial, tables, worth, complete, progress)
    except _Unclear:
        trial.run_only()
        weight, hits = _weigh(trial, tables, worth, complete, progress)
    tried = len(weight)
    kept = weight > 0
    every = complete and tried == len(tables)
    effective = _effective(weight) if every and not trial.estimates else _independent(weight, hits, worth, every)
    columns = np.full((5, len(cells)), np.nan)
    claims = bool(kept.any()) and ((every and not trial.estimates) or effective >= LEAST)
    if claims:
        columns[:2] = _middle(tables[:tried], weight, share)
        columns[2] = np.average(tables[:tried], axis=0, weights=weight)
        columns[3:] = _middle(tables[:tried], np.ones(tried), share)
    return Replayed(
        attack="replay",
        assumes="the method, rules, costs and public seed are known; all tables that agree are equally likely beforehand",
        public=public,
        cell=cells,
        lower=columns[0],
        upper=columns[1],
        estimate=columns[2],
        certain=False,
        before_lower=columns[3],
        before_upper=columns[4],
        tried=tried,
        kept=int(kept.sum()),
        effective=effective,
        every=every,
        estimated=trial.estimates,
    )


def _candidates(
    public: Public, seen: ExactIntervals, draws: int, seed: int, budget: Budget, progress: Progress
) -> tuple[FloatArray, float, bool]:
    """Tables that agree, with the unknown cells one row each; how many independent ones each is worth; whether these are all."""
    lattice = Lattice.of(public, seen)
    listed = None if lattice is None else lattice.tables(LISTED)
    if listed is not None:
        return listed, 1.0, True
    drawn = np.broadcast_to(seen.lower, (CHAINS * draws, len(seen.cell))).copy()
    settled, worth = ~(seen.upper > seen.lower), 1.0
    for members, walked in walks(public, seen, draws, None, seed, budget.share(0.3), progress):
        if walked.shape[1] < draws:
            break
        drawn[:, members] = walked.reshape(-1, len(members))
        settled[members] = True
        _, independent = agreement(walked)
        worth = min(worth, float(np.nanmin(independent, initial=np.inf)) / len(drawn))
    if not settled.all():  # too large, without end, or out of time
        return drawn[:0], 0.0, False
    if lattice is not None:
        drawn, _ = lattice.near(drawn)
    return drawn, worth, False


class _Unclear(Exception):
    """It is not known how the method draws for some table."""


class _Trial:
    """How likely tables lead to the publication, one at a time."""

    def __init__(self, public: Public, recipe: Recipe, budget: Budget, rng: np.random.Generator) -> None:
        self.public, self.recipe, self.budget, self.rng = public, recipe, budget, rng
        secret = recipe.draws_in_secret
        self.chance: Chance | None = chance_of(recipe.method) if secret else None
        self.drawings: Drawings | None = drawings_of(recipe.method) if secret and self.chance is None else None
        self.estimates = secret and self.chance is None
        self.rounds = SECRETS if self.estimates and self.drawings is None else 1
        self._known: dict[bytes, tuple[float, float]] = {}
        self._value = np.where(public.lower < public.upper, 0.0, public.lower)

    def run_only(self) -> None:
        """From now on the method is run with fresh secrets: chances found in different ways cannot be compared."""
        self.drawings, self.rounds, self._known = None, SECRETS, {}

    def likely(self, table: FloatArray) -> tuple[float, float]:
        """The chance that a table leads to the publication, and how many draws that rests on; raises :class:`OutOfTime`."""
        key = table.tobytes()
        if self.rounds > 1 or self.recipe.draws_contributions or key not in self._known:
            value = self._value.copy()
            value[self.public.unknown] = table
            self._known[key] = self._likely(value)
        return self._known[key]

    def _likely(self, value: FloatArray) -> tuple[float, float]:
        """Tables that rules, costs or the method refuse lead to no publication."""
        try:
            problem = self.recipe.problem(self.public, value, self.rng)
        except DiscreetError:
            return 0.0, 0.0
        if _impossible(self.public, problem):
            return 0.0, 0.0
        if self.chance is not None:
            return self.chance(problem, self.public), np.inf
        if not self.recipe.draws_in_secret:
            return float(self._leads_to(problem, self.recipe.seed)), np.inf
        if self.drawings is not None:
            drawn = self.drawings(problem, self.public)
            if drawn is None:
                raise _Unclear
            return drawn.chance * self._part(problem, drawn), drawn.hits
        leads = float(self._leads_to(problem, int(self.rng.integers(1 << 31))))
        return leads, leads

    def _part(self, problem: Problem, drawn: Drawing) -> float:
        """Which part of the draws leads to the publication: as many as come before the first that does not."""
        if not drawn.chance or not self._with(problem, drawn, 0):
            return 0.0
        leading, not_leading = 1, len(drawn.numbers)  # how many do, and from which on it is open
        if not_leading == 1 or self._with(problem, drawn, not_leading - 1):
            return 1.0
        while not_leading - leading > 1:
            middle = (leading + not_leading) // 2
            if self._with(problem, drawn, middle - 1):
                leading = middle
            else:
                not_leading = middle
        return leading / len(drawn.numbers)

    def _with(self, problem: Problem, drawn: Drawing, place: int) -> bool:
        return self._leads_to(problem, self.recipe.seed, drawn.secret(place))

    def _leads_to(self, problem: Problem, seed: int, secret: Secret | None = None) -> bool:
        try:
            found = self.recipe.protect(problem, seed, Timed(Silent(), self.budget), secret)
        except (DiscreetError, ArithmeticError):
            return False
        if self.recipe.draws_in_secret and secret is None:
            return _nearly(self.public, found)
        columns = (
            (found.published, self.public.published),
            (found.lower, self.public.told_lower),
            (found.upper, self.public.told_upper),
        )
        return all(np.allclose(mine, theirs, rtol=SAME, atol=SAME, equal_nan=True) for mine, theirs in columns)


def _weigh(
    trial: _Trial, tables: FloatArray, worth: float, listed: bool, progress: Progress
) -> tuple[FloatArray, FloatArray]:
    """The chance that each table leads to the publication and how many draws that rests on, of those there is time for."""
    budget, sums, tries = trial.budget, np.zeros((2, len(tables))), np.zeros(len(tables))
    begun, tried = budget.spent, len(tables)
    progress.stage("replay", trial.rounds * len(tables))
    for number, k in enumerate(k for _ in range(trial.rounds) for k in range(len(tables))):
        seen = min(number, tried)
        independent = 0.0
        if budget.seconds is not None:
            every = listed and seen == len(tables)
            independent = _independent(sums[0, :seen] / np.maximum(tries[:seen], 1), sums[1, :seen], worth, every)
        late = 1 < number <= TRIED and _hopeless(independent, number, trial.rounds * len(tables), budget, begun)
        try:
            if budget.over or independent >= ENOUGH or late:
                raise OutOfTime
            sums[:, k] += trial.likely(tables[k])
        except OutOfTime:
            tried = seen
            break
        tries[k] += 1
        progress.update(number + 1)
        if number == 0:  # what is loaded for the first table is there for the others
            begun = budget.spent
    return sums[0, :tried] / np.maximum(tries[:tried], 1), sums[1, :tried]


def _independent(weight: FloatArray, hits: FloatArray, worth: float, every: bool) -> float:
    """As how many independent draws these count: of tables, each ``worth`` so many, and of what the method draws."""
    kept = weight > 0
    share = weight[kept] / weight.max(initial=1e-300)
    by_draws = float(share.sum() ** 2 / max((share**2 / hits[kept]).sum(), 1e-300))
    return by_draws if every else min(by_draws, worth * _effective(weight))


def _effective(weight: FloatArray) -> float:
    """As how many equally likely tables these count."""
    share = weight / max(weight.max(initial=0.0), 1e-300)  # chances of large tables are too small to be squared
    return float(share.sum() ** 2 / max((share**2).sum(), 1e-300))


def _hopeless(independent: float, tried: int, tries: int, budget: Budget, begun: float) -> bool:
    """Whether time will be over before enough tables are kept or all are tried, going by those after the first."""
    if budget.seconds is None:
        return False
    each = (budget.spent - begun) / (tried - 1)
    # Of the first few tables it is chance how many are kept; time is then too short only if it is even where all are.
    needed = LEAST * tried / (independent + 1) if tried == TRIED else LEAST - tried
    return min(needed, tries) * each > budget.seconds - begun


def _impossible(public: Public, problem: Problem) -> bool:
    """Whether statuses alone rule the publication out, so that the method need not be run."""
    suppressed, value = np.isnan(public.published), problem.table.value
    must, never = problem.status == Status.PUBLISHED, problem.status == Status.SUPPRESSED
    changed = ~suppressed & ~np.isclose(public.published, value, rtol=SAME, atol=SAME)
    return bool(np.any(must & (suppressed | changed)) or np.any(never & ~suppressed))


def _nearly(public: Public, found: Protection) -> bool:
    """Whether the same cells are suppressed or told as intervals, and sensitive ones at nearly the same place.

    No draw leads to exactly the same numbers again: this is the usual approximation, by what matters most about them.
    """
    ends = ((public.told_lower, found.lower), (public.told_upper, found.upper))
    if np.any(np.isnan(public.published) != np.isnan(found.published)):
        return False
    if any(np.any(np.isfinite(theirs) != np.isfinite(mine)) for theirs, mine in ends):
        return False
    cells = found.problem.primaries
    width = (public.upper - public.lower)[cells]
    with np.errstate(invalid="ignore"):
        off = [np.nan_to_num(np.abs(theirs - mine)[cells]) for theirs, mine in ends]
    return all(np.all(one <= NEARLY * width) for one in off)


def _middle(tables: FloatArray, weight: FloatArray, share: float) -> FloatArray:
    """The range of the middle share of each cell: lower and upper ends, one row each."""
    tail = (1 - share) / 2
    order = np.argsort(tables, axis=0, kind="stable")
    values = np.take_along_axis(tables, order, axis=0)
    heaped = np.cumsum(weight[order], axis=0) / weight.sum()
    first = np.argmax(heaped > tail + ROUNDING, axis=0)
    last = np.argmax(heaped >= 1 - tail - ROUNDING, axis=0)
    at = np.arange(tables.shape[1])
    return np.stack([values[first, at], values[last, at]])
