# Build options, and the flags that every target of the project is compiled with.
include(CheckCCompilerFlag)

option(THENAR_TESTS "Configure the tests (target tests)" ON)
option(THENAR_FUZZ "Build the fuzz targets with libFuzzer (needs clang; preset fuzz)" OFF)
option(THENAR_WERROR "Developers' warnings, as errors" OFF)
set(THENAR_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize: address,undefined or thread")

# The default runs on x86-64 machines since about 2013 (AVX2 and FMA) and on every aarch64. `native` may be faster (AVX-512)
# and may not run on another machine. Empty is the compiler's baseline: on x86-64 it takes twice as long, and its states
# differ in the last digits, since it rounds a * b + c twice.
set(default_arch "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(default_arch x86-64-v3)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(default_arch armv8-a)
endif()
set(THENAR_ARCH "${default_arch}" CACHE STRING "Machine to compile for (-march): native, x86-64-v3, ... or empty")

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
if(THENAR_WERROR)
    target_compile_options(thenar_flags INTERFACE
        -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror)
    if(CMAKE_C_COMPILER_ID STREQUAL GNU)
        # snprintf is meant to truncate messages that are longer than their buffer.
        target_compile_options(thenar_flags INTERFACE -Wno-format-truncation)
    endif()
endif()
# -ffp-contract=off: the same arithmetic with every compiler and optimization level, hence the same state hash.
# -fno-math-errno, -fno-trapping-math: sqrt becomes an instruction and selects can be vectorized; no result changes.
# -Wno-psabi: no function that takes or returns vectors is part of the binary interface.
target_compile_options(thenar_flags INTERFACE -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-psabi)
# Elementary functions are called, never evaluated by the compiler: gcc rounds those of constants correctly, clang takes the
# last bit of the C library that it runs with.
foreach(function acos asin atan atan2 cbrt cos cosh exp exp2 expm1 hypot log log10 log1p log2 pow sin sincos sinh tan tanh)
    target_compile_options(thenar_flags INTERFACE -fno-builtin-${function})
endforeach()
# gcc 12 before 12.3 makes fused multiply-adds (vfmaddsub) of a * b + c and a * b - c side by side in spite of
# -ffp-contract=off: quaternion products came out otherwise than with clang.
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12
        AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12.3)
    target_compile_options(thenar_flags INTERFACE -fno-tree-slp-vectorize)
endif()
# gcc copies vectors that are wider than a register in pieces (src/core/simd.h). The pieces must be as wide as those that are
# loaded and stored, or every load waits for the stores before it. Known from gcc 12 on; older ones take three times as long.
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    check_c_compiler_flag("-mmove-max=256 -mstore-max=256" THENAR_KNOWS_MOVE_MAX)
    if(THENAR_KNOWS_MOVE_MAX)
        target_compile_options(thenar_flags INTERFACE -mmove-max=256 -mstore-max=256)
    endif()
endif()
# Build products do not contain the path of the build folder: debuggers find the sources from the root of the tree.
target_compile_options(thenar_flags INTERFACE
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
if(THENAR_ARCH)
    set(arch_flags -march=${THENAR_ARCH})
    # gcc knows the levels of x86-64 from version 11 on, clang from 12 on.
    if(THENAR_ARCH STREQUAL x86-64-v3)
        check_c_compiler_flag(-march=x86-64-v3 THENAR_KNOWS_X86_64_V3)
        if(NOT THENAR_KNOWS_X86_64_V3)
            set(arch_flags -mcx16 -msahf -mpopcnt -msse4.2 -mavx2 -mfma -mbmi -mbmi2 -mf16c -mlzcnt -mmovbe)
        endif()
    endif()
    target_compile_options(thenar_flags INTERFACE ${arch_flags})
endif()
if(THENAR_SANITIZE)
    target_compile_options(thenar_flags INTERFACE -fsanitize=${THENAR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(thenar_flags INTERFACE -fsanitize=${THENAR_SANITIZE})
endif()
