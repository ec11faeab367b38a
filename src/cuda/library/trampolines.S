// The functions of a replacement library: each jumps to where the table of libquern_cuda.so says, with all registers and
// the stack as they are. Assembled once for each version, with NAMES its list of names and TABLE its table.
        .text
#define QUERN_CUDART(name)                       \
        .globl  name;                            \
        .type   name, @function;                 \
        .p2align 4;                              \
name:   endbr64;                                 \
        movq    TABLE@GOTPCREL(%rip), %r11;      \
        jmp     *(8 * __COUNTER__)(%r11);        \
        .size   name, . - name;
#include NAMES
        .section .note.GNU-stack, "", @progbits
