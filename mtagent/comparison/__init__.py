"""Whether a stage pays off: runs and other systems side by side, with scores, edits, outcomes and costs."""

from mtagent.comparison.parts import GROUPINGS, Grouping
from mtagent.comparison.rows import Cell, Comparison, Cost, Moved, Outcomes, Part, Row
from mtagent.comparison.runs import Baseline, compare_run, compare_runs

__all__ = [
    "GROUPINGS",
    "Baseline",
    "Cell",
    "Comparison",
    "Cost",
    "Grouping",
    "Moved",
    "Outcomes",
    "Part",
    "Row",
    "compare_run",
    "compare_runs",
]
