# What `cmake --install build --prefix PREFIX` puts there. Everything finds everything else relative to itself, so the
# prefix can be moved afterwards.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/thenar)
set(data_folder ${CMAKE_INSTALL_DATADIR}/thenar)

set(libraries thenar)
if(THENAR_IO)
    list(APPEND libraries thenar_io)
    install(TARGETS thenar_command)
    install(FILES man/thenar.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
    # Scenes name their meshes ../assets/meshes/NAME.obj: the two folders stand side by side as in the source tree.
    install(DIRECTORY scenes DESTINATION ${data_folder}
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.obj" PATTERN "*.vtk" PATTERN "*.jsonl")
    install(DIRECTORY assets/meshes DESTINATION ${data_folder}/assets OPTIONAL FILES_MATCHING PATTERN "*.obj")
endif()
install(DIRECTORY include/thenar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.c" PATTERN CMakeLists.txt PATTERN build EXCLUDE)

# Each library with its targets for CMake and its file for pkg-config. The run path in the latter lets a program find a library
# outside of the system's folders; packages for /usr need none.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
set(run_path " -Wl,-rpath,\${libdir}")
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
    set(run_path "")
endif()
foreach(library ${libraries})
    string(REPLACE _ - module ${library})
    install(TARGETS ${library} EXPORT ${library}Targets)
    install(EXPORT ${library}Targets NAMESPACE thenar:: DESTINATION ${package_folder})
    configure_file(cmake/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# find_package(thenar).
configure_package_config_file(cmake/thenarConfig.cmake.in ${PROJECT_BINARY_DIR}/thenarConfig.cmake
    INSTALL_DESTINATION ${package_folder} PATH_VARS data_folder CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/thenarConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/thenarConfig.cmake ${PROJECT_BINARY_DIR}/thenarConfigVersion.cmake
    DESTINATION ${package_folder})
