// Running a kernel: devices, arguments, outputs.
//   Arguments arguments;
//   arguments.tensor("a", std::span<const float>(a), {64, 32}).tensor("b", std::span<const float>(b), {32, 16});
//   auto run = program->run(arguments);
//   std::vector<float> c = run->find("c")->values<float>();
// The interpreter is the slow truth: float64 with the roundings that the language states, and beside each result how
// far an implementation in f32 may be off (docs/notation.md, rounding).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quern/error.h"
#include "quern/type.h"

namespace quern {

namespace internal {
struct ProgramState;
struct ArgumentsState;
struct Access;
}  // namespace internal

class Device {
 public:
  static Device interpreter();
  // "cpu", "cuda:0", "virtual:h100": what is not there yet is N905 when a kernel is compiled for it.
  static Device named(std::string_view name);
  const std::string& name() const { return name_; }

 private:
  explicit Device(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

struct Options {
  int threads = 0;     // 0: all cores
  bool bounds = true;  // error bounds beside the results
  // Called now and then with the elements done and all, perhaps from another thread, never from two at once; false
  // stops the run.
  std::function<bool(int64_t done, int64_t total)> progress;
};

// The notation's type for elements of a C++ type. Types that C++ lacks (bf16, f8e4m3, u4 …) are given by name.
template <class E>
constexpr Type element_type() {
  using T = std::remove_cv_t<E>;
  if constexpr (std::same_as<T, double>) {
    return f64;
  } else if constexpr (std::same_as<T, float>) {
    return f32;
  } else if constexpr (std::same_as<T, bool>) {
    return boolean;
  } else {
    static_assert(std::integral<T> && (std::is_signed_v<T> || sizeof(T) == 1 || sizeof(T) == 4),
                  "no type of the notation has these elements: give address, type and shape");
    if constexpr (std::is_signed_v<T>) {
      return sizeof(T) == 8 ? i64 : sizeof(T) == 4 ? i32 : sizeof(T) == 2 ? i16 : i8;
    } else {
      return sizeof(T) == 4 ? u32 : u8;
    }
  }
}

// Memory of the caller. `strides` in elements, one a dimension, may be 0 or negative; none: row-major without gaps.
// Elements need no alignment. Types of 4 bits: element k of the memory is the low or high half of byte k / 2.
struct ConstView {
  const void* data = nullptr;  // the element at subscripts 0
  Type type = f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {};
};
struct View {
  void* data = nullptr;
  Type type = f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {};
};

// The arguments of one run, by name. Memory must live until the run ends; nothing of it is copied before.
class Arguments {
 public:
  Arguments();
  Arguments(const Arguments&);
  Arguments& operator=(const Arguments&);
  ~Arguments();

  // A tensor's values; for an inout tensor those before the kernel.
  Arguments& tensor(std::string_view name, const ConstView& view);
  template <class E>
  Arguments& tensor(std::string_view name, std::span<E> data, const std::vector<int64_t>& shape) {
    return sized(name, {data.data(), element_type<E>(), shape, {}}, static_cast<int64_t>(data.size()));
  }
  // A scalar parameter, converted to its type without loss of whole numbers (E714).
  Arguments& scalar(std::string_view name, double value);
  template <std::integral N>
  Arguments& scalar(std::string_view name, N value) {
    return whole(name, static_cast<int64_t>(value));
  }
  // Where a result is to be written, besides Outcome::outputs; for an inout tensor also where it is read, unless
  // `tensor` says otherwise. It may overlap no parameter (but its own), no other output, and not itself: E708.
  Arguments& output(std::string_view name, const View& view);
  template <class E>
  Arguments& output(std::string_view name, std::span<E> data, const std::vector<int64_t>& shape) {
    return sized_output(name, {data.data(), element_type<E>(), shape, {}}, static_cast<int64_t>(data.size()));
  }
  // A dimension that the caller chooses, and a type: for type variables that no tensor decides, or to check one.
  Arguments& dimension(std::string_view name, int64_t size);
  Arguments& type(std::string_view name, const Type& type);

 private:
  friend struct internal::Access;
  Arguments& whole(std::string_view name, int64_t value);
  Arguments& sized(std::string_view name, const ConstView& view, int64_t elements);
  Arguments& sized_output(std::string_view name, const View& view, int64_t elements);
  std::unique_ptr<internal::ArgumentsState> state_;
};

// A result, or an inout tensor after the kernel: row-major, no gaps.
struct Output {
  std::string name;
  Type type = f32;  // never a variable
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  std::vector<double> bound;  // absolute, one an element; empty for integers, bools, and without Options::bounds

  int64_t size() const;              // elements
  double real(int64_t i) const;      // element i in row-major order, exact but for i64 beyond 2^53
  int64_t integer(int64_t i) const;  // of an integer or bool tensor; of a real one truncated

  template <class N>
  std::vector<N> values() const {
    std::vector<N> out;
    out.reserve(static_cast<size_t>(size()));
    for (int64_t i = 0; i < size(); ++i) {
      if constexpr (std::floating_point<N>) {
        out.push_back(static_cast<N>(real(i)));
      } else {
        out.push_back(static_cast<N>(integer(i)));
      }
    }
    return out;
  }
};

struct Outcome {
  std::vector<Output> outputs;  // results and inout tensors, in the order of the first line
  // What was wrong with the data, E801 to E806, each place once. The accesses did not happen: such a read gave 0, such
  // a write was dropped.
  Errors findings;
  bool stopped = false;  // by Options::progress: elements that were not reached have their first value

  const Output* find(std::string_view name) const;  // null if there is none
};

// A kernel that is ready to run. Copies share it; it may run in several threads at once.
class Program {
 public:
  const std::string& name() const;
  // Errors E7: missing or unknown arguments, sizes and types that don't fit, overlapping memory, sizes beyond this
  // machine; and E306: a subscript that leaves its dimension for these sizes. Nothing has run then.
  std::expected<Outcome, Errors> run(const Arguments& arguments) const;

 private:
  friend struct internal::Access;
  explicit Program(std::shared_ptr<const internal::ProgramState> state) : state_(std::move(state)) {}
  std::shared_ptr<const internal::ProgramState> state_;
};

}  // namespace quern
