"""[GADGET]: a consensus algorithm for linear support vector machines, and other gossip methods.

====================  =========================================================================
:mod:`.problem`       rows divided among the sites of a network; what a method returns
:mod:`.sets`          the data sets, and the optimum of all rows
:mod:`.stepping`      Pegasos steps with an exchange after each, and the paper's stopping rule
:mod:`.stepped`       methods made of them: Pegasos, CHOCO-SGD
:mod:`.trained`       methods made of LIBLINEAR: pooled rows, every site alone, ASG-SVM, Dist-Eval
:mod:`.admm`          ADMM at every site alone
:mod:`.classifiers`   other classifiers at every site alone
:mod:`.ours`          our methods, GADGET SVM as printed among them, in the same form
:mod:`.published`     figures as printed
:mod:`.runs`          several runs of the same fit
:mod:`.comparison`    Tables 2 to 4, Figures 1, 3 and 4, rare failures
:mod:`.course`        Figure 5
:mod:`.other_models`  Tables 5 to 7
:mod:`.effects`       what the paper leaves open: costs, networks, faults, liars
:mod:`.tables`        which table measures which sets
:mod:`.distance`      rounds until every site is near the optimum; a command of its own
====================  =========================================================================

The other methods are written in NumPy and SciPy and share with the library only the problem.
"""
