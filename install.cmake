# What a game links: one shared library of everything but the tools, its headers, and the files by
# which CMake and pkg-config find it. Nothing in it is under a copyleft licence.
set(parts knap_base knap_fracture knap_distfield knap_spheretree knap_world)
foreach(part knap_bvh knap_bullet)
    if(TARGET ${part})
        list(APPEND parts ${part})
    endif()
endforeach()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/libknap.c CONTENT "// all of it comes from the parts\ntypedef int knEmpty;\n")
add_library(knap_shared SHARED ${CMAKE_BINARY_DIR}/libknap.c)
set_target_properties(knap_shared PROPERTIES
    OUTPUT_NAME knap EXPORT_NAME knap VERSION ${PROJECT_VERSION} SOVERSION 0
    LINKER_LANGUAGE CXX)
add_dependencies(knap_shared ${parts})
# whole: nothing in the library itself calls the public functions
set(archives "")
foreach(part IN LISTS parts)
    list(APPEND archives $<TARGET_FILE:${part}>)
endforeach()
target_link_libraries(knap_shared PRIVATE
    -Wl,--whole-archive ${archives} -Wl,--no-whole-archive -Wl,--exclude-libs,libstdc++.a
    knap_flags PkgConfig::XXHASH PkgConfig::INIH ${BULLET_LINK_LIBRARIES} Threads::Threads m)
target_include_directories(knap_shared INTERFACE $<INSTALL_INTERFACE:include>)

include(CMakePackageConfigHelpers)
install(TARGETS knap_shared EXPORT knapTargets LIBRARY DESTINATION lib)
install(EXPORT knapTargets NAMESPACE knap:: DESTINATION lib/cmake/knap FILE knapConfig.cmake)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/knapConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/knapConfigVersion.cmake DESTINATION lib/cmake/knap)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/knap.pc @ONLY CONTENT
"prefix=@CMAKE_INSTALL_PREFIX@
Name: knap
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lknap
Requires.private: libxxhash inih bullet
")
install(FILES ${CMAKE_BINARY_DIR}/knap.pc DESTINATION lib/pkgconfig)
install(FILES LICENSE DESTINATION share/doc/knap)
