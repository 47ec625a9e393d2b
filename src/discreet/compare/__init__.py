"""Comparison of methods on one table: information loss, remaining risk and time."""

from discreet.compare.compare import Comparison as Comparison
from discreet.compare.compare import MethodOutcome as MethodOutcome
from discreet.compare.compare import compare as compare
from discreet.compare.measure import Loss as Loss
from discreet.compare.measure import Risk as Risk
from discreet.compare.notation import STANDARD as STANDARD
from discreet.compare.notation import read_methods as read_methods
from discreet.compare.notation import standard as standard
from discreet.compare.page import render_comparison as render_comparison
from discreet.compare.page import write_comparison as write_comparison
