#include "target/nvptx/found.h"

#include <fmt/format.h>

#include <cstddef>

#include "jit/kernel_abi.h"

namespace quern::target {

std::string found_function() {
  using jit::Found;
  return fmt::format(
      R"(define internal void @found(ptr %report, i64 %point, i32 %site, i32 %subscript, i64 %value, i64 %extent, ptr %axes, i64 %known) noinline nounwind {{
entry:
  %number = sext i32 %site to i64
  %offset = mul i64 %number, {size}
  %lock = getelementptr i8, ptr %report, i64 %offset
  %point.at = getelementptr i8, ptr %lock, i64 {point}
  %kept = getelementptr i8, ptr %lock, i64 {axes}
  br label %take
take:
  %pair = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %taken = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %taken, label %look, label %take
look:
  %best = load volatile i64, ptr %point.at
  %less = icmp slt i64 %point, %best
  br i1 %less, label %write, label %same
same:
  %equal = icmp eq i64 %point, %best
  br i1 %equal, label %compare, label %done
compare:
  %i = phi i64 [ 0, %same ], [ %i.next, %next ]
  %here.at = getelementptr i64, ptr %axes, i64 %i
  %there.at = getelementptr i64, ptr %kept, i64 %i
  %bit = shl i64 1, %i
  %in = and i64 %known, %bit
  %absent = icmp eq i64 %in, 0
  br i1 %absent, label %next, label %both
both:
  %here = load i64, ptr %here.at
  %there = load volatile i64, ptr %there.at
  %before = icmp slt i64 %here, %there
  br i1 %before, label %write, label %after
after:
  %later = icmp sgt i64 %here, %there
  br i1 %later, label %done, label %next
next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 64
  br i1 %more, label %compare, label %done
write:
  store volatile i64 %point, ptr %point.at
  %subscript.at = getelementptr i8, ptr %lock, i64 {subscript}
  store volatile i32 %subscript, ptr %subscript.at
  %value.at = getelementptr i8, ptr %lock, i64 {value}
  store volatile i64 %value, ptr %value.at
  %extent.at = getelementptr i8, ptr %lock, i64 {extent}
  store volatile i64 %extent, ptr %extent.at
  %known.at = getelementptr i8, ptr %lock, i64 {known}
  store volatile i64 %known, ptr %known.at
  br label %copy
copy:
  %j = phi i64 [ 0, %write ], [ %j.next, %copied ]
  %to = getelementptr i64, ptr %kept, i64 %j
  %from = getelementptr i64, ptr %axes, i64 %j
  %j.bit = shl i64 1, %j
  %j.in = and i64 %known, %j.bit
  %j.absent = icmp eq i64 %j.in, 0
  br i1 %j.absent, label %copied, label %moved
moved:
  %x = load i64, ptr %from
  store volatile i64 %x, ptr %to
  br label %copied
copied:
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, 64
  br i1 %j.more, label %copy, label %done
done:
  fence release
  store atomic volatile i32 0, ptr %lock release, align 4
  ret void
}}
)",
      fmt::arg("size", sizeof(Found)), fmt::arg("point", offsetof(Found, point)),
      fmt::arg("axes", offsetof(Found, axes)), fmt::arg("subscript", offsetof(Found, subscript)),
      fmt::arg("value", offsetof(Found, value)), fmt::arg("extent", offsetof(Found, extent)),
      fmt::arg("known", offsetof(Found, known)));
}

}  // namespace quern::target
