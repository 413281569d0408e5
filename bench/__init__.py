"""Measurements of labeltree, alone and beside its peers; never imported by the package."""
