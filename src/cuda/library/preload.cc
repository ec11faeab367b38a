// Preloaded into a program that was linked with NVIDIA's static runtime: before the program's own constructors run,
// each entry point of that runtime is overwritten with a jump to ours. Linkers keep a program's symbols unless told
// otherwise, so the entry points are found by name in the .symtab of the program's file.
//
// It is loaded into every program that the program starts, too, so it takes nothing but libc, and opens the library
// with everything in it (LLVM among others) only where a static runtime is found.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr const char* kNames13[] = {
#define QUERN_CUDART(name) #name,
#include "cuda/api/names_13.def"
#undef QUERN_CUDART
};
constexpr const char* kNames12[] = {
#define QUERN_CUDART(name) #name,
#include "cuda/api/names_12.def"
#undef QUERN_CUDART
};

// mov rax, imm64; jmp rax. No function of the runtime takes a variable number of arguments, so rax is free.
constexpr size_t kJump = 12;
// The runtime's own static objects, whose constructors must not run, have only names like this.
constexpr const char* kInner = "libcudart_static_";

[[noreturn]] void give_up(const char* why, const char* more) {
  std::fprintf(stderr, "error: quern can't take the place of the CUDA runtime in this program: %s%s%s\n", why,
               *more ? ": " : "", more);
  std::_Exit(70);
}

// The program's file, mapped. Everything in it is checked against its size before it is read.
struct File {
  const uint8_t* data = nullptr;
  size_t bytes = 0;

  bool has(uint64_t at, uint64_t size) const { return at <= bytes && size <= bytes - at; }
};

File map_program() {
  File out;
  int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return out;
  struct stat info = {};
  if (::fstat(file, &info) == 0 && info.st_size > 0) {
    auto size = static_cast<size_t>(info.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (at != MAP_FAILED) out = {static_cast<const uint8_t*>(at), size};
  }
  ::close(file);
  return out;
}

struct Symbols {
  const Elf64_Sym* first = nullptr;
  size_t count = 0;
  const char* names = nullptr;
  size_t names_bytes = 0;
  uint64_t init_array = 0, init_bytes = 0;

  // Empty for what is no function of the program, or has a name that leads out of the table.
  const char* function(size_t i) const {
    const Elf64_Sym& s = first[i];
    if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF || s.st_name >= names_bytes) return "";
    return names + s.st_name;
  }
};

Symbols find_symbols(const File& f) {
  Symbols out;
  if (!f.has(0, sizeof(Elf64_Ehdr))) return out;
  auto* header = reinterpret_cast<const Elf64_Ehdr*>(f.data);
  bool fits = std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
              header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shoff % alignof(Elf64_Shdr) == 0 &&
              f.has(header->e_shoff, uint64_t{header->e_shnum} * sizeof(Elf64_Shdr));
  if (!fits) return out;
  auto* sections = reinterpret_cast<const Elf64_Shdr*>(f.data + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr& s = sections[i];
    if (s.sh_type == SHT_INIT_ARRAY) out.init_array = s.sh_addr, out.init_bytes = s.sh_size;
    if (s.sh_type != SHT_SYMTAB || s.sh_link >= header->e_shnum) continue;
    const Elf64_Shdr& text = sections[s.sh_link];
    bool whole = f.has(s.sh_offset, s.sh_size) && s.sh_offset % alignof(Elf64_Sym) == 0 && text.sh_size > 0 &&
                 f.has(text.sh_offset, text.sh_size) && f.data[text.sh_offset + text.sh_size - 1] == 0;
    if (!whole) continue;
    out.first = reinterpret_cast<const Elf64_Sym*>(f.data + s.sh_offset);
    out.count = s.sh_size / sizeof(Elf64_Sym);
    out.names = reinterpret_cast<const char*>(f.data + text.sh_offset);
    out.names_bytes = text.sh_size;
  }
  return out;
}

int take_base(dl_phdr_info* info, size_t, void* out) {
  *static_cast<uint64_t*>(out) = info->dlpi_addr;
  return 1;  // the first is the program itself
}

// Lets `change` write to the pages of [at, at + bytes), which get back the access they should have.
template <class F>
void with_access(uint64_t at, size_t bytes, int after, F change) {
  auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t first = at / page * page, last = (at + bytes + page - 1) / page * page;
  void* pages = reinterpret_cast<void*>(first);
  // Execution is allowed meanwhile: on another page of them may be what is running.
  int open = PROT_READ | PROT_WRITE | (after & PROT_EXEC);
  if (::mprotect(pages, last - first, open) != 0) give_up("its code can't be changed", "mprotect");
  change();
  ::mprotect(pages, last - first, after);
}

void redirect(uint64_t at, const void* to) {
  uint8_t jump[kJump] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  std::memcpy(jump + 2, &to, sizeof to);
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  // The mark of an allowed target of indirect jumps stays.
  bool mark = std::memcmp(reinterpret_cast<void*>(at), kEndbr64, sizeof kEndbr64) == 0;
  at += mark ? sizeof kEndbr64 : 0;
  with_access(at, kJump, PROT_READ | PROT_EXEC, [&] { std::memcpy(reinterpret_cast<void*>(at), jump, kJump); });
}

void no_constructor() {}

// Constructors that NVIDIA's runtime brought along are replaced by one that does nothing.
void drop_constructors(const Symbols& symbols, uint64_t base) {
  if (!symbols.init_array) return;
  auto* entries = reinterpret_cast<uint64_t*>(base + symbols.init_array);
  for (size_t i = 0; i < symbols.init_bytes / sizeof(uint64_t); ++i) {
    for (size_t s = 0; s < symbols.count; ++s) {
      if (base + symbols.first[s].st_value != entries[i]) continue;
      if (std::strncmp(symbols.function(s), kInner, std::strlen(kInner)) != 0) continue;
      with_access(reinterpret_cast<uint64_t>(&entries[i]), sizeof entries[i], PROT_READ,
                  [&] { entries[i] = reinterpret_cast<uint64_t>(&no_constructor); });
      break;
    }
  }
}

// The library beside this one.
void* open_library() {
  Dl_info self = {};
  char path[4096];
  if (!::dladdr(reinterpret_cast<void*>(&open_library), &self) || !self.dli_fname) give_up("it isn't found", "");
  const char* slash = std::strrchr(self.dli_fname, '/');
  int folder = slash ? static_cast<int>(slash + 1 - self.dli_fname) : 0;
  std::snprintf(path, sizeof path, "%.*slibquern_cuda.so", folder, self.dli_fname);
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up("its library can't be loaded", ::dlerror());
  return library;
}

// How far from a symbol to the next function: what may be overwritten.
uint64_t room(const Symbols& symbols, uint64_t at) {
  uint64_t next = UINT64_MAX;
  for (size_t i = 0; i < symbols.count; ++i) {
    uint64_t other = symbols.first[i].st_value;
    if (*symbols.function(i) && other > at && other < next) next = other;
  }
  return next - at;
}

template <size_t kCount>
void redirect_all(const Symbols& symbols, uint64_t base, const char* const (&names)[kCount], const char* table_name) {
  auto* table = static_cast<void* const*>(::dlsym(open_library(), table_name));
  if (!table) give_up("its library is another one", table_name);
  for (size_t i = 0; i < symbols.count; ++i) {
    const char* name = symbols.function(i);
    if (std::strncmp(name, "cuda", 4) != 0 && std::strncmp(name, "__cuda", 6) != 0) continue;
    for (size_t n = 0; n < kCount; ++n) {
      if (std::strcmp(name, names[n]) != 0) continue;
      if (room(symbols, symbols.first[i].st_value) < kJump + 4) break;
      redirect(base + symbols.first[i].st_value, table[n]);
      break;
    }
  }
}

bool has(const Symbols& symbols, const char* name) {
  for (size_t i = 0; i < symbols.count; ++i) {
    if (std::strcmp(symbols.function(i), name) == 0) return true;
  }
  return false;
}

using NvrtcSize = int (*)(void* program, size_t* bytes);
using NvrtcText = int (*)(void* program, char* out);

// The PTX of a program that was compiled to machine code; 0 where there is none.
size_t nvrtc_ptx_bytes(void* program) {
  auto cubin = reinterpret_cast<NvrtcSize>(::dlsym(RTLD_NEXT, "nvrtcGetCUBINSize"));
  auto ptx = reinterpret_cast<NvrtcSize>(::dlsym(RTLD_NEXT, "nvrtcGetPTXSize"));
  size_t bytes = 0;
  if (!cubin || !ptx || cubin(program, &bytes) != 0 || bytes == 0) return 0;
  return ptx(program, &bytes) == 0 ? bytes : 0;
}

constexpr int kJitError = 5;  // NVJITLINK_ERROR_INTERNAL
constexpr uint32_t kMostJitOptions = 256;

int jit_create(const char* name, void** out, uint32_t count, const char** options) {
  auto real = reinterpret_cast<int (*)(void**, uint32_t, const char**)>(::dlsym(RTLD_NEXT, name));
  if (!real) return kJitError;
  bool lto = false;
  const char* more[kMostJitOptions + 1];
  if (!options || count > kMostJitOptions) return real(out, count, options);
  for (uint32_t i = 0; i < count; ++i) {
    more[i] = options[i];
    if (options[i] && std::strcmp(options[i], "-lto") == 0) lto = true;
    if (options[i] && std::strcmp(options[i], "-ptx") == 0) return real(out, count, options);
  }
  more[count] = "-ptx";
  return real(out, count + lto, more);
}

// The size of what was linked, or it itself: of PTX, where there is some.
template <class T>
int jit_get(const char* ptx_name, const char* name, void* linker, T* out) {
  const char* const names[] = {ptx_name, name};
  for (const char* one : names) {
    auto real = reinterpret_cast<int (*)(void*, T*)>(::dlsym(RTLD_NEXT, one));
    if (real && real(linker, out) == 0) return 0;
  }
  return kJitError;
}

[[gnu::constructor]] void take_over() {
  File file = map_program();
  Symbols symbols = find_symbols(file);
  if (symbols.first && has(symbols, "__cudaRegisterFatBinary")) {
    uint64_t base = 0;
    ::dl_iterate_phdr(take_base, &base);
    // CUDA 13 dropped this name.
    if (has(symbols, "cudaGetDeviceProperties_v2")) {
      redirect_all(symbols, base, kNames12, "quern_cudart_12");
    } else {
      redirect_all(symbols, base, kNames13, "quern_cudart_13");
    }
    drop_constructors(symbols, base);
  }
  if (file.data) ::munmap(const_cast<uint8_t*>(file.data), file.bytes);
}

}  // namespace

// What a program gets that asks NVRTC for machine code is PTX, which NVRTC keeps beside it: cuModuleLoadData takes
// either.
extern "C" {

[[gnu::visibility("default")]] int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  size_t ptx = bytes ? nvrtc_ptx_bytes(program) : 0;
  auto real = reinterpret_cast<NvrtcSize>(::dlsym(RTLD_NEXT, "nvrtcGetCUBINSize"));
  if (!ptx) return real ? real(program, bytes) : 7;  // NVRTC_ERROR_BUILTIN_OPERATION_FAILURE
  *bytes = ptx;
  return 0;
}

[[gnu::visibility("default")]] int nvrtcGetCUBIN(void* program, char* out) {
  const char* name = nvrtc_ptx_bytes(program) ? "nvrtcGetPTX" : "nvrtcGetCUBIN";
  auto real = reinterpret_cast<NvrtcText>(::dlsym(RTLD_NEXT, name));
  return real ? real(program, out) : 7;
}

// The same with nvJitLink, where all that is linked is intermediate code (-lto): then it can give PTX.
#define QUERN_JIT_LINK(version)                                                                                        \
  [[gnu::visibility("default")]] int __nvJitLinkCreate_##version(void** out, uint32_t count, const char** options) {   \
    return jit_create("__nvJitLinkCreate_" #version, out, count, options);                                             \
  }                                                                                                                    \
  [[gnu::visibility("default")]] int __nvJitLinkGetLinkedCubinSize_##version(void* linker, size_t* bytes) {            \
    return jit_get("__nvJitLinkGetLinkedPtxSize_" #version, "__nvJitLinkGetLinkedCubinSize_" #version, linker, bytes); \
  }                                                                                                                    \
  [[gnu::visibility("default")]] int __nvJitLinkGetLinkedCubin_##version(void* linker, void* out) {                    \
    return jit_get("__nvJitLinkGetLinkedPtx_" #version, "__nvJitLinkGetLinkedCubin_" #version, linker, out);           \
  }
QUERN_JIT_LINK(12_0)
QUERN_JIT_LINK(12_1)
QUERN_JIT_LINK(12_2)
QUERN_JIT_LINK(12_3)
QUERN_JIT_LINK(12_4)
QUERN_JIT_LINK(12_5)
QUERN_JIT_LINK(12_6)
QUERN_JIT_LINK(12_7)
QUERN_JIT_LINK(12_8)
QUERN_JIT_LINK(12_9)
QUERN_JIT_LINK(13_0)
#undef QUERN_JIT_LINK

}  // extern "C"
