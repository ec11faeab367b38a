// What happens when a kernel does something wrong: the report, and the end of the program.
#pragma once

#include <string>

#include "cuda/abi/error.h"
#include "vgpu/fault.h"

namespace quern::cuda {

// Prints the fault on standard error, as text or as a line of JSON, and ends the program with exit code 1; an assertion
// that failed, and with QUERN_CHECK=continue every fault, is the error of this and every later call instead. A program
// that never hears of an assertion, since it calls nothing any more, has the exit code 1 too.
Error report(const vgpu::Fault& fault);

// The error that a real device gives.
Error error_of(vgpu::FaultKind kind);

std::string json_of(const vgpu::Fault& fault);

}  // namespace quern::cuda
