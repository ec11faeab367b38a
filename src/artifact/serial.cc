#include "artifact/serial.h"

#include <concepts>
#include <cstring>
#include <type_traits>

namespace quern::artifact {
namespace {

// One description of the fields serves both ways: `fields(io, x)` names them, Writer and Reader do the work. Numbers
// are little-endian and whole, counts 32 bits.
class Writer {
 public:
  static constexpr bool kReads = false;
  std::string out;

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void number(const T& value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    number(static_cast<uint32_t>(value.size()));
    out += value;
  }
  template <class T, class F>
  void list(const std::vector<T>& values, F each) {
    number(static_cast<uint32_t>(values.size()));
    for (const T& v : values) each(v);
  }
};

class Reader {
 public:
  static constexpr bool kReads = true;
  std::string_view in;
  bool ok = true;

  explicit Reader(std::string_view bytes) : in(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void number(T& value) {
    if (!take(sizeof value)) return;
    std::memcpy(&value, in.data() - sizeof value, sizeof value);
  }
  void number(bool& value) {
    uint8_t byte = 0;
    number(byte);
    ok &= byte <= 1;
    value = byte == 1;
  }
  void text(std::string& value) {
    uint32_t size = 0;
    number(size);
    if (take(size)) value.assign(in.data() - size, size);
  }
  template <class T, class F>
  void list(std::vector<T>& values, F each) {
    uint32_t count = 0;
    number(count);
    // Each element takes a byte at least.
    if (count > in.size()) ok = false;
    for (uint32_t i = 0; i < count && ok; ++i) {
      T value{};
      each(value);
      values.push_back(std::move(value));
    }
  }
  template <class E>
  void check(E value, E last) {
    ok &= value <= last;
  }

 private:
  bool take(size_t bytes) {
    if (bytes > in.size()) ok = false;
    if (ok) in.remove_prefix(bytes);
    return ok;
  }
};

template <class IO, class E>
void named(IO& io, E& value, std::type_identity_t<std::remove_const_t<E>> last) {
  io.number(value);
  if constexpr (IO::kReads) io.check(value, last);
}

template <class IO, class S>
void size(IO& io, S& value) {
  std::vector<Size::Step> steps = value.steps();
  if constexpr (IO::kReads) steps.clear();
  io.list(steps, [&](auto& s) {
    named(io, s.op, Size::Op::kMax);
    io.number(s.value);
  });
  if constexpr (IO::kReads) value = Size(std::move(steps));
}

template <class IO, class P>
void place(IO& io, P& value) {
  io.number(value.source);
  io.number(value.begin);
  io.number(value.end);
}

template <class IO, class A>
void fields(IO& io, A& a) {
  auto text = [&](auto& s) { io.text(s); };
  named(io, a.kind, Kind::kPtx);
  io.text(a.name);
  io.list(a.dims, text);
  io.list(a.parameters, [&](auto& p) {
    io.text(p.name);
    named(io, p.role, Role::kConst);
    io.number(p.type);
    if constexpr (IO::kReads) io.ok &= static_cast<size_t>(p.type) < type_rows().size();
    io.list(p.shape, [&](auto& s) { size(io, s); });
    io.number(p.zeroed);
    io.text(p.bytes);
  });
  io.list(a.kernels, [&](auto& k) {
    io.text(k.entry);
    io.text(k.object);
    io.list(k.axes, text);
    io.number(k.meets);
    io.number(k.point_cycles);
    io.text(k.host);
    io.number(k.shared_bytes);
    io.list(k.open_dims, [&](auto& d) { io.number(d); });
  });
  io.list(a.sites, [&](auto& s) {
    io.text(s.code);
    io.text(s.tensor);
    io.text(s.subscript);
    place(io, s.place);
    io.text(s.end);
    io.number(s.last);
    io.number(s.limit);
  });
  io.list(a.remarks, [&](auto& r) {
    io.text(r.code);
    io.text(r.message);
    io.text(r.remedy);
    place(io, r.place);
  });
  io.text(a.schedule);
}

}  // namespace

std::string to_bytes(const Artifact& artifact) {
  Writer io;
  fields(io, artifact);
  return std::move(io.out);
}

std::optional<Artifact> from_bytes(std::string_view bytes) {
  Reader io(bytes);
  Artifact out;
  fields(io, out);
  if (!io.ok || !io.in.empty()) return std::nullopt;
  return out;
}

}  // namespace quern::artifact
