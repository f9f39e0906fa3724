"""How a gate is learnt.

1. ``reading`` and ``runs`` read judged pairs and rated texts from files, folders and stored runs, with people's scores,
   preferences or decisions as labels; ``runs`` also has judges and a teacher judge a run's edits. All of it becomes one
   :class:`mtagent.learning.pairs.JudgedData`.
2. ``gain`` fits the expected gain of an edit to the pairs, and names the edits that are most worth labelling next.
   ``calibrate`` adds the score from which a text is error-free
   and what both are worth on other documents: a :class:`mtagent.chain.calibration.Calibration`, which is written to a
   file. It also checks a calibration on other data.
3. ``text`` shows a calibration.

In ``chain/gate.py`` the calibration decides.
"""
