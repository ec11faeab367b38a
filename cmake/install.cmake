# What `cmake --install` puts where, and the package that `find_package(quern)` finds: quern::quern, an interface over
# all layers, and each layer as quern::<layer>.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/quern)

get_property(layers GLOBAL PROPERTY QUERN_LAYERS)
list(REMOVE_ITEM layers quern_cli)  # the command line is a program, not a part of the library
add_library(quern_library INTERFACE)
add_library(quern::quern ALIAS quern_library)
set_target_properties(quern_library PROPERTIES EXPORT_NAME quern)
target_link_libraries(quern_library INTERFACE ${layers})
install(TARGETS quern_library ${layers} EXPORT quern ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT quern NAMESPACE quern:: FILE quernTargets.cmake DESTINATION ${package_folder})

# The packages that a user of the static libraries must find too: what stands before the :: of all that layers link.
set(packages)
foreach(layer IN LISTS layers)
  get_target_property(linked ${layer} INTERFACE_LINK_LIBRARIES)
  foreach(library IN LISTS linked)
    if(library MATCHES "([A-Za-z0-9_]+)::" AND NOT CMAKE_MATCH_1 STREQUAL "quern")
      list(APPEND packages ${CMAKE_MATCH_1})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES packages)
list(TRANSFORM packages REPLACE "(.+)" "find_dependency(\\1)" OUTPUT_VARIABLE QUERN_FIND_DEPENDENCIES)
list(JOIN QUERN_FIND_DEPENDENCIES "\n" QUERN_FIND_DEPENDENCIES)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/quernConfig.cmake.in quernConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(quernConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/quernConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/quernConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/Findlibzip.cmake DESTINATION ${package_folder})

if(TARGET quern_compiler)
  install(TARGETS quern_compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET quern_preload)
  get_property(cuda_libraries GLOBAL PROPERTY QUERN_CUDA_LIBRARIES)
  install(TARGETS ${cuda_libraries} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/quern)
endif()
if(TARGET quern)
  install(TARGETS quern RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels DESTINATION ${CMAKE_INSTALL_DATADIR}/quern OPTIONAL
  FILES_MATCHING PATTERN "*.qn")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(share ${PROJECT_SOURCE_DIR}/share)
install(FILES ${share}/man/man1/quern.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
install(FILES ${share}/completions/quern.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME quern OPTIONAL)
install(FILES ${share}/completions/_quern DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
install(FILES ${share}/completions/quern.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
