# libthenar.a holds one object whose internal names are local, so that a program that links it may have an arena_take or
# a vec3 of its own: the objects are joined, then every symbol of hidden visibility (all but THENAR_API) made local.
# The price: the linker takes the library whole or not at all.
set(static_object ${PROJECT_BINARY_DIR}/thenar_static.o)
set(static_library ${PROJECT_BINARY_DIR}/libthenar.a)
add_custom_command(OUTPUT ${static_library}
    COMMAND ${CMAKE_LINKER} -r -o ${static_object} $<TARGET_OBJECTS:thenar_objects>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${static_object}
    COMMAND ${CMAKE_COMMAND} -E remove -f ${static_library}
    COMMAND ${CMAKE_AR} rcs ${static_library} ${static_object}
    DEPENDS thenar_objects $<TARGET_OBJECTS:thenar_objects>
    BYPRODUCTS ${static_object}
    COMMENT "Joining the objects into libthenar.a"
    COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(thenar_static ALL DEPENDS ${static_library})
