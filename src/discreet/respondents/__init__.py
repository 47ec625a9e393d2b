"""Safety of single respondents: no combination of what is published says too much about any of them."""

from discreet.respondents.audit import Exposed, RespondentAudit, audit_respondents

__all__ = ["Exposed", "RespondentAudit", "audit_respondents"]
