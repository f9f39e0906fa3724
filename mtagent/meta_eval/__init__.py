"""Evaluators against people: which evaluator marks the errors that people mark, and how surely.

======================= ============================================================================================
``marked.py``           the error spans of an evaluator and of people side by side, what is left out counted
``pairing.py``          from errors to such spans: which segments, and at which places
``spans.py``            precision, recall and F1 of error spans, by category and severity; tests between evaluators
``span_measures.py``    what is counted: matches, characters, partial overlaps
``overlaps.py``         which spans overlap, and by how much; ``assignment.py``: one partner for each
``categories.py``       one name for the same category in several typologies
``error_free.py``       whether error-free translations are told from others
======================= ============================================================================================
"""
