# The viewer: the commands view, report and shot, and the page that they show, which stands inside the command.
# THENAR_VIEWER=OFF leaves all of it out; then neither node nor libwebsockets is needed.
option(THENAR_VIEWER "Build the viewer: thenar view, report and shot" ON)
set(viewer_sources app/command_view.c app/command_report.c app/command_shot.c app/page.c app/server.c
    app/chromium.c)
if(NOT THENAR_VIEWER)
    message(STATUS "The viewer is left out: no thenar view, report and shot")
    return()
endif()

pkg_check_modules(WEBSOCKETS QUIET IMPORTED_TARGET libwebsockets)
pkg_check_modules(ZLIB QUIET IMPORTED_TARGET zlib)
find_program(NODE_PROGRAM node)
find_program(NPM_PROGRAM npm)
foreach(need "WEBSOCKETS_FOUND;libwebsockets-dev" "ZLIB_FOUND;zlib1g-dev" "NODE_PROGRAM;nodejs" "NPM_PROGRAM;npm")
    list(GET need 0 found)
    list(GET need 1 package)
    if(NOT ${found})
        message(FATAL_ERROR "The viewer needs ${package}. Install it (tools/setup build does), or leave the viewer out: -DTHENAR_VIEWER=OFF")
    endif()
endforeach()

file(GLOB web_sources CONFIGURE_DEPENDS web/src/*)
set(page ${PROJECT_BINARY_DIR}/web/page.html)
set(policy ${PROJECT_BINARY_DIR}/web/policy.txt)
add_custom_command(OUTPUT ${page} ${policy}
    COMMAND sh ${PROJECT_SOURCE_DIR}/tools/web ${PROJECT_BINARY_DIR}/web
    DEPENDS ${web_sources} web/index.html web/build.mjs web/package.json web/package-lock.json web/tsconfig.json tools/web
    COMMENT "Building the viewer's page" VERBATIM)
add_custom_target(web DEPENDS ${page} ${policy})
set_source_files_properties(app/page.c PROPERTIES
    OBJECT_DEPENDS "${page};${policy}"
    COMPILE_DEFINITIONS "PAGE_FILE=\"${page}\";POLICY_FILE=\"${policy}\"")
