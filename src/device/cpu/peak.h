// What this machine can do, measured: multiply-adds that stay in registers, and bytes read from memory far larger than
// the caches. A share of peak means nothing against a paper number: clocks depend on the day, on the vectors used and
// on who else is there, so these are measured in the run that uses them.
#pragma once

namespace quern::device::cpu {

struct Peak {
  double flops = 0;      // f32 operations a second, all threads; a multiply-add is two
  double bandwidth = 0;  // bytes a second read, all threads
};

// Takes about `seconds` for each of the two; best of several bursts. With the widest vectors that the machine has.
Peak measure_peak(int threads, double seconds = 0.2);

}  // namespace quern::device::cpu
