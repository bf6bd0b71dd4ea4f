# kevt_antlr(NAME Grammar.g4 …): a library of the lexers and parsers of combined grammars, generated into the build folder.
# Debian's tool is 4.7.2 and its runtime 4.9; the pair works when the generated code is compiled without char8_t
# (docs/adr/0002).
function(kevt_antlr name)
  set(sources)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/antlr)
  foreach(grammar IN LISTS ARGN)
    get_filename_component(stem ${grammar} NAME_WE)
    set(generated ${folder}/${stem}Lexer.cpp ${folder}/${stem}Parser.cpp)
    add_custom_command(OUTPUT ${generated}
      COMMAND ${ANTLR4_TOOL} -Dlanguage=Cpp -package kevt_antlr -no-listener -no-visitor
              -Xexact-output-dir -o ${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${grammar}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${grammar}
      COMMENT "ANTLR ${grammar}")
    list(APPEND sources ${generated})
  endforeach()
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)  # each parser has an anonymous namespace of the same names
  target_compile_options(${name} PRIVATE -fno-char8_t -w)
  target_include_directories(${name} SYSTEM PUBLIC ${folder} ${ANTLR4_INCLUDE})
  target_link_libraries(${name} PUBLIC kevt_flags)
endfunction()
