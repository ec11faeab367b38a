#include "api/errors.h"

namespace quern::internal {

Errors errors_of(const Diagnostics& diagnostics) {
  std::vector<Error> out;
  for (const Diagnostic& d : diagnostics) {
    Error e;
    e.code = row(d.code).name;
    e.message = d.message;
    e.remedy = d.remedy;
    e.text = render(d);
    if (d.span.source) {
      Source::Position at = d.span.source->position(d.span.begin);
      e.file = d.span.source->name();
      e.line = at.line;
      e.column = at.column;
    }
    out.push_back(std::move(e));
  }
  return Errors(std::move(out));
}

}  // namespace quern::internal
