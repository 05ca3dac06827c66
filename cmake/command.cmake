# The command. Each app/command_NAME.c is a subcommand and each bench/bench_NAME.c a benchmark: the files found here make
# the tables in main.c and command_bench.c.
function(write_table prefix macro output)
    set(lines "")
    foreach(source ${ARGN})
        get_filename_component(name ${source} NAME_WE)
        string(REPLACE "${prefix}_" "" name ${name})
        string(APPEND lines "${macro}(${name})\n")
    endforeach()
    file(GENERATE OUTPUT ${output} CONTENT "${lines}")
endfunction()
file(GLOB command_sources RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS app/command_*.c)
file(GLOB bench_sources CONFIGURE_DEPENDS bench/bench_*.c)
file(GLOB app_sources RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS app/*.c)
include(cmake/viewer.cmake)
if(NOT THENAR_VIEWER)
    list(REMOVE_ITEM command_sources ${viewer_sources})
    list(REMOVE_ITEM app_sources ${viewer_sources})
endif()
write_table(command COMMAND ${PROJECT_BINARY_DIR}/generated/commands.inc ${command_sources})
write_table(bench BENCH ${PROJECT_BINARY_DIR}/generated/benches.inc ${bench_sources})

# Benchmarks of kernels call internal functions of the library. They alone are compiled with the internal headers: a source of
# the command that includes one does not compile.
add_library(thenar_bench OBJECT
    ${bench_sources} bench/bench.c bench/closed_loop.c bench/hand_like.c bench/limited_hand.c bench/pad_press.c
    bench/tracked_noise.c)
target_include_directories(thenar_bench PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(thenar_bench PRIVATE thenar_dependencies thenar_io_dependencies thenar_flags)

# The command contains the library (thenar_objects) and not the shared libraries, since its benchmarks need functions that
# those do not export.
add_executable(thenar_command ${app_sources} $<TARGET_OBJECTS:thenar_bench>)
set_target_properties(thenar_command PROPERTIES OUTPUT_NAME thenar)
target_include_directories(thenar_command PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(thenar_command PRIVATE thenar_objects thenar_flags)
if(THENAR_VIEWER)
    target_link_libraries(thenar_command PRIVATE PkgConfig::WEBSOCKETS PkgConfig::ZLIB)
    target_compile_definitions(thenar_command PRIVATE THENAR_VIEWER)
endif()
