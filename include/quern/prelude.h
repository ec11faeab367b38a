// The functions of the prelude (docs/notation.md), as C++ functions. They print as the calls they are, and their bodies
// are the prelude's own. A function of yours is any C++ function from Exprs to Expr; it is expanded where it is called.
#pragma once

#include "quern/expression.h"

namespace quern {

Expr sq(const Expr& x);         // x * x
Expr relu(const Expr& x);       // max(x, 0)
Expr sigmoid(const Expr& x);    // 1 / (1 + exp(-x))
Expr silu(const Expr& x);       // x * sigmoid(x)
Expr gelu(const Expr& x);       // exact, by erf
Expr gelu_tanh(const Expr& x);  // GPT-2's approximation
Expr softplus(const Expr& x);   // log(1 + exp(x)), without overflow
Expr clamp(const Expr& x, const Expr& lo, const Expr& hi);
Expr soft_cap(const Expr& x, const Expr& cap);  // cap * tanh(x / cap)
Expr logaddexp(const Expr& a, const Expr& b);   // log(exp(a) + exp(b)), without overflow
Expr uniform(const Expr& seed, const Expr& i);  // in (0, 1), for counter i
Expr gumbel(const Expr& seed, const Expr& i);   // -log(-log(uniform(seed, i)))

// One value for the whole range.
Expr count(const Ranges& over, const Expr& c);      // how often c holds: an integer
Expr mean(const Ranges& over, const Expr& x);       // NaN over an empty range
Expr var(const Ranges& over, const Expr& x);        // divided by the count
Expr logsumexp(const Ranges& over, const Expr& x);  // -inf over an empty or fully masked range

// A value for each index of the range: it has to be bound outside, too (E602).
Expr softmax(const Ranges& over, const Expr& x);  // 0 in a fully masked row
Expr rmsnorm(const Ranges& over, const Expr& x, const Expr& eps);
Expr layernorm(const Ranges& over, const Expr& x, const Expr& eps);
Expr rank(const Ranges& over, const Expr& x);  // place in descending order, the first of equals first: an integer

}  // namespace quern
