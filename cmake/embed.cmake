# Writes OUTPUT, a header with the text of INPUT as `inline constexpr std::string_view NAME` in namespace quern::lang:
#   cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P embed.cmake
file(READ ${INPUT} text)
file(WRITE ${OUTPUT}.new "// Generated from ${NAME}'s file; do not edit.\n#pragma once\n#include <string_view>\n
namespace quern::lang {\ninline constexpr std::string_view ${NAME} = R\"quern(${text})quern\";\n}\n")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
