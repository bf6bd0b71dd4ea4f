// An event filter, e.g.  a > 3 && !(name ~ "x*" || b & 4)        (language.md D1)
//
// The kernel reads a filter byte by byte, and what a byte means depends on what it looks for: after a
// field `&&1` is the operator `&` and a bad value, after a value it joins two terms. The lexer keeps that
// state in `want`. Whatever does not fit becomes one BAD token and ends the text; `mistake` then says what
// was looked for, and that alone decides which error the kernel reports.
//
// Parentheses are items of a flat list, not nested rules, so depth costs no stack. That they match is
// checked before (parse_filter_balance.h); who belongs to whom is settled by parse_filter_tree.h.
//
// Input: every byte of the text as one character of Latin-1, as the kernel's ctype table has it.
grammar Filter;

@lexer::members {
 public:
  enum class Want { Term, Modifier, Operator, Value, Connective, Nothing };
  Want want = Want::Term;
  Want mistake = Want::Nothing;  // what was wanted where BAD was found
  bool functions = false;        // does the dialect have `.function`
  bool cpu_lists = false;        // does it have `CPUS{LIST}`
  bool fractions = false;        // are there floating point numbers (kevtrace's own)
  bool function = false;         // the value wanted is a function's name, which ends at a blank
}

// Unfinished predicates are read too: the kernel looks at the field first.
filter     : item (connective item)* BAD? EOF ;
item       : prefix* (predicate close*)? ;
prefix     : NOT | OPEN ;
close      : CLOSE ;
connective : AND | OR ;
predicate  : NAME (USTRING | FUNCTION)? (operation value?)? ;
operation  : OPERATOR ;
value      : NUMBER | FRACTION | QUOTED | SYMBOL | CPUS ;

OPEN     : {want == Want::Term}? '(' ;
NOT      : {want == Want::Term}? '!' ;
NAME     : {want == Want::Term}? (ALNUM | '_')+ {want = Want::Modifier;} ;
USTRING  : {want == Want::Modifier}? '.ustring' {want = Want::Operator;} ;
FUNCTION : {functions && want == Want::Modifier}? '.function' {want = Want::Operator; function = true;} ;
OPERATOR : {want == Want::Modifier || want == Want::Operator}?
           ('~' | '!=' | '==' | '<=' | '<' | '>=' | '>' | '&') {want = Want::Value;} ;
SYMBOL   : {function && want == Want::Value}? ~[0-9 \t\n\u000B\u000C\r\u00A0] ~[ \t\n\u000B\u000C\r\u00A0]*
           {want = Want::Connective; function = false;} ;
CPUS     : {cpu_lists && !function && want == Want::Value}? 'CPUS' ('{' ~[}]* '}'?)? {want = Want::Connective;} ;
NUMBER   : {want == Want::Value}? ('-' | [0-9]) ALNUM* {want = Want::Connective; function = false;} ;
FRACTION : {fractions && want == Want::Value}? ('-'? DIGIT+ ('.' DIGIT+)? ([eE] [-+]? DIGIT+)? | 'inf')
           {want = Want::Connective; function = false;} ;
QUOTED   : {want == Want::Value}? ('\'' ~[']* '\'' | '"' ~["]* '"') {want = Want::Connective;} ;
CLOSE    : {want == Want::Connective}? ')' ;
AND      : {want == Want::Connective}? '&&' {want = Want::Term;} ;
OR       : {want == Want::Connective}? '||' {want = Want::Term;} ;
SPACE    : [ \t\n\u000B\u000C\r\u00A0]+ {if (want == Want::Modifier) want = Want::Operator;} -> skip ;
REST     : {want == Want::Nothing}? . -> skip ;
BAD      : {want != Want::Nothing}? ('!=' | '!~' | .) {mistake = want; want = Want::Nothing;} ;

fragment DIGIT : [0-9] ;
fragment ALNUM : [0-9A-Za-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u00FF] ;
