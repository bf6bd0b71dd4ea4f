// One line of a trigger file, e.g.  traceoff:5 if a > 3     hist:keys=pid:vals=n:sort=n     (language.md E)
//
// Words are cut at ':' and blanks only. A simple command's count and a switch's target end at a blank, a
// histogram's parts at ':' alone (blanks may stand inside a part); the word `if` between blanks begins the
// filter, whose own text is grammar Filter. What a removal says after its command or target is ignored.
//
// Input: every byte of the text as one character of Latin-1, without blanks around it.
grammar Trigger;

trigger    : ( command | BANG removal ) EOF ;

command    : simpleName ( separator setting? )?
           | switchName separator target ( COLON count junk )? ( BLANK condition )?
           | HIST separator histogram ;

removal    : simpleName ( separator anything? )?
           | switchName separator target ( ( COLON | BLANK ) anything? )?
           | HIST separator histogram ;

simpleName : TRACEON | TRACEOFF | SNAPSHOT | STACKTRACE ;
switchName : ENABLE_EVENT | DISABLE_EVENT | ENABLE_HIST | DISABLE_HIST ;
separator  : ( COLON | BLANK ) BLANK? ;

// A word that begins with a digit is the count.
setting    : NUMBER junk ( BLANK condition )? | condition ;
target     : system=word COLON event=word ;
count      : word ;
junk       : ( COLON ( COLON | BANG | word )* )? ;
condition  : IF BLANK filter ;
filter     : anything ;

histogram  : part ( COLON part )* ( BLANK condition )? ;
part       : ( BLANK | piece )* ;  // an empty one is a mistake, but one to its left is found first
piece      : plain | BANG ;

anything   : ( COLON | BLANK | BANG | word )+ ;
word       : plain | IF ;
plain      : NUMBER | WORD | TRACEON | TRACEOFF | SNAPSHOT | STACKTRACE | ENABLE_EVENT | DISABLE_EVENT
           | ENABLE_HIST | DISABLE_HIST | HIST ;

TRACEON       : 'traceon' ;
TRACEOFF      : 'traceoff' ;
SNAPSHOT      : 'snapshot' ;
STACKTRACE    : 'stacktrace' ;
ENABLE_EVENT  : 'enable_event' ;
DISABLE_EVENT : 'disable_event' ;
ENABLE_HIST   : 'enable_hist' ;
DISABLE_HIST  : 'disable_hist' ;
HIST          : 'hist' ;
IF            : 'if' ;
BANG          : '!' ;
COLON         : ':' ;
BLANK         : [ \t]+ ;
NUMBER        : [0-9] ~[: \t]* ;
WORD          : ~[: \t!0-9] ~[: \t]* ;
