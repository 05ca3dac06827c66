# What the library links; docs/dependencies.md has the reason and the licence of each.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LIBLO REQUIRED IMPORTED_TARGET liblo)
find_library(AMD_LIBRARY amd REQUIRED)
find_path(AMD_INCLUDE amd.h PATH_SUFFIXES suitesparse REQUIRED)
find_library(METIS_LIBRARY metis REQUIRED)
find_path(METIS_INCLUDE metis.h REQUIRED)

add_library(thenar_dependencies INTERFACE)
target_include_directories(thenar_dependencies SYSTEM INTERFACE ${AMD_INCLUDE} ${METIS_INCLUDE})
target_link_libraries(thenar_dependencies INTERFACE
    PkgConfig::YAML PkgConfig::JANSSON PkgConfig::ZSTD PkgConfig::LIBLO ${AMD_LIBRARY} ${METIS_LIBRARY} Threads::Threads m ${CMAKE_DL_LIBS})
