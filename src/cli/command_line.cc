#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "quern/version.h"

namespace quern::cli {
namespace {

using Texts = std::vector<std::string>;

// Options that are given once are collected like those that repeat, so that a second one gets a message of ours.
struct Collected {
  Texts color, seed, device, output, threads, level, cases, checks, operands, schedule, vectors;
  Texts chip, memory_checks, order, devices, timeout, grid, block, shared;
};

// Only what an option takes, without CLI11's marks for how often.
class Layout : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* o) const override {
    return o->get_type_name().empty() ? "" : " " + o->get_type_name();
  }
};

CLI::Option* option(CLI::App& app, const std::string& names, Texts& values, const char* type, const char* help) {
  return app.add_option(names, values, help)->allow_extra_args(false)->type_name(type);
}

void add_color(CLI::App& app, Collected& once) {
  option(app, "--color", once.color, "WHEN", "Color messages: always, never, or auto (on a terminal)");
}

void add_json(CLI::App& app, CommandLine& line) { app.add_flag("--json", line.json, "Print JSON (docs/json.md)"); }

void add_sizes(CLI::App& app, CommandLine& line) {
  option(app, "--dim", line.dimensions, "NAME=SIZE", "The size of a dimension; may be repeated");
  option(app, "--type", line.types, "NAME=TYPE", "The element type of a type variable; may be repeated");
}

// What the compiler takes.
void add_compiler(CLI::App& app, CommandLine& line, Collected& once) {
  option(app, "--checks", once.checks, "HOW", "trust: subscripts that come from data are not tested");
  option(app, "--operands", once.operands, "HOW", "exact: no operand of a contraction is rounded");
  app.add_flag("--deterministic", line.deterministic, "The same bits in every run, also where reals meet in +=");
  option(app, "--schedule", once.schedule, "TEXT", "Tile sizes and walks, in place of those by rule");
  option(app, "--vectors", once.vectors, "LEVEL", "sse2, avx2 or avx512; else what this machine has");
}

void add_run(CLI::App& app, CommandLine& line, Collected& once) {
  option(app, "FILE", line.targets, "", "The file, or FILE:kernel")->expected(1)->required();
  option(app, "ARGUMENT", line.arguments, "...", "name=array.npy, name=archive.npz:member, name=number, archive.npz")
      ->allow_extra_args();
  add_sizes(app, line);
  option(app, "--seed", once.seed, "N", "The seed of arrays that aren't given; else one is chosen and shown");
  option(app, "--on", once.device, "DEVICE",
         "Where to compute: cpu, the default; interpreter; virtual:h100, a GPU that is played");
  option(app, "-o", once.output, "PATH", "Write results: a folder, or a .npy, .npz or .safetensors file");
  app.add_flag("--bounds", line.bounds, "With -o: also write error bounds, as NAME.bound");
  option(app, "--threads", once.threads, "N", "Threads to compute with; else one for each core");
  add_compiler(app, line, once);
  app.add_flag("--remarks", line.remarks, "Say what costs: kept checks, what wasn't fused, what isn't vectorised");
  add_json(app, line);
}

void add_check(CLI::App& app, CommandLine& line, Collected& once) {
  option(app, "FILE", line.targets, "...", "Files, or FILE:kernel")->allow_extra_args()->required();
  add_sizes(app, line);
  app.add_flag("--language-only", line.language_only, "Don't compare compiled code with the interpreter");
  option(app, "--cases", once.cases, "N", "Sizes and types to compare at; else 3");
  option(app, "--seed", once.seed, "N", "The seed of sizes and arrays to compare with; else 1");
  option(app, "--vectors", once.vectors, "LEVEL", "Compare sse2, avx2 or avx512 only; else all that run here");
  app.add_flag("-v,--verbose", line.verbose, "Show every subscript, and every case that was compared");
  app.add_flag("--remarks", line.remarks, "Show remarks: kept checks, operands that may be rounded, free order");
  add_json(app, line);
}

void add_format(CLI::App& app, CommandLine& line) {
  option(app, "FILE", line.targets, "...", "Files; - reads standard input and writes standard output")
      ->allow_extra_args()
      ->required();
  app.add_flag("--check", line.check, "Write nothing; fail where a file would change");
}

void add_list(CLI::App& app, CommandLine& line) {
  option(app, "FILE", line.targets, "...", "Files; without, the library")->allow_extra_args();
  add_json(app, line);
}

void add_emit(CLI::App& app, CommandLine& line, Collected& once) {
  option(app, "FILE", line.targets, "", "The file, or FILE:kernel")->expected(1)->required();
  option(app, "--at", once.level, "LEVEL", "expr, lowered, tiled, placed, laid, llvm, asm or ptx");
  option(app, "--on", once.device, "DEVICE", "What to compile for: cpu, the default; or a GPU, virtual:h100");
  add_sizes(app, line);
  add_compiler(app, line, once);
  add_json(app, line);
}

void add_derive(CLI::App& app, CommandLine& line, Collected& once) {
  option(app, "FILE", line.targets, "", "The file, or FILE:kernel")->expected(1)->required();
  add_sizes(app, line);
  add_compiler(app, line, once);
  add_json(app, line);
}

void add_bench(CLI::App& app, CommandLine& line, Collected& once) {
  option(app, "FILE", line.targets, "", "The file, or FILE:kernel")->expected(1)->required();
  option(app, "ARGUMENT", line.arguments, "...", "Arrays, as `run` takes them; others are random")->allow_extra_args();
  add_sizes(app, line);
  option(app, "--seed", once.seed, "N", "The seed of arrays that aren't given");
  option(app, "--threads", once.threads, "N", "Threads to compute with; else one for each core");
  add_compiler(app, line, once);
  add_json(app, line);
}

void add_exec(CLI::App& app, CommandLine& line, Collected& once) {
  option(app, "PROGRAM", line.targets, "", "A program built by nvcc, or a .ptx or .cu file")->expected(1);
  option(app, "ARGUMENT", line.arguments, "...", "The program's; or KERNEL and its: file.npy, inout:file.npy, number")
      ->allow_extra_args();
  option(app, "--chip", once.chip, "NAME", "The GPU to be: a100, h100 (the default), b200, 4090, ...");
  option(app, "--check", once.memory_checks, "WHAT",
         "all (the default), memory, no-init, shared-init or none; continue: go on after one");
  option(app, "--order", once.order, "SEED", "Another order of blocks and warps; 0 is ascending");
  option(app, "--devices", once.devices, "N", "How many GPUs; else 1");
  option(app, "--threads", once.threads, "N", "Threads of this machine to run on; else one for each core");
  option(app, "--timeout", once.timeout, "SECONDS", "What a kernel may take; else as long as it likes");
  option(app, "--grid", once.grid, "X,Y,Z", "Blocks of the kernel of a .ptx or .cu file; else 1");
  option(app, "--block", once.block, "X,Y,Z", "Threads of a block; else 1");
  option(app, "--shared", once.shared, "BYTES", "Dynamic shared memory of a block");
  app.add_flag("--json", line.json, "Reports are lines of JSON, on standard error");
}

Texts option_names(const CLI::App& app) {
  Texts names;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : o->get_snames()) names.push_back("-" + name);
  }
  return names;
}

Diagnostic suggest(Diagnostic d, const std::string& word, const Texts& known) {
  bool letter = word.size() <= 2;  // any other letter would be near
  if (auto near = letter ? std::nullopt : nearest(word, known)) d.remedy = "did you mean `" + *near + "`?";
  return d;
}

// What CLI11 left over: an option or a command that doesn't exist, or a word too many.
std::optional<Diagnostic> leftover(const CLI::App& app, const std::string& command) {
  Texts left = app.remaining();
  std::erase(left, "--");
  if (left.empty()) return std::nullopt;
  auto dashed = std::ranges::find_if(left, [](const std::string& w) { return w.size() > 1 && w[0] == '-'; });
  if (dashed != left.end()) {
    std::string word = dashed->substr(0, dashed->find('='));
    return suggest(usage_error(command, "there is no option '" + word + "'"), word, option_names(app));
  }
  if (!command.empty()) return usage_error(command, "unexpected argument '" + left[0] + "'");
  Texts names;
  for (const Command& c : kCommands) names.emplace_back(c.name);
  return suggest(usage_error("", "there is no command '" + left[0] + "'"), left[0], names);
}

std::optional<Diagnostic> take(const std::string& command, const char* name, Texts& values,
                               std::optional<std::string>& out) {
  if (values.size() > 1) return usage_error(command, std::string(name) + " is given twice");
  if (!values.empty()) out = std::move(values[0]);
  return std::nullopt;
}

std::optional<Diagnostic> take_all(Collected& once, CommandLine& line) {
  std::optional<std::string> color;
  struct Row {
    const char* name;
    Texts& values;
    std::optional<std::string>& out;
  };
  Row rows[] = {{"--color", once.color, color},
                {"--seed", once.seed, line.seed},
                {"--on", once.device, line.device},
                {"-o", once.output, line.output},
                {"--threads", once.threads, line.threads},
                {"--at", once.level, line.level},
                {"--cases", once.cases, line.cases},
                {"--checks", once.checks, line.checks},
                {"--operands", once.operands, line.operands},
                {"--schedule", once.schedule, line.schedule},
                {"--vectors", once.vectors, line.vectors},
                {"--chip", once.chip, line.chip},
                {"--check", once.memory_checks, line.memory_checks},
                {"--order", once.order, line.order},
                {"--devices", once.devices, line.devices},
                {"--timeout", once.timeout, line.timeout},
                {"--grid", once.grid, line.grid},
                {"--block", once.block, line.block},
                {"--shared", once.shared, line.shared}};
  for (Row& r : rows) {
    if (auto d = take(line.command, r.name, r.values, r.out)) return d;
  }
  if (color && *color != "auto" && *color != "always" && *color != "never") {
    return usage_error(line.command, "--color " + *color + ": expected auto, always or never");
  }
  line.color = color.value_or("auto");
  return std::nullopt;
}

std::string translate(const CLI::ParseError& e) {
  std::string what = e.what();
  if (e.get_name() == "ArgumentMismatch") return what.substr(0, what.find(':')) + " needs a value";
  if (e.get_name() == "RequiredError") return what.substr(0, what.find(' ')) + " is missing";
  return what;
}

// What stands behind `--` in a line of `exec` is the program's or kernel's, whatever it looks like: CLI11 doesn't get
// it.
Texts split_exec(std::vector<const char*>& words) {
  auto command = std::find_if(words.begin() + 1, words.end(), [](const char* w) { return *w != '-'; });
  auto mark = std::ranges::find(words, std::string_view("--"));
  if (command == words.end() || std::string_view(*command) != "exec" || mark == words.end()) return {};
  Texts rest(mark + 1, words.end());
  words.erase(mark, words.end());
  return rest;
}

// The first word is the program.
std::optional<Diagnostic> join_exec(CommandLine& line, Texts rest) {
  line.targets.insert(line.targets.end(), line.arguments.begin(), line.arguments.end());
  line.targets.insert(line.targets.end(), rest.begin(), rest.end());
  if (line.targets.empty()) return usage_error("exec", "PROGRAM is missing");
  line.arguments.assign(line.targets.begin() + 1, line.targets.end());
  line.targets.resize(1);
  return std::nullopt;
}

}  // namespace

Diagnostic usage_error(const std::string& command, std::string what) {
  Diagnostic d = diagnose(Code::E740, {}, {{"what", std::move(what)}, {"command", command}});
  if (command.empty()) d.remedy = "see `quern --help`";
  return d;
}

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  Collected once;
  CLI::App app(kSummary, "quern");
  app.set_version_flag("--version", std::string("quern ") + version(), "Print the version");
  app.require_subcommand(0, 1);
  std::vector<CLI::App*> commands = {&app};
  for (const HelpText& h : kHelpTexts) {
    CLI::App* sub = app.add_subcommand(h.command, h.summary);
    sub->footer(h.footer);
    commands.push_back(sub);
  }
  add_run(*commands[1], line, once);
  add_check(*commands[2], line, once);
  add_format(*commands[3], line);
  add_list(*commands[4], line);
  add_emit(*commands[5], line, once);
  add_derive(*commands[6], line, once);
  add_bench(*commands[7], line, once);
  add_json(*commands[8], line);
  add_exec(*commands[9], line, once);
  for (CLI::App* a : commands) {
    a->set_help_flag("-h,--help", "Print this help");
    a->formatter(std::make_shared<Layout>());
    a->get_formatter()->column_width(24);
    a->allow_extras();
    add_color(*a, once);
  }
  app.footer(kFooter);

  std::vector<const char*> words(argv, argv + argc);
  Texts rest = argc > 0 ? split_exec(words) : Texts();
  std::string problem;
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::CallForHelp&) {
    const auto parsed = app.get_subcommands();
    line.text = parsed.empty() ? app.help() : parsed[0]->help(app.get_name());
    return line;
  } catch (const CLI::CallForVersion& e) {
    line.text = std::string(e.what()) + "\n";
    return line;
  } catch (const CLI::ParseError& e) {
    problem = translate(e);
  }
  const auto parsed = app.get_subcommands();
  if (!parsed.empty()) line.command = parsed[0]->get_name();
  // An option that doesn't exist explains what else is wrong.
  if (auto d = leftover(app, "")) return fail(*std::move(d));
  if (!parsed.empty() && !problem.empty()) {
    if (auto d = leftover(*parsed[0], line.command)) return fail(*std::move(d));
  }
  if (!problem.empty()) return fail(usage_error(line.command, std::move(problem)));
  if (parsed.empty()) return fail(usage_error("", "a command is missing"));
  if (auto d = leftover(*parsed[0], line.command)) return fail(*std::move(d));
  if (auto d = take_all(once, line)) return fail(*std::move(d));
  if (line.command == "exec") {
    if (auto d = join_exec(line, std::move(rest))) return fail(*std::move(d));
  }
  return line;
}

}  // namespace quern::cli
