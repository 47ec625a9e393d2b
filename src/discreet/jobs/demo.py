"""A complete job on a synthetic survey, in files that a user can change and run again."""

from __future__ import annotations

from pathlib import Path

from discreet.data.survey import business_survey
from discreet.errors import InputError
from discreet.io import writing

JOB = """\
# Turnover by industry and region, from a synthetic survey. Run it again with: discreet run job.toml
title = "Turnover by industry and region"

[data]
file = "survey.csv"
response = "turnover"
contributor = "firm"
holding = "holding"          # establishments of one holding count as one contributor

[dimensions.industry]
hierarchy = "industry.hrc"   # section > division > class

[dimensions.region]
hierarchy = "region.hrc"     # part of the country > district

[rules]
sensitive = ["P(10)", "FREQ(3)"]   # confidential

[protect]
method = "kelly"
cost = "value"
seed = 1

[output]
folder = "."
formats = ["csv", "xlsx", "parquet"]
"""


def write_demo(folder: Path, seed: int = 1) -> Path:
    """Write survey, hierarchies and job file; return the job file."""
    make_folder(folder)
    survey = business_survey(seed)
    with writing(folder / "survey.csv", public=True) as draft:  # the data are synthetic
        survey.records.to_csv(draft, index=False)
    texts = {"industry.hrc": survey.industry.to_hrc(), "region.hrc": survey.region.to_hrc(), "job.toml": JOB}
    for name, text in texts.items():
        with writing(folder / name, public=True) as draft:
            draft.write_text(text, encoding="utf-8")
    return folder / "job.toml"


def make_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {path}: {error.strerror}.") from None
    return path
