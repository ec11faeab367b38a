// An artifact as bytes and back. Reading takes any bytes: what isn't an artifact gives nothing, never a crash, and
// never allocates more than a small multiple of what it was given. It can't tell whether the code inside is what it
// says: that is for the cache, which has a checksum and a key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "artifact/artifact.h"

namespace quern::artifact {

std::string to_bytes(const Artifact& artifact);
std::optional<Artifact> from_bytes(std::string_view bytes);

}  // namespace quern::artifact
