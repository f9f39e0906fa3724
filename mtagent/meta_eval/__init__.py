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

Error spans, which are imported from their own modules:

======================= ============================================================================================
``marked.py``           the error spans of an evaluator and of people side by side, what is left out counted
``pairing.py``          from errors to such spans: which segments, and at which places
``spans.py``            precision, recall and F1 of error spans, by category and severity; tests between evaluators
``span_measures.py``    what is counted: matches, characters, partial overlaps
``overlaps.py``         which spans overlap, and by how much; ``assignment.py``: one partner for each
``categories.py``       one name for the same category in several typologies
``error_free.py``       whether error-free translations are told from others
======================= ============================================================================================

From files to tables, as ``mtagent meta-eval`` does it:

======================= ============================================================================================
``files/``              scores as they stand in files, folders and runs; an evaluator's beside people's
``evaluated.py``        all statistics of several evaluators; ``span_level.py``: those of error spans
``warned.py``           what makes the numbers doubtful
``tables.py``           the tables for people, and ``data.py`` the JSON for programs
======================= ============================================================================================
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
