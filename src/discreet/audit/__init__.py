"""Is it safe? One auditor for every method."""

from discreet.audit.audit import Audit, audit
from discreet.audit.certificate import CertificateError, certificate, read_certificate, write_certificate
from discreet.audit.congruent import CongruentTables, components
from discreet.audit.exposure import Exposure, exposure
from discreet.audit.integer import IntegerAudit, integer_bounds, whole
from discreet.audit.verify import Verification, verify

__all__ = [
    "Audit",
    "CertificateError",
    "CongruentTables",
    "Exposure",
    "IntegerAudit",
    "Verification",
    "audit",
    "certificate",
    "components",
    "exposure",
    "integer_bounds",
    "read_certificate",
    "verify",
    "whole",
    "write_certificate",
]
