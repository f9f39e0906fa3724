"""Evaluators against people: which evaluator ranks systems and segments as people do, and how surely.

The statistics are those of the field's tool, mt-metrics-eval, without sampling and without loss by rounding:

======================= ============================================================================================
``paired.py``           the scores of an evaluator and of people side by side, what is missing counted
``statistic.py``        a statistic: its value or why there is none, what it is made of, its signature
``correlations.py``     Pearson, Spearman and Kendall τ-b, pooled or averaged over items or systems
``pairs.py``            pairs of scores counted in n log n: reached by a threshold, tied, ordered alike
``ties.py``             pairwise accuracy, plain and with tie calibration (the best ε of all)
``soft.py``             soft pairwise accuracy of systems
``distances.py``        mean absolute and mean squared error, plain and after scaling
``significance.py``     permutation test between two evaluators, ranks of several
``permuted.py``         a statistic of many permutations at once; ``listed.py``: pairs of small groups, listed once
======================= ============================================================================================

Planned beside them: ``spans.py`` (precision and recall of error spans), ``files.py`` (JSON Lines, TSV, folders of
mt-metrics-eval), ``tables.py`` (text, Markdown, LaTeX, JSON) and ``gate.py`` (the calibration of a gate).
"""

from __future__ import annotations

from mtagent.meta_eval.correlations import kendall, pearson, spearman
from mtagent.meta_eval.distances import mean_absolute_error, mean_squared_error
from mtagent.meta_eval.paired import Missing, Paired, Row, paired, system_level
from mtagent.meta_eval.significance import Difference, Ranked, Test, difference, ranked
from mtagent.meta_eval.soft import soft_pairwise_accuracy
from mtagent.meta_eval.statistic import Averaging, Statistic
from mtagent.meta_eval.ties import accuracy, calibrated_accuracy

__all__ = [
    "Averaging",
    "Difference",
    "Missing",
    "Paired",
    "Ranked",
    "Row",
    "Statistic",
    "Test",
    "accuracy",
    "calibrated_accuracy",
    "difference",
    "kendall",
    "mean_absolute_error",
    "mean_squared_error",
    "paired",
    "pearson",
    "ranked",
    "soft_pairwise_accuracy",
    "spearman",
    "system_level",
]
