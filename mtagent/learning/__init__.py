"""Learning a gate: pairs of texts with the words of judges and people, and what a calibration is made of."""
