"""A gate calibrated on human judgement: which margin and which threshold are worth having, and how sure that is.

======================= ============================================================================================
``margin.py``           what each margin is worth, against always, never and an oracle
``threshold.py``        from which score on a text is error-free: precision and coverage
``resampling.py``       confidence intervals; ``halves.py``: what is chosen on, and what is reported on
``scores.py``           scores of the judge and of people, as files and stored runs hold them; ``pairs.py``: both in one
``matching.py``         these scores side by side
``calibrate.py``        from them to a calibration
``calibration.py``      the calibration, its file, and whose ratings it holds for
``use.py``              what it changes in the chain
``tables.py``           a calibration on paper
======================= ============================================================================================

See ``docs/gate.md``.
"""
