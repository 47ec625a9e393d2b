"""The audit: audit intervals, verdicts and certificates for the protections of all methods."""

from discreet.audit.audit import Audit as Audit
from discreet.audit.certificate import CertificateError as CertificateError
from discreet.audit.certificate import certificate as certificate
from discreet.audit.certificate import read_certificate as read_certificate
from discreet.audit.certificate import write_certificate as write_certificate
from discreet.audit.exposure import Exposure as Exposure
from discreet.audit.exposure import exposure as exposure
from discreet.audit.integer_audit import audit as audit
from discreet.audit.integer_audit import integer_bounds as integer_bounds
from discreet.audit.integer_audit import narrowed as narrowed
from discreet.audit.verification import Verification as Verification
from discreet.audit.verification import verify as verify
