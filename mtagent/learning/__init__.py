"""How a gate is learnt: from judged pairs and rated texts to a calibration, and what it is worth."""
