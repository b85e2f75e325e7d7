"""What things cost, as ratios measured in one interleaved run: `python -m tests.bench`."""
