# The two libraries, shared and static.
#
# libthenar has the physics: it reads no file and links AMD, METIS, libm and threads only. libthenar_io has files, scenes,
# recordings and devices, and what those link. Physics never calls io.
#
# What io uses of libthenar: the API; its own hidden copy of the stateless helpers in src/core/ (errors, memory, text, hashes,
# threads), so that neither library exports them; and the few internal functions that are marked SHARED (src/core/shared.h).
#
# Sources are compiled once. The libraries are made of the objects, and the command and the tests link them all
# (thenar_objects), since benchmarks and tests call internal functions.
set(core_sources src/core/error.c src/core/hash.c src/core/memory.c src/core/text.c src/core/threads.c)
list(TRANSFORM core_sources PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB physics_sources CONFIGURE_DEPENDS src/*/*.c src/solver/baseline/*.c)
file(GLOB io_sources CONFIGURE_DEPENDS src/io/*.c src/scene/*.c src/device/*.c src/haptic/*.c)
list(REMOVE_ITEM physics_sources ${core_sources} ${io_sources})

add_library(thenar_objects INTERFACE)
target_include_directories(thenar_objects INTERFACE ${PROJECT_SOURCE_DIR}/include)

# add_objects(NAME DEPENDENCIES MACRO SOURCE...): MACRO exports the API of a library (thenar/status.h).
function(add_objects name dependencies macro)
    add_library(${name} OBJECT ${ARGN})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${name} PRIVATE ${macro})
    target_compile_options(${name} PRIVATE -include ${PROJECT_SOURCE_DIR}/src/core/same.h)
    target_link_libraries(${name} PRIVATE ${dependencies} thenar_flags)
    target_sources(thenar_objects INTERFACE $<TARGET_OBJECTS:${name}>)
    target_link_libraries(thenar_objects INTERFACE ${dependencies})
endfunction()

# add_shared_library(NAME OBJECTS DEPENDENCIES)
function(add_shared_library name objects dependencies)
    add_library(${name} SHARED $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:thenar_core>)
    # Before 1.0 a minor version may change the binary interface, so the soname has it: libthenar.so.0.2.
    set_target_properties(${name} PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_include_directories(${name} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} PRIVATE ${dependencies} thenar_flags)
    if(NOT THENAR_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()
endfunction()

# add_static_library(NAME OBJECTS): libNAME.a holds one object whose internal names are local, so that a program that links it
# may have an arena_take or a vec3 of its own: the objects are joined, then every symbol of hidden visibility made local.
# The price: the linker takes the library whole or not at all.
function(add_static_library name objects)
    set(object ${PROJECT_BINARY_DIR}/${name}_static.o)
    set(library ${PROJECT_BINARY_DIR}/lib${name}.a)
    add_custom_command(OUTPUT ${library}
        COMMAND ${CMAKE_LINKER} -r -o ${object} $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:thenar_core>
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${object}
        COMMAND ${CMAKE_COMMAND} -E remove -f ${library}
        COMMAND ${CMAKE_AR} rcs ${library} ${object}
        DEPENDS $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:thenar_core>
        BYPRODUCTS ${object}
        COMMENT "Joining the objects into lib${name}.a"
        COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name}_static ALL DEPENDS ${library})
    install(FILES ${library} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

add_objects(thenar_core thenar_dependencies THENAR_BUILD ${core_sources})
add_objects(thenar_physics thenar_dependencies THENAR_BUILD ${physics_sources})
add_shared_library(thenar thenar_physics thenar_dependencies)
if(THENAR_IO)
    add_objects(thenar_files thenar_io_dependencies THENAR_IO_BUILD ${io_sources})
    add_shared_library(thenar_io thenar_files thenar_io_dependencies)
    set_target_properties(thenar_io PROPERTIES EXPORT_NAME io INSTALL_RPATH $ORIGIN)
    target_link_libraries(thenar_io PUBLIC thenar)
    # Scenes are found relative to the library, wherever it has been moved to.
    file(RELATIVE_PATH scenes_from_library ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_DATADIR}/thenar/scenes)
    set_source_files_properties(src/scene/scene.c PROPERTIES
        COMPILE_DEFINITIONS SCENES_FROM_LIBRARY="${scenes_from_library}")
endif()
if(NOT THENAR_SANITIZE)
    add_static_library(thenar thenar_physics)
    if(THENAR_IO)
        add_static_library(thenar_io thenar_files)
    endif()
endif()
