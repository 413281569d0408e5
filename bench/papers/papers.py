"""The papers, in the order of the index."""

from bench.papers import ldsm, lomtree, probability_tree

PAPERS = (lomtree.PAPER, probability_tree.PAPER, ldsm.PAPER)
