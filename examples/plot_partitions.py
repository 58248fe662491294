"""
Four ways to divide a training set
==================================

A divided fit begins by dividing the rows. Parts are either *small copies* of the whole set, whose
models are each valid everywhere, or *clusters*, whose models are each valid in one region.
:class:`~widemargin.inspection.PartitionDisplay` shows which rows go together, and
:func:`~widemargin.inspection.partition_quality` measures how well parts preserve the distribution.

"""

# %%
# Two half-moons, divided into four parts by each strategy. Nothing is solved:
# :func:`~widemargin.inspection.leaf_partition` repeats the first step of a fit and stops.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from widemargin import Cascade, Clustered, ODMClassifier, Preserving, Stratified
from widemargin.inspection import PartitionDisplay, leaf_partition, partition_quality

X, y = make_moons(1600, noise=0.2, random_state=0)
strategies = {
    "stratified": Stratified(levels=1, n_strata=16),
    "clustered": Clustered(levels=1),
    "cascade": Cascade(levels=1),
    "preserving": Preserving(levels=1, n_strata=16),
}
leaves = {
    name: leaf_partition(ODMClassifier(gamma=2.0, strategy=strategy, random_state=0), X, y)
    for name, strategy in strategies.items()
}

figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained", sharex=True, sharey=True)
for ax, (name, partition) in zip(axes.flat, leaves.items(), strict=True):
    PartitionDisplay.from_partition(partition, X, name=name, ax=ax)
plt.show()

# %%
# Colours are parts. Stars are landmarks (*stratified*), centres of clusters (*clustered*) or
# centres of strata (*preserving*). *Cascade* distributes rows at random. *Stratified* and
# *preserving* first sort the rows into strata, and then distribute each stratum evenly over the
# parts. Landmarks span the set and so also lie at its edge; k-means centres lie where the rows are.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True, sharey=True)
for ax, name in zip(axes, ("stratified", "preserving"), strict=True):
    PartitionDisplay.from_partition(leaves[name], X, by="stratum", name=f"{name}: strata", ax=ax)
plt.show()

# %%
# How far is the mean of a part from the mean of all rows, in the kernel's feature space? The unit
# is the distance of a random part. Below 1, a part preserves the distribution better than a random
# one. Clusters deliberately do the opposite: they preserve the kernel, most of whose mass lies
# within them.

for name, partition in leaves.items():
    quality = partition_quality(X, y, partition.part, partition.kernel, stratum=partition.stratum)
    first, second = (
        np.sqrt(np.mean((distance / quality.chance) ** 2))
        for distance in (quality.first_moment, quality.second_moment)
    )
    print(
        f"{name:11} mean {first:5.2f}, second moment {second:5.2f}, "
        f"class shares off by {quality.share_distance.max():.3f}, "
        f"kernel values between parts {quality.between:.2f}, sizes {quality.sizes.tolist()}"
    )
