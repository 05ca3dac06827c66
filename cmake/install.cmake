# What `cmake --install build --prefix PREFIX` puts there. Everything finds everything else relative to itself, so the
# prefix can be moved afterwards.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/thenar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS thenar EXPORT thenarTargets)
install(TARGETS thenar_command)
if(TARGET thenar_static)
    install(FILES ${static_library} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# Scenes name their meshes ../assets/meshes/NAME.obj: the two folders stand side by side as in the source tree.
set(data_folder ${CMAKE_INSTALL_DATADIR}/thenar)
install(DIRECTORY scenes DESTINATION ${data_folder}
    FILES_MATCHING PATTERN "*.yaml" PATTERN "*.obj" PATTERN "*.vtk" PATTERN "*.jsonl")
install(DIRECTORY assets/meshes DESTINATION ${data_folder}/assets OPTIONAL FILES_MATCHING PATTERN "*.obj")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.c" PATTERN CMakeLists.txt PATTERN build EXCLUDE)
install(FILES man/thenar.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)

# pkg-config.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
configure_file(cmake/thenar.pc.in ${PROJECT_BINARY_DIR}/thenar.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/thenar.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(thenar).
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/thenar)
install(EXPORT thenarTargets NAMESPACE thenar:: DESTINATION ${package_folder})
configure_package_config_file(cmake/thenarConfig.cmake.in ${PROJECT_BINARY_DIR}/thenarConfig.cmake
    INSTALL_DESTINATION ${package_folder} PATH_VARS data_folder CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/thenarConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/thenarConfig.cmake ${PROJECT_BINARY_DIR}/thenarConfigVersion.cmake
    DESTINATION ${package_folder})
