"""Safety of single respondents: no combination of what is published says too much about any of them."""

from discreet.respondents.audit import RespondentAudit, audit_respondents
from discreet.respondents.search import Exposed

__all__ = ["Exposed", "RespondentAudit", "audit_respondents"]
