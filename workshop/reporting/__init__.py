"""Common code of evaluation and benchmarks: tables, plots, comparisons, reports as files."""
