# SPDX-License-Identifier: Apache-2.0
# Writes the first @code{.c} block of HEADER to OUT, without the comment's decoration.
file(READ "${HEADER}" text)
string(FIND "${text}" "@code{.c}\n" begin)
if(begin LESS 0)
  message(FATAL_ERROR "${HEADER} has no @code{.c} example")
endif()
string(SUBSTRING "${text}" ${begin} -1 text)
string(FIND "${text}" "\n" begin)
string(SUBSTRING "${text}" ${begin} -1 text)
string(FIND "${text}" "\n * @endcode" end)
string(SUBSTRING "${text}" 0 ${end} text)
string(REGEX REPLACE "\n \\* ?" "\n" text "${text}")
file(WRITE "${OUT}" "${text}\n")
