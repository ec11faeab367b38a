"""Cases, a file a family of kernels, a generator a kernel of the same name: at least 20 each, all small.

Shapes hold 1, primes, tails of usual tile sizes and, where a size may be 0, zero. Data hold what goes wrong first: NaN
and infinities where a meaning is defined, equal values, empty and full ragged rows, repeated ids, dropped slots. Sizes
keep to what a kernel declares (G divides H, L divides K), so every subscript without data is provable.
"""
