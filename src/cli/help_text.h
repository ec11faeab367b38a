// What --help says apart from the options, which CLI11 lists: a summary and examples for each subcommand.
#pragma once

namespace quern::cli {

struct HelpText {
  const char* command;
  const char* summary;
  const char* footer;
};

inline constexpr const char* kSummary = "Run and check kernels written in index notation.";

inline constexpr const char* kFooter =
    "Examples:\n"
    "  quern check matmul.qn\n"
    "  quern run matmul.qn --dim M=4 --dim K=3 --dim N=5 --seed 1\n"
    "  quern run --help\n\n"
    "Exit codes: 0 fine, 1 found while running, 2 wrong use or input, 3 unsupported, 70 a bug of quern's.";

inline constexpr HelpText kHelpTexts[] = {
    {"run", "Compute a kernel",
     "Arrays that aren't given are random ones that fit; their sizes come from --dim or from other arrays.\n\n"
     "Examples:\n"
     "  quern run matmul.qn --dim M=4 --dim K=3 --dim N=5 --seed 1\n"
     "  quern run matmul.qn a=left.npy b=weights.npz:w -o product.npy\n"
     "  quern run attention.qn:paged_attention arguments.safetensors --type T=bf16 -o results/"},
    {"check", "Look for mistakes, prove that subscripts stay in range, and compare compiled code with the interpreter",
     "Dimensions without --dim stand for all sizes; where that proves nothing, samples are tried. Compiled code is\n"
     "compared at small sizes, or at those given, on random and hostile numbers.\n\n"
     "Examples:\n"
     "  quern check matmul.qn\n"
     "  quern check --language-only kernels/*.qn\n"
     "  quern check -v attention.qn:attention --dim H=32 --dim G=8"},
    {"format", "Write files in canonical form, in place",
     "Examples:\n"
     "  quern format matmul.qn\n"
     "  quern format --check kernels/*.qn\n"
     "  quern format - <matmul.qn"},
    {"list", "List kernels with their parameters",
     "Examples:\n"
     "  quern list\n"
     "  quern list kernels/attention.qn --json"},
    {"emit", "Print a kernel at a level of the compiler",
     "Examples:\n"
     "  quern emit --at expr attention.qn:attention\n"
     "  quern emit --at tiled matmul.qn --dim M=1024 --dim K=1024 --dim N=1024"},
    {"derive", "Show how reductions became one pass, step by step",
     "Examples:\n"
     "  quern derive attention.qn:attention --dim B=1 --dim H=8 --dim G=8 --dim M=4096 --dim N=4096 --dim D=64 --dim "
     "E=64"},
    {"bench", "Measure a kernel: fused, unfused and as scalar loops",
     "Rates are shares of what this machine is measured to do in the same run.\n\n"
     "Examples:\n"
     "  quern bench matmul.qn --dim M=1024 --dim K=1024 --dim N=1024"},
    {"devices", "List the devices that can compute",
     "Examples:\n"
     "  quern devices --json"},
    {"exec", "Run a CUDA program, or one kernel of PTX, with no GPU",
     "The program is started with Quern's libraries in place of NVIDIA's; it must hold PTX, as nvcc makes it by "
     "default.\n"
     "What comes behind -- is the program's own. A bad access of a kernel ends it with exit code 1.\n\n"
     "Examples:\n"
     "  quern exec -- ./app --size 100\n"
     "  quern exec --chip a100 --check no-init -- ./app\n"
     "  quern exec saxpy.ptx saxpy --grid 4 --block 256 2.0 x.npy inout:y.npy 1024"},
};

}  // namespace quern::cli
