"""The papers, in the order of the index."""

from bench.papers import ldsm, lomtree, probability_tree, recall_tree

PAPERS = (probability_tree.PAPER, lomtree.PAPER, recall_tree.PAPER, ldsm.PAPER)
