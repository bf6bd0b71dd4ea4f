// The shape of event definitions (language.md A2, B1, B2).
//
//   definition : head place argument* ;           one word each; blanks separate words and nothing quotes
//   head       : ('p' | 'r' MAXACTIVE?) (':' target)?     | 'e' (':' target)?
//   place      : symbolPlace | filePlace | target
//   argument   : (NAME '=')? operand (':' type)?
//
// The kernel cuts a word at the first ':' or the last ')' and only then looks at the pieces. So each entrance
// below takes ANY word and says where the pieces are; whether a piece is a number, a register or
// nonsense is decided on the pieces (parse_definition*.cpp), which is what gives every mistake the
// kernel's own message and column. Every decision is made by the next token: parsing is a matter of microseconds.
grammar Definition;

// Where a piece is all that is left of the word, the rule ends before it: nothing in it would be looked at.

// `r10:grp/ev`: what stands before the first ':'; the name is behind it.
head       : headLead COLON? ;
headLead   : ~COLON* ;

// `grp/ev`, `grp.ev`, `ev`: '/' wins over '.', the first one splits. What stands behind a '.' is the group's still if a
// '/' follows.
target       : beforeSplit (SLASH | DOT beforeSlash SLASH?)? ;
beforeSplit  : ~(SLASH | DOT)* ;
beforeSlash  : ~SLASH* ;

// `mod:symbol+0x10%return`
symbolPlace  : symbol displacement? suffix? EOF ;
symbol       : ~(PLUS | MINUS | PERCENT)* ;
displacement : (PLUS | MINUS) ~PERCENT* ;
suffix       : PERCENT anything ;

// `/path/with:colon:0x10%return(0x2224)`: the last ':' splits, so that the last piece is cut by fileTail.
filePlace  : filePiece (COLON filePiece)* EOF ;
filePiece  : ~COLON* ;
fileTail   : fileOffset fileSuffix? reference? EOF ;
fileOffset : ~(PERCENT | OPEN)* ;
fileSuffix : PERCENT ~OPEN* ;
reference  : OPEN counter (CLOSE anything)? ;
counter    : ~CLOSE* ;

// `rw@symbol+0x10:8` of a watchpoint
watchPlace   : watchAccess (AT watchSymbol watchOffset? (COLON anything)?)? EOF ;
watchAccess  : ~AT* ;
watchSymbol  : ~(PLUS | MINUS | COLON)* ;
watchOffset  : (PLUS | MINUS) ~COLON* ;

// `name=expression:type`: the first '=' splits, the expression is behind it; without one all of it is the expression.
argument       : beforeEquals EQUALS? ;
beforeEquals   : ~EQUALS* ;

// `+8(+0(%di)):string[4]`: the first ':' splits.
body       : operand (COLON type)? EOF ;

// Closing braces are part of the innermost piece: a dereference closes at the LAST ')' of its text, what follows that
// ')' is dropped, and no rule that looks ahead by one token can tell. parse_definition_words.cpp pairs them.
operand       : sign operandOffset (OPEN operand)? | leaf ;
sign          : PLUS | MINUS ;
operandOffset : ~(OPEN | COLON)* ;
leaf          : (~(PLUS | MINUS | COLON) ~COLON*)? ;

// `u8[4]`
type       : typeName (LBRACKET count (RBRACKET typeTail)?)? ;
typeName   : ~LBRACKET* ;
count      : ~RBRACKET* ;
typeTail   : anything ;

anything   : (~LINE_END)* ;

PLUS      : '+' ;
MINUS     : '-' ;
OPEN      : '(' ;
CLOSE     : ')' ;
COLON     : ':' ;
EQUALS    : '=' ;
PERCENT   : '%' ;
DOLLAR    : '$' ;
AT        : '@' ;
BACKSLASH : '\\' ;
QUOTE     : '"' ;
LBRACKET  : '[' ;
RBRACKET  : ']' ;
SLASH     : '/' ;
DOT       : '.' ;
NUMBER    : [0-9] [0-9a-zA-Z_]* ;
NAME      : [a-zA-Z_] [0-9a-zA-Z_]* ;
BLANK     : [ \t]+ ;
LINE_END  : '\n' ;  // not in a word
OTHER     : . ;
