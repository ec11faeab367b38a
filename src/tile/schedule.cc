// The text of schedules: a line a kernel, axes in nesting order.
#include "tile/schedule.h"

#include <fmt/format.h>

#include <charconv>

#include "tile/print.h"

namespace quern::tile {
namespace {

constexpr std::string_view kWalks[] = {"grid", "loop", "whole"};

// Of one text: words, numbers and the signs `:`, `,` and `;`; a line ends a kernel.
class Reader {
 public:
  explicit Reader(SourcePtr source) : source_(std::move(source)), text_(source_->text()) {}

  Result<Schedule> run() {
    Schedule out;
    for (skip(true); at_ < text_.size() && !failed_; skip(true)) {
      out.kernels.push_back(kernel());
      skip(false);
      if (at_ < text_.size() && text_[at_] != '\n') expected("the end of the line");
    }
    if (failed_) return fail(std::move(*failed_));
    return out;
  }

 private:
  KernelPlan kernel() {
    KernelPlan plan;
    plan.kernel = Symbol(word("a kernel"));
    sign(':');
    if (!accept(';')) {
      do {
        plan.axes.push_back(axis());
      } while (!failed_ && accept(','));
      sign(';');
    }
    if (std::string_view w = word("'parts'"); w != "parts" && !failed_) expected("'parts'", w);
    plan.parts = number(1);
    return plan;
  }

  AxisPlan axis() {
    AxisPlan plan;
    plan.axis = Symbol(word("an axis"));
    skip(false);
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') plan.tile = number(1);
    std::string_view walk = word("grid, loop or whole");
    for (size_t i = 0; i < std::size(kWalks); ++i) {
      if (kWalks[i] == walk) {
        plan.walk = static_cast<WalkKind>(i);
        return plan;
      }
    }
    if (!failed_) expected("grid, loop or whole", walk);
    return plan;
  }

  void skip(bool lines) {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\r' || (lines && c == '\n')) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view word(std::string_view what) {
    skip(false);
    size_t end = at_;
    while (end < text_.size() && is_identifier(text_.substr(at_, end + 1 - at_))) ++end;
    std::string_view out = text_.substr(at_, end - at_);
    if (out.empty()) expected(what);
    at_ = end;
    return out;
  }

  int64_t number(int64_t least) {
    skip(false);
    int64_t value = 0;
    auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (status != std::errc{} || value < least) {
      expected("a number from 1 on");
      return least;
    }
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  bool accept(char c) {
    skip(false);
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void sign(char c) {
    if (!accept(c)) expected(fmt::format("'{}'", c));
  }

  void expected(std::string_view what) {
    size_t end = std::min(at_ + 1, text_.size());
    bool line = at_ < text_.size() && text_[at_] == '\n';
    std::string shown = at_ >= text_.size() ? "the end of the text" : line ? "the end of the line" : "";
    auto code = at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : 0;
    if (shown.empty()) shown = code > 32 && code < 127 ? fmt::format("'{:c}'", code) : fmt::format("\\x{:02x}", code);
    complain(what, shown, at_, end);
  }
  void expected(std::string_view what, std::string_view found) {
    complain(what, fmt::format("'{}'", found), at_ - found.size(), at_);
  }
  void complain(std::string_view what, const std::string& shown, size_t begin, size_t end) {
    if (failed_) return;
    failed_ = diagnose(Code::E102, {source_.get(), static_cast<uint32_t>(begin), static_cast<uint32_t>(end)},
                       {{"t", std::string(what)}, {"u", shown}});
    failed_->source = source_;
  }

  SourcePtr source_;
  std::string_view text_;
  size_t at_ = 0;
  std::optional<Diagnostic> failed_;
};

}  // namespace

std::string print(const Schedule& schedule) {
  std::string out;
  for (const KernelPlan& k : schedule.kernels) {
    out += k.kernel.str() + ": ";
    for (size_t i = 0; i < k.axes.size(); ++i) {
      const AxisPlan& a = k.axes[i];
      if (i) out += ", ";
      out += a.axis.str();
      if (a.tile != 0) out += fmt::format(" {}", a.tile);
      out += fmt::format(" {}", kWalks[static_cast<size_t>(a.walk)]);
    }
    out += fmt::format("; parts {}\n", k.parts);
  }
  return out;
}

Result<Schedule> parse_schedule(std::string_view text) {
  return Reader(Source::make("schedule", std::string(text))).run();
}

}  // namespace quern::tile
