// The JSON of what several reports share. Only .cc files include this one: nlohmann's header takes seconds to compile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/diagnostic.h"
#include "expr/module.h"

namespace quern::cli {

using Json = nlohmann::ordered_json;

Json begin_json(const char* command, const std::string& file);
Json diagnostics_value(const Diagnostics& diagnostics);
Json parameters_value(const std::vector<expr::Parameter>& parameters);
Json number_value(double value);

// One line. Names of files that aren't UTF-8 get replacement characters.
std::string line_of(const Json& json);

}  // namespace quern::cli
