// The program `quern`. All of it is in the library, where tests reach it.
#include "cli/program.h"

int main(int argc, char** argv) { return quern::cli::run_program(argc, argv); }
