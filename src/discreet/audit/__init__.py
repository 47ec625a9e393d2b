"""Is it safe? One auditor for every method."""

from discreet.audit.audit import Audit, audit
from discreet.audit.congruent import CongruentTables, components

__all__ = ["Audit", "CongruentTables", "audit", "components"]
