"""Other ways for sites to agree on a linear SVM, to measure ours against.

Each is small, in NumPy and SciPy, and returns an :class:`.outcome.Outcome`: decisions of every
site, messages, bytes and seconds. They share nothing with the library but the problem that they
solve (:mod:`.divided_problem`):

====================  =========================================================================
:mod:`.pegasos`       all rows in one place, stochastic sub-gradients (Shalev-Shwartz 2007)
:mod:`.gadget`        the same at every site, with Push-Sum: GADGET SVM as printed
:mod:`.choco`         the same with quantised exchange: CHOCO-SGD (Koloskova 2019)
:mod:`.asg`           sites send their most important rows: ASG-SVM (Flouri 2009)
:mod:`.dist_eval`     sites train alone and agree on predictions: Dist-Eval (Wang 2010)
:mod:`.liblinear`     all rows in one place, or every site alone, by LIBLINEAR
====================  =========================================================================

Ours are brought into the same form by :mod:`.contestants`.
"""
