// The words after FILE of `quern run`, read: arrays and scalars by parameter name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "array/array.h"
#include "expr/bind.h"
#include "expr/program.h"

namespace quern::cli {

struct Argument {
  array::Array array;
  enum Origin { kFile, kNumber, kDefault, kRandom } origin = kFile;
  std::string path;  // kFile: "weights.npz:w"
};

using Arguments = std::map<Symbol, Argument>;

// Each word is name=file.npy, name=archive.npz:member, name=number, or an archive whose members go to the parameters of
// their names. A file is read as the parameter's type where NumPy lacks that type; a type variable is known from
// `request.types`, else from the arrays that say theirs. All independent errors: E712, E713, E714, E720 to E731, and
// E740 for a word that is none of these.
Result<Arguments> read_arguments(const expr::Program& program, const expr::Request& request,
                                 const std::vector<std::string>& words);

}  // namespace quern::cli
