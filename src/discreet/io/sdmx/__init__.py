"""SDMX: data messages in CSV and XML, structures, and given flags.

Sources: SDMX-CSV field guide, versions 1.0 and 2.0; SDMX 2.1, Section 3A; code lists CL_CONF_STATUS and CL_OBS_STATUS;
Guidelines for Confidentiality and Embargo in SDMX, version 2.0.
"""
