// The notation in C++, all of it: types, expressions, tensors, kernels. docs/embedding.md is the tutorial;
// quern/prelude.h has softmax and the other functions of the prelude.
#pragma once

#include "quern/expression.h"
#include "quern/kernel.h"
#include "quern/tensor.h"
#include "quern/type.h"
