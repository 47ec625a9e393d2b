"""Comparison of methods on one table: information loss, remaining risk and time."""

from discreet.compare.compare import Comparison, MethodOutcome, compare
from discreet.compare.measure import Loss, Risk
from discreet.compare.notation import STANDARD, read_methods, standard
from discreet.compare.page import render_comparison, write_comparison
