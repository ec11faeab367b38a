// A program outside Quern, as its users write it.
#include <quern/version.h>

#include <cstdio>

int main() { std::puts(quern::version()); }
