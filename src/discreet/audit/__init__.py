"""The audit: audit intervals, verdicts and certificates for the protections of all methods."""

from discreet.audit.audit import Audit
from discreet.audit.bound_certificate import BoundVerification, bound_certificate, verify_bound
from discreet.audit.certificate import CertificateError, certificate, read_certificate, write_certificate
from discreet.audit.exposure import Exposure, exposure
from discreet.audit.integer_audit import audit, integer_bounds, narrowed
from discreet.audit.verification import Verification, verify
