# SPDX-License-Identifier: Apache-2.0
# For users too: the static library. It is one object, in which only the public functions have a
# global name, and a hidden one: it meets no symbol of its user's, and a shared library made with it
# does not export it again, so that several may be in one process.

get_target_property(sources topk_jit_objects SOURCES)
add_library(topk_jit_static_objects OBJECT ${sources} installed.c)
add_dependencies(topk_jit_static_objects topk_jit_objects) # one of them generates the sources
target_include_directories(
  topk_jit_static_objects PRIVATE $<TARGET_PROPERTY:topk_jit_objects,INCLUDE_DIRECTORIES>)
target_compile_definitions(
  topk_jit_static_objects PRIVATE $<TARGET_PROPERTY:topk_jit_objects,COMPILE_DEFINITIONS>
                                  TKJ_INSTALLED_DATA="${data_from_program}" TOPK_JIT_STATIC_DEFINE)
target_link_libraries(topk_jit_static_objects PRIVATE topk_jit_flags Threads::Threads)

separate_arguments(link_flags NATIVE_COMMAND "${CMAKE_C_FLAGS}") # such as -m32
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  list(APPEND link_flags -flinker-output=nolto-rel) # machine code, also with -flto
endif()
set(one_object ${CMAKE_CURRENT_BINARY_DIR}/topk_jit_static.o)
add_custom_command(
  OUTPUT ${one_object}
  COMMAND ${CMAKE_C_COMPILER} ${link_flags} -r -nostdlib -o ${one_object}
          $<TARGET_OBJECTS:topk_jit_static_objects>
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=topk_jit_* ${one_object}
  DEPENDS topk_jit_static_objects $<TARGET_OBJECTS:topk_jit_static_objects>
  COMMENT "Making the static library's internal symbols local"
  COMMAND_EXPAND_LISTS VERBATIM)

add_library(topk_jit_static STATIC ${one_object})
add_library(topk_jit::topk_jit_static ALIAS topk_jit_static)
set_source_files_properties(${one_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
target_include_directories(
  topk_jit_static INTERFACE $<TARGET_PROPERTY:topk_jit,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(topk_jit_static INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(
  topk_jit_static
  PROPERTIES OUTPUT_NAME topk_jit
             LINKER_LANGUAGE C
             ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
