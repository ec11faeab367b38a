// A launch of the host with all that kernels launch because of it: it is complete when all of them are.
#pragma once

#include <map>
#include <set>
#include <stop_token>
#include <unordered_map>

#include "vgpu/children/children.h"
#include "vgpu/grid.h"

namespace quern::vgpu {

class Family {
 public:
  Family(Program& program, const Settings& settings) : program_(program), settings_(settings) {}
  ~Family();

  // Blocks until the grid and all that follows from it is done, or somebody stopped it.
  Result<std::optional<Fault>> run(const ptx::Function& kernel, const Launch& launch);
  // A child, or a transfer, at that depth, on so many threads.
  Result<std::optional<Fault>> run_child(const Child& child, int depth, int threads, const Chain* up);

  double compile_s() const { return compile_s_; }
  int64_t warp_instructions() const { return warp_instructions_; }

  // --- for calls of kernels ---
  Program& program() const { return program_; }
  const Settings& settings() const { return settings_; }
  // Counts launches that were asked for and aren't complete. False: there are as many as there may be.
  bool reserve();
  void release() { --pending_; }
  uint64_t new_handle() { return next_handle_ += 16; }
  // Memory for a child's arguments, which the kernel fills; with what it will be launched as, if that is known already.
  struct Buffer {
    const ptx::Function* kernel = nullptr;
    Launch launch;
    int64_t bytes = 0;
  };
  Result<uint64_t> make_buffer(Buffer buffer);
  // Takes it back, with the arguments. Empty: none that make_buffer gave.
  std::optional<Buffer> take_buffer(uint64_t address, const ptx::Function* kernel);
  // The address of a text in device memory.
  Result<uint64_t> text(const std::string& text);

 private:
  Result<std::optional<Fault>> run_grid(const ptx::Function& kernel, const Launch& launch, int depth, int threads,
                                        const Chain* up);
  Result<std::optional<Fault>> run_alone(Grid& grid);
  Result<std::optional<Fault>> run_transfer(const Transfer& transfer, const Chain& by);
  void watch(std::stop_token done);
  void abandon();

  Program& program_;
  const Settings& settings_;
  std::atomic<int64_t> pending_{0};
  std::atomic<uint64_t> next_handle_{1 << 16};
  std::mutex mutex_;
  std::set<Grid*> running_;
  bool abandoned_ = false;                // one has failed: the others needn't go on
  std::optional<FaultKind> interrupted_;  // from outside
  double compile_s_ = 0;
  int64_t warp_instructions_ = 0;
  std::unordered_map<uint64_t, Buffer> buffers_;
  std::map<std::string, uint64_t> texts_;
};

}  // namespace quern::vgpu
