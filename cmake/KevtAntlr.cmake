# kevt_antlr(OUT Grammar.g4 …): generates lexer and parser of each combined grammar into the build
# folder and names the sources in OUT. Debian's tool is 4.7.2 and its runtime 4.9; the pair works
# when the generated code is compiled without char8_t (docs/adr/0002).
function(kevt_antlr out)
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
    set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS "-fno-char8_t;-w")
    list(APPEND sources ${generated})
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
