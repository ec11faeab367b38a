#include "base/source.h"

#include <algorithm>

namespace quern {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

std::shared_ptr<const Source> Source::make(std::string name, std::string text) {
  return std::shared_ptr<const Source>(new Source(std::move(name), std::move(text)));
}

Source::Position Source::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  int64_t line = after - line_starts_.begin();
  int64_t column = 1;
  for (uint32_t i = *(after - 1); i < offset; ++i) {
    if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) ++column;
  }
  return {line, column};
}

std::string_view Source::line(int64_t number) const {
  if (number < 1 || number > static_cast<int64_t>(line_starts_.size())) return {};
  uint32_t begin = line_starts_[number - 1];
  size_t end = text_.find('\n', begin);
  if (end == std::string::npos) end = text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

Span Span::to(const Span& other) const {
  if (!source) return other;
  if (!other.source || other.source != source) return *this;
  return {source, std::min(begin, other.begin), std::max(end, other.end)};
}

}  // namespace quern
