"""Arithmetic on the states of learners: named plain arrays in, named plain arrays out."""
