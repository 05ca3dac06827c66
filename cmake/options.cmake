# Build options, and the flags that every target of the project is compiled with.
option(THENAR_TESTS "Build the tests" ON)
option(THENAR_FUZZ "Build the fuzz targets with libFuzzer (needs clang; preset fuzz)" OFF)
# `native` is for who builds and runs on one machine: the result may not run on another. Packagers set x86-64-v3 (AVX2
# and FMA, most machines since 2013). Empty means the compiler's baseline: it runs everywhere, takes twice as long, and
# its states differ in the last digits, since x86-64 without FMA rounds a * b + c twice.
set(THENAR_ARCH native CACHE STRING "Machine to compile for (-march): native, x86-64-v3, ... or empty")
set(THENAR_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Asserts stay: they catch misuse of the API (an index out of range) for the price of a comparison.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")

add_library(thenar_flags INTERFACE)
target_compile_definitions(thenar_flags INTERFACE _GNU_SOURCE)
# -ffp-contract=off: the same arithmetic with every compiler and optimization level, hence the same state hash.
# -fno-math-errno, -fno-trapping-math: sqrt becomes an instruction and selects can be vectorized; no result changes.
target_compile_options(thenar_flags INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror -Wno-psabi
    -ffp-contract=off -fno-math-errno -fno-trapping-math)
# Elementary functions are called, never worked out by the compiler: gcc rounds those of constants correctly, clang takes the
# last bit of the C library that it runs with.
foreach(function acos asin atan atan2 cbrt cos cosh exp exp2 expm1 hypot log log10 log1p log2 pow sin sincos sinh tan tanh)
    target_compile_options(thenar_flags INTERFACE -fno-builtin-${function})
endforeach()
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    # Cutting a message off at the end of its buffer is what snprintf is used for here.
    target_compile_options(thenar_flags INTERFACE -Wno-format-truncation)
    # gcc 12 before 12.3 makes fused multiply-adds (vfmaddsub) of a * b + c and a * b - c side by side in spite of
    # -ffp-contract=off: quaternion products came out otherwise than with clang.
    if(CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12 AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12.3)
        target_compile_options(thenar_flags INTERFACE -fno-tree-slp-vectorize)
    endif()
endif()
# The kernels work on eight doubles at a time. Without AVX-512 clang makes two AVX2 registers of them, while gcc 12 keeps
# them in memory: a step of 600 tets takes 587 us instead of 211 (thenar bench linear, x86-64-v3).
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-march=${THENAR_ARCH}")
check_c_source_compiles("#ifndef __AVX512F__\n#error\n#endif\nint main(void) { return 0; }" THENAR_HAS_AVX512)
unset(CMAKE_REQUIRED_FLAGS)
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT THENAR_HAS_AVX512)
    message(WARNING "gcc without AVX-512 makes Thenar about three times slower than clang: -DCMAKE_C_COMPILER=clang")
endif()
# Nothing that is built names the folder it was built in: debuggers find the sources from the root of the tree.
target_compile_options(thenar_flags INTERFACE
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
if(THENAR_ARCH)
    target_compile_options(thenar_flags INTERFACE -march=${THENAR_ARCH})
endif()
if(THENAR_SANITIZE)
    target_compile_options(thenar_flags INTERFACE -fsanitize=${THENAR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(thenar_flags INTERFACE -fsanitize=${THENAR_SANITIZE})
endif()
