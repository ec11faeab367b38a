# Flags that hold for every target: warnings are errors, floating point is as written, lld links and ccache is used
# where they are found.
include(CheckLinkerFlag)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()
find_program(QUERN_CCACHE ccache)
if(QUERN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${QUERN_CCACHE})
endif()
check_linker_flag(CXX -fuse-ld=lld QUERN_LINKS_WITH_LLD)
if(QUERN_LINKS_WITH_LLD)
  add_link_options(-fuse-ld=lld)
endif()
# Names the build: compiled code in the cache is that of one build (compile/build_id.h).
add_link_options(-Wl,--build-id=sha1)
# Designated initialisers name what differs from the default and leave the rest: not a mistake here.
add_compile_options(-Wall -Wextra -Wpedantic -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-restrict)  # false alarms on std::string + char * in GCC 12 (its bug 105329)
else()
  add_compile_options(-Wno-deprecated-declarations)  # stable_sort of libstdc++ 12 uses what C++17 deprecated
endif()
# Switched off for one build by `cmake --compile-no-warning-as-error`.
set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
# No multiply and add may become one where the source has two: the same input gives the same bytes on every machine.
add_compile_options(-ffp-contract=off)

set(QUERN_SANITIZE "" CACHE STRING "sanitizers to build with: address;undefined, or thread; empty: none")
if(QUERN_SANITIZE)
  list(JOIN QUERN_SANITIZE "," sanitizers)
  set(QUERN_SANITIZE_FLAGS -fsanitize=${sanitizers})
  add_compile_options(${QUERN_SANITIZE_FLAGS} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-Wno-maybe-uninitialized)  # false alarms on std::regex and LLVM in instrumented code
  endif()
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(${QUERN_SANITIZE_FLAGS})
endif()

option(QUERN_FUZZ "build the libFuzzer targets of tests/fuzz (clang)" OFF)
if(QUERN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# A layer: a static library named quern_<layer> of all .cc files in its folder, that may include from src/ and
# include/. USES names what it links: layers below it and imported targets. It is installed as quern::<layer>.
# With PROGRAM its main.cc is left out and becomes that program. BACK: it is of the back half, which is
# installed as a shared library (quern_compiler) and not layer by layer.
function(quern_layer name)
  cmake_parse_arguments(LAYER "BACK" "PROGRAM" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  if(LAYER_PROGRAM)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${name}/main.cc)
    add_executable(${LAYER_PROGRAM} ${CMAKE_CURRENT_SOURCE_DIR}/${name}/main.cc)
    target_link_libraries(${LAYER_PROGRAM} PRIVATE quern_${name})
  endif()
  add_library(quern_${name} STATIC ${sources})
  add_library(quern::${name} ALIAS quern_${name})
  set_target_properties(quern_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(quern_${name} PUBLIC cxx_std_23)
  target_include_directories(quern_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(used IN LISTS LAYER_USES)
    target_link_libraries(quern_${name} PUBLIC ${used})
  endforeach()
  if(NOT LAYER_BACK)
    set_property(GLOBAL APPEND PROPERTY QUERN_LAYERS quern_${name})
  endif()
endfunction()
