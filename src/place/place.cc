#include "place/place.h"

#include "place/keep.h"
#include "place/lanes.h"
#include "place/nest.h"
#include "place/operands.h"
#include "place/pads.h"

namespace quern::place {

using tile::Machine;
using tile::Program;

Result<Program> place(const Program& tiled, const Machine& machine) {
  Result<Program> out = operands(tiled, machine);
  if (out) out = nest(*out, machine);
  if (out) out = keep(*out, machine);
  return out;
}

Result<Program> lay(const Program& placed, const Machine& machine) {
  Result<Program> out = lanes(placed, machine);
  if (out) out = pads(*out, machine);
  return out;
}

Result<Program> lay_plainly(const Program& tiled) {
  Machine scalar;
  scalar.vector_bytes = 1;
  Result<Program> out = nest_apart(tiled);
  if (out) out = keep(*out, scalar);
  if (out) out = lanes(*out, scalar);
  return out;
}

}  // namespace quern::place
