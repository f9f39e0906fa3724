"""What runs over many segments: its inputs, its parts, the run itself; improve, rate, estimate, export."""
