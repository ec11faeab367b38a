"""Independent NumPy programs, a file a family of kernels, a function a kernel of the same name.

Each is written from what the kernel means, as a NumPy user would write it, in float64 on the values of the inputs; none
follows the notation's own text. Arguments are the kernel's parameters in float64 or int64, dimensions that the caller
gives, and `T` (the name of the element type) where a kernel reads a result as it was stored. A kernel with several
outputs returns a tuple: results in order, then inout parameters in order. Nothing is rounded to a result's type here,
except what the kernel itself reads again after storing it.
"""
