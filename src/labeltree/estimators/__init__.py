"""Estimators: one file per algorithm."""
