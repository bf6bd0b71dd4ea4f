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
// kernel's own message and column. Where two readings fit, the first alternative is the kernel's.
grammar Definition;

// `r10:grp/ev`: what stands before and after the first ':'.
head       : headLead (COLON headName)? EOF ;
headLead   : ~COLON* ;
headName   : anything ;

// `grp/ev`, `grp.ev`, `ev`: '/' wins over '.', the first one splits.
target     : groupSlash SLASH anything EOF        # SlashTarget
           | groupDot DOT eventNoSlash EOF        # DotTarget
           | eventPlain EOF                       # PlainTarget
           ;
groupSlash   : ~SLASH* ;
groupDot     : ~(SLASH | DOT)* ;
eventNoSlash : ~SLASH* ;
eventPlain   : ~(SLASH | DOT)* ;

// `mod:symbol+0x10%return`
symbolPlace  : symbol displacement? suffix? EOF ;
symbol       : ~(PLUS | MINUS | PERCENT)* ;
displacement : (PLUS | MINUS) ~PERCENT* ;
suffix       : PERCENT anything ;

// `/path/with:colon:0x10%return(0x2224)`: the last ':' splits.
filePlace  : path COLON fileOffset fileSuffix? reference? EOF ;
path       : anything ;
fileOffset : ~(COLON | PERCENT | OPEN)* ;
fileSuffix : PERCENT ~(COLON | OPEN)* ;
reference  : OPEN counter (CLOSE counterTail)? ;
counter    : ~(COLON | CLOSE)* ;
counterTail: ~COLON* ;

// `name=expression:type`: the first '=' splits.
argument     : (argumentName EQUALS)? argumentBody EOF ;
argumentName : ~EQUALS* ;
argumentBody : anything ;

// `+8(+0(%di)):string[4]`: the first ':' splits.
body       : operand (COLON type)? EOF ;

// A dereference closes at the LAST ')' of its text; what follows that ')' is dropped.
operand    : sign operandOffset OPEN operand CLOSE dropped   # Dereference
           | sign operandOffset OPEN operand                 # OpenDereference
           | sign operandOffset                              # BareDereference
           | leaf                                            # LeafOperand
           ;
sign          : PLUS | MINUS ;
operandOffset : ~(OPEN | COLON)* ;
dropped       : ~(CLOSE | COLON)* ;
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
