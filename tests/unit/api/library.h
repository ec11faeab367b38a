// Kernels of kernels/*.qn written in C++, and the names that they share. embedded_library_test.cc compares each with
// its text.
#pragma once

#include <vector>

#include "quern/notation.h"
#include "quern/prelude.h"

namespace quern::library {

inline const Type T("T");

inline const Dim B("B"), C("C"), D("D"), E("E"), F("F"), G("G"), H("H"), K("K"), L("L"), M("M"), N("N"), P("P"), Q("Q"),
    R("R"), S("S"), U("U"), V("V"), W("W"), X("X");

inline const Index b("b"), c("c"), d("d"), e("e"), f("f"), g("g"), h("h"), i("i"), j("j"), k("k"), m("m"), n("n"),
    r("r"), s("s"), t("t"), v("v");

std::vector<Kernel> products();    // library_products.cc
std::vector<Kernel> attentions();  // library_attention.cc
std::vector<Kernel> layers();      // library_layers.cc
std::vector<Kernel> choices();     // library_choices.cc
std::vector<Kernel> images();      // library_images.cc

}  // namespace quern::library
