"""The files of a report: tables, curves and contact sheets."""
