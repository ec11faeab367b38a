#include "place/keep.h"

#include <algorithm>
#include <map>

#include "tile/extent.h"
#include "tile/rebuild.h"

namespace quern::place {

using namespace tile;

namespace {

class Keeper {
 public:
  Keeper(const Program& program, Kernel& kernel, const Machine& machine)
      : program_(program), kernel_(kernel), machine_(machine), walks_(kernel.grid) {}

  // The name of an axis without a limit, if there is one.
  std::optional<std::string> run() {
    see(kernel_.body, nullptr);
    insert(kernel_.body);
    if (!unlimited_.empty()) return unlimited_;
    set_homes(kernel_.body, machine_.near_bytes);
    return std::nullopt;
  }

 private:
  // Where names are defined (a nest, or null for a block) and which are used elsewhere.
  void see(const Block& block, const Nest* nest) {
    for (const Statement& s : block) {
      if (const auto* inner = std::get_if<Nest>(&s.is)) {
        for (int32_t name : names_defined(inner->body)) home_[name] = inner;
        for (int32_t name : names_in(inner->body)) use(name, inner);
      } else if (const auto* loop = std::get_if<Loop>(&s.is)) {
        for (const Walk& w : loop->walks) use(w.lo), use(w.hi);
        for (const Carry& c : loop->carries) {
          use(c.init);
          kept_.insert(c.name);
        }
        see(loop->body, nest);
        for (const Carry& c : loop->carries) use(c.next);
      } else if (const auto* branch = std::get_if<If>(&s.is)) {
        use(branch->condition);
        see(branch->body, nest);
      } else if (const auto* let = std::get_if<Let>(&s.is)) {
        use(let->value);
      }
    }
  }
  void use(const ExprPtr& e) {
    if (!e) return;
    for (int32_t name : names_in(e)) use(name, nullptr);
  }
  void use(int32_t name, const Nest* nest) {
    auto it = home_.find(name);
    if (it != home_.end() && it->second != nest) kept_.insert(name);
  }

  void insert(Block& block) {
    Block out;
    for (Statement& s : block) {
      if (auto* nest = std::get_if<Nest>(&s.is)) {
        for (const Statement& inner : nest->body) {
          const auto* let = std::get_if<Let>(&inner.is);
          if (let && kept_.contains(let->name)) add(out, let->name);
        }
      } else if (auto* loop = std::get_if<Loop>(&s.is)) {
        for (const Carry& c : loop->carries) add(out, c.name);
        size_t outer = walks_.size();
        walks_.insert(walks_.end(), loop->walks.begin(), loop->walks.end());
        insert(loop->body);
        walks_.resize(outer);
      } else if (auto* branch = std::get_if<If>(&s.is)) {
        insert(branch->body);
      }
      out.push_back(std::move(s));
    }
    block = std::move(out);
  }

  void add(Block& out, int32_t name) {
    const Name& n = kernel_.names[name];
    int64_t elements = 1;
    for (AxisId a : n.axes.list()) {
      auto most = most_indices(program_, kernel_, walks_, a);
      if (!most) {
        unlimited_ = n.name.str();
        return;
      }
      if (__builtin_mul_overflow(elements, std::max<int64_t>(1, *most), &elements)) elements = int64_t{1} << 60;
    }
    elements = std::min(elements, int64_t{1} << 56);
    bytes_[name] = byte_size(n.type, elements);
    out.push_back({Keep{name, Home::kNear, {}}});
  }

  // Small ones first: what is left over is what L2 could not hold anyway. Blocks beside each other use the same memory.
  void set_homes(Block& block, int64_t left) {
    std::vector<Keep*> keeps;
    for (Statement& s : block) {
      if (auto* keep = std::get_if<Keep>(&s.is)) keeps.push_back(keep);
    }
    std::stable_sort(keeps.begin(), keeps.end(),
                     [&](const Keep* a, const Keep* b) { return bytes_[a->name] < bytes_[b->name]; });
    // What lies around loops leaves half to what is inside.
    bool around =
        std::any_of(block.begin(), block.end(), [](const Statement& s) { return std::holds_alternative<Loop>(s.is); });
    int64_t inside = around ? left / 2 : 0;
    left -= inside;
    for (Keep* keep : keeps) {
      int64_t bytes = bytes_[keep->name];
      keep->home = bytes > left ? Home::kFar : Home::kNear;
      if (bytes <= left) left -= bytes;
    }
    left += inside;
    for (Statement& s : block) {
      if (auto* loop = std::get_if<Loop>(&s.is)) set_homes(loop->body, left);
      if (auto* branch = std::get_if<If>(&s.is)) set_homes(branch->body, left);
    }
  }

  const Program& program_;
  Kernel& kernel_;
  const Machine& machine_;
  std::vector<Walk> walks_;
  std::map<int32_t, const Nest*> home_;
  std::set<int32_t> kept_;
  std::map<int32_t, int64_t> bytes_;
  std::string unlimited_;
};

}  // namespace

std::optional<int64_t> most_indices(const Program& program, const Kernel& kernel, const std::vector<Walk>& walks,
                                    AxisId axis) {
  std::optional<int64_t> most = extent(program, kernel, axis);
  for (const Walk& w : walks) {
    if (w.axis == axis && w.size > 0) most = std::min(most.value_or(w.size), w.size);
  }
  return most;
}

Result<Program> keep(const Program& nested, const Machine& machine) {
  Program out = nested;
  for (Kernel& kernel : out.kernels) {
    if (auto name = Keeper(nested, kernel, machine).run()) return fail(diagnose(Code::N904, {}, {{"t", *name}}));
  }
  out.stage = Stage::kPlaced;
  return out;
}

}  // namespace quern::place
