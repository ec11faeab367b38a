# libzip::zip for find_package(libzip). Debian 12's own libzip-config.cmake insists on the programs zipcmp, zipmerge and
# ziptool, which are in three other packages, and fails without them; a library and a header are all that it takes.
include(FindPackageHandleStandardArgs)
find_path(libzip_INCLUDE_DIR zip.h)
find_library(libzip_LIBRARY zip)
mark_as_advanced(libzip_INCLUDE_DIR libzip_LIBRARY)
find_package_handle_standard_args(libzip REQUIRED_VARS libzip_LIBRARY libzip_INCLUDE_DIR)
if(libzip_FOUND AND NOT TARGET libzip::zip)
  add_library(libzip::zip UNKNOWN IMPORTED)
  set_target_properties(libzip::zip PROPERTIES IMPORTED_LOCATION ${libzip_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${libzip_INCLUDE_DIR})
endif()
