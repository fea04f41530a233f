"""The figures of bench/run: each a function of a Bench that verifies, measures, and returns a row of the table."""
