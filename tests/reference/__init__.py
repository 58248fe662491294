"""The mathematics of widemargin in plain NumPy: dense, slow, and short enough to read first.

Everything here minimises one function of one signed variable per row, the ``net_dual`` γ::

    ½ γᵀQγ + Σ φᵢ(γᵢ),    Q = YKY,  [YKY]ᵢⱼ = yᵢ yⱼ κ(xᵢ, xⱼ),  yᵢ = ±1

Read the modules in this order:

1. ``kernels``: κ.
2. ``losses``: φ, and the margin loss it comes from, for the hinge, the squared hinge and ODM.
3. ``certificate``: the primal, the dual and the gap between them, which tells when to stop.
4. ``coordinate_descent`` and ``newton``: two ways to the same minimiser.
5. ``pivoted_cholesky``: how landmark rows are chosen.

``problems`` draws the small, awkward data sets on which the tests compare all of them.
Nothing here imports the library, so the tests of the library may trust it as a second opinion.
"""
