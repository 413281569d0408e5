"""Pictures of trees count what is in them."""

from labeltree import plot


def test_histograms_count_all_examples_and_leaves(runs):
    tree = runs[0].tree_
    bars = plot.depth_histogram(runs[0]).patches
    assert sum(bar.get_height() for bar in bars) == tree.weight[tree.leaves].sum()
    sizes = plot.leaf_size_histogram(runs[0]).patches
    assert sum(bar.get_height() for bar in sizes) == tree.n_leaves
