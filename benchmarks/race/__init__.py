"""The harness that :mod:`benchmarks.speed` and :mod:`benchmarks.papers` plug into.

====================  =========================================================================
:mod:`.data`          data sets from the folder that WIDEMARGIN_DATA names, splits and scaling
:mod:`.generated`     data sets that need no download
:mod:`.objective`     what is computed from a fitted model: objective, accuracy, seconds
:mod:`.plugin`        what a plug-in gives: cases, libraries, contestants, hooks
:mod:`.rounds`        ladders, then rounds, each fit in a worker process
:mod:`.worker`        that process
:mod:`.processes`     starting it with limits, and measuring time and memory inside it
:mod:`.store`         measured cells in a JSON file, each with its commit, date and machine
:mod:`.tables`        cells as the CSV files and pictures of the documentation
:mod:`.command`       the command line
====================  =========================================================================

A plug-in has cases (data and settings), contestants, an objective and a page (its tables).
"""
