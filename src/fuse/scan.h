// Prefix sums and linear recurrences: reductions up to the index itself, as one walk that carries what it has so far.
//
//     y[t] = sum[s <= t] x[s]                           y = y + x[t]
//     h[t] = sum[s <= t] x[s] * prod[s < j <= t] a[j]   h = h * a[t] + x[t]        Horner's rule
//
// N steps in place of N^2, or N^3. Any reduction may be a prefix; the text may leave the index itself out (s < t), add
// conditions, and put the gate of the first element in or not (docs/derivation.md, scans).
#pragma once

#include <optional>

#include "fuse/cluster.h"
#include "fuse/derive.h"

namespace quern::fuse {

struct Scan {
  tile::AxisId axis = -1;  // the index that is walked, one at a time
  struct Carried {
    tile::ExprPtr reduction;    // of the definitions
    tile::ExprPtr element;      // what an index adds to it, at `axis`
    tile::ExprPtr gate;         // what is carried is multiplied with it; null: 1
    tile::ExprPtr gated;        // where there is a gate; null: everywhere
    bool gates_itself = false;  // the gate multiplies the new element too
    bool before = false;        // the reduction is what is carried before the index is added
  };
  std::vector<Carried> carried;
};

// Nothing if some reduction that goes along with the index is none of these, or a tensor is read and written.
std::optional<Scan> scan_of(const Graph& graph, const Cluster& definitions);

// Why reductions up to the index itself are computed anew for each index, where no scan was found: R25. Attention is no
// such case: its elements, products of their own, change with the index.
Diagnostics plain_scans(const Graph& graph, const Cluster& definitions);

// The walk, with the definitions' stores inside.
tile::Block block_of(const Scan& scan, const Cluster& definitions, Namer& namer);

}  // namespace quern::fuse
