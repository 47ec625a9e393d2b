"""Safety of single respondents: no combination of what is published says too much about any of them."""

from discreet.respondents.audit import RespondentAudit, audit_respondents
from discreet.respondents.level import Level, LevelInForce, level_of
from discreet.respondents.measure import beyond_contributions
from discreet.respondents.search import Exposed

__all__ = [
    "Exposed",
    "Level",
    "LevelInForce",
    "RespondentAudit",
    "audit_respondents",
    "beyond_contributions",
    "level_of",
]
