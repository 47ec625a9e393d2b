"""Turnover by branch and region, protected: the same job as job.toml, in Python."""

from pathlib import Path

from discreet import Hierarchy, assess, audit, audit_respondents, protect, publish, tabulate, write_release

here = Path(__file__).parent

# 1. Records to cells, with all totals and the two largest contributions to each cell.
table = tabulate(
    here / "firms.csv",
    {"branch": Hierarchy.from_csv(here / "branch.csv"), "region": None},
    "turnover",
    contributor="firm",
)

# 2. Which cells say too much about a firm, and how much protection they need.
problem = assess(table, ["P(10)", "FREQ(3)"])

# 3. Which further cells to suppress.
protection = protect(problem, "kelly")

# 4. Is it safe? The exact interval that a reader can infer for every sensitive cell; what respondents can of each other.
checked = audit(problem, protection)
respondents = audit_respondents(problem, protection)

# 5. The release: only what may leave the house. Raises NotSafeError if an audit did not pass.
release = publish(problem, protection, checked, respondents)

output = here / "output"
output.mkdir(exist_ok=True)
write_release(release, output / "release.csv")
write_release(release, output / "release.xlsx")
print(f"{protection}\n{checked}\n{release}")
