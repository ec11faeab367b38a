// Tests of how a process ends run in a fresh one: streams have threads, which a forked process is without.
#include <gtest/gtest.h>

namespace {

class FreshProcesses : public testing::Environment {
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[maybe_unused]] const auto* const kEnvironment = testing::AddGlobalTestEnvironment(new FreshProcesses);

}  // namespace
