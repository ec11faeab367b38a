// Small things about text: UTF-8, spelling suggestions, whole files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern {

// Offset of the first byte that is not part of valid UTF-8 (no overlong forms, no surrogates), if any.
std::optional<size_t> invalid_utf8(std::string_view text);

// The candidate nearest to `word` by edit distance (insert, delete, replace, swap of neighbours), if it is near enough
// to be what was meant: at most a third of its length. Ties go to the first.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// "1 subscript", "2 subscripts".
std::string counted(size_t count, std::string_view thing);

std::string join(std::span<const std::string> parts, std::string_view separator);

// E114 if the text is not UTF-8.
std::optional<Diagnostic> not_utf8(const Source& source);

// A whole source file; E117 if it can't be read, is not a regular file (or a pipe), or is over 256 MiB; E114 if it is
// not UTF-8.
Result<SourcePtr> read_source(const std::string& path);

// Text that came from a file, fit to stand in a message: control characters and bytes that are not UTF-8 show as \xNN,
// and what is longer than `limit` bytes ends in "...".
std::string printable(std::string_view text, size_t limit = 200);

// Writes `parts` one after another (so a large array needs no copy beside its header) through a temporary file beside
// `path` and renames it, so that a reader sees the old file or the whole new one; E730 says why not. Permissions of an
// existing file are kept, a symbolic link is followed, a device or pipe is written in place.
Result<void> write_file(const std::string& path, std::span<const std::string_view> parts);
Result<void> write_file(const std::string& path, std::string_view contents);

// "1.5 GiB", "12 B".
std::string human_bytes(uint64_t bytes);

}  // namespace quern
