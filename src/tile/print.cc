// A statement a line, two blanks a level; no line is broken.
#include "tile/print.h"

#include <fmt/format.h>

#include "tile/print_expression.h"

namespace quern::tile {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class KernelPrinter {
 public:
  KernelPrinter(const ProgramNames& program, const Kernel& kernel)
      : kernel_(kernel), names_(program, kernel), say_(program, &names_) {}

  std::string run() {
    line(0, "kernel" + (kernel_.name ? " " + kernel_.name.str() : std::string()));
    if (!kernel_.axes.empty()) {
      std::string axes = "axes";
      for (size_t i = 0; i < kernel_.axes.size(); ++i) {
        const Axis& a = kernel_.axes[i];
        axes += i ? ", " : " ";
        axes += say_.axis(static_cast<AxisId>(i));
        axes += a.lo ? fmt::format(" in {} .. {}", say_.text(a.lo), say_.text(a.hi)) : " < " + say_.text(a.hi);
      }
      line(1, axes);
    }
    if (!kernel_.scalar.empty()) {
      std::string scalar = "scalar";
      for (AxisId a : kernel_.scalar.list()) scalar += (scalar.size() > 6 ? ", " : " ") + say_.axis(a);
      line(1, scalar);
    }
    if (!kernel_.grid.empty()) line(1, "grid " + walks(kernel_.grid));
    block(1, kernel_.body);
    return std::move(out_);
  }

  std::string expression(const ExprPtr& e) const { return say_.text(e); }

 private:
  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }

  std::string walks(const std::vector<Walk>& walks) const {
    std::string out;
    for (const Walk& w : walks) {
      if (!out.empty()) out += ", ";
      out += say_.axis(w.axis);
      if (w.size == 0) {
        out += ":all";
      } else if (w.size != 1) {
        out += fmt::format(":{}", w.size);
      }
      if (!w.lo && !w.hi) continue;
      out += " in ";
      if (w.lo) out += say_.text(w.lo) + " ";
      out += "..";
      if (w.hi) out += " " + say_.text(w.hi);
    }
    return out;
  }

  void block(int depth, const Block& body) {
    for (const Statement& s : body) {
      std::visit([&](const auto& is) { statement(depth, is); }, s.is);
    }
  }

  void statement(int depth, const Let& s) { line(depth, say_.name(s.name) + " = " + say_.text(s.value)); }

  void statement(int depth, const Store& s) {
    std::string out = s.atomic ? "atomic " : "";
    out += "store " + say_.reference(s.parameter, s.subscripts, s.checked, s.site);
    out += s.add ? " += " : " = ";
    out += say_.text(s.value);
    if (s.when) out += " when " + say_.text(s.when);
    line(depth, out);
  }

  void statement(int depth, const Loop& s) {
    line(depth, "for " + walks(s.walks));
    for (const Carry& c : s.carries)
      line(depth + 1, fmt::format("carry {} = {}", say_.name(c.name), say_.text(c.init)));
    block(depth + 1, s.body);
    for (const Carry& c : s.carries) line(depth + 1, fmt::format("next {} = {}", say_.name(c.name), say_.text(c.next)));
  }

  void statement(int depth, const If& s) {
    line(depth, "if " + say_.text(s.condition));
    block(depth + 1, s.body);
  }

  void statement(int depth, const Nest& s) {
    std::string out = "nest";
    AxisRole usual = AxisRole::kBlock;  // strips stand behind `|`
    for (const NestAxis& a : s.axes) {
      if (a.role == AxisRole::kStrip && usual == AxisRole::kBlock) {
        out += " |";
        usual = AxisRole::kStrip;
      }
      out += " " + say_.axis(a.axis);
      if (a.size != 1) out += fmt::format(":{}", a.size);
      if (a.role == AxisRole::kHeld) {
        out += " held";
      } else if (a.role != usual) {
        out += " block";
      }
      if (a.lanes) out += " lanes";
    }
    line(depth, out);
    block(depth + 1, s.body);
  }

  void statement(int depth, const Keep& s) {
    std::string out = fmt::format("keep {} {}", say_.name(s.name), s.home == Home::kNear ? "near" : "far");
    for (const Digit& d : s.layout) {
      out += " " + say_.axis(d.axis);
      if (d.divide != 1) out += fmt::format("/{}", d.divide);
      if (d.modulo != 0) out += fmt::format("%{}", d.modulo);
    }
    line(depth, out);
  }

  const Kernel& kernel_;
  KernelNames names_;
  ExpressionPrinter say_;
  std::string out_;
};

}  // namespace

std::string_view name(Stage stage) {
  switch (stage) {
    case Stage::kLowered: return "lowered";
    case Stage::kTiled: return "tiled";
    case Stage::kPlaced: return "placed";
    case Stage::kLaid: return "laid";
  }
  return "";
}

std::string_view name(Role role) {
  switch (role) {
    case Role::kIn: return "in";
    case Role::kOut: return "out";
    case Role::kInout: return "inout";
    case Role::kTmp: return "tmp";
    case Role::kConst: return "const";
  }
  return "";
}

std::string print(const Program& program) {
  ProgramNames names(program);
  ExpressionPrinter say(names, nullptr);
  std::string out = "program ";
  if (program.name) out += program.name.str() + " ";
  out += fmt::format("{}\n", name(program.stage));
  if (!program.dims.empty()) {
    out += "dims ";
    for (size_t i = 0; i < program.dims.size(); ++i) {
      const Dim& d = program.dims[i];
      if (i) out += ", ";
      out += d.value ? fmt::format("{} = {}", names.dims[i], *d.value) : "dyn " + names.dims[i];
    }
    out += "\n";
  }
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter& p = program.parameters[i];
    out += fmt::format("{} {}: {}", name(p.role), names.parameters[i], quern::name(p.type));
    for (size_t d = 0; d < p.shape.size(); ++d) out += (d ? ", " : "[") + say.text(p.shape[d]);
    if (!p.shape.empty()) out += "]";
    if (p.zeroed) out += " zeroed";
    out += "\n";
  }
  for (const Site& s : program.sites) {
    out += fmt::format("site {} {} {}", quern::row(s.code).name, quoted(s.tensor), quoted(s.subscript));
    if (s.end) out += fmt::format(" {} {} {}", s.end->last ? "ends" : "starts", quoted(s.end->text), s.end->limit);
    out += "\n";
  }
  for (const Kernel& k : program.kernels) out += "\n" + KernelPrinter(names, k).run();
  return out;
}

std::string print(const Program& program, const Kernel& kernel) {
  return KernelPrinter(ProgramNames(program), kernel).run();
}

std::string print(const Program& program, const Kernel& kernel, const ExprPtr& expression) {
  return KernelPrinter(ProgramNames(program), kernel).expression(expression);
}

}  // namespace quern::tile
