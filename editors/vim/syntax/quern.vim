" Quern's index notation. The words are those of editors/words.json; tests/structure/editors_test.py compares.
if exists("b:current_syntax")
  finish
endif

syn case match

syn match quernOperator "[-+*/%&|^<>=!]"
syn match quernDimension "\<[A-Z_][A-Z0-9_]*\>"
syn match quernNumber "\<\d\+\>"
syn match quernNumber "\<0x\x\+\>"
syn match quernFloat "\<\d\+\.\d\+\%([eE][-+]\=\d\+\)\="
syn match quernFloat "\<\d\+[eE][-+]\=\d\+"

" A name with parentheses is a call; with brackets in between too. max and min compare before '(' and reduce before '['.
syn match quernCall "\<[a-z_][a-z0-9_]*\ze\s*\%(\[[^][]*\]\s*\)\=("
syn match quernPrelude "\<\%(sq\|relu\|sigmoid\|silu\|gelu\|gelu_tanh\|softplus\|clamp\|soft_cap\|count\|mean\|var\|rmsnorm\|layernorm\|logsumexp\|softmax\|logaddexp\|rank\|uniform\|gumbel\)\ze\s*\%(\[[^][]*\]\s*\)\=("
syn match quernFunction "\<\%(exp\|exp2\|log\|log2\|sqrt\|rsqrt\|sin\|cos\|tanh\|erf\|abs\|floor\|ceil\|round\|pow\|max\|min\|random_bits\)\ze\s*("
syn match quernReduction "\<\%(max\|min\)\ze\s*\["
syn keyword quernReduction sum prod argmax argmin any all

" The left side of a definition: first on its line, or after for[...].
syn match quernDefinition "^\s*\zs[a-z_][a-z0-9_]*\ze\s*\%(\[\%([^][]\|\[\%([^][]\|\[[^][]*\]\)*\]\)*\]\)\=\s*\%(:\s*\w\+\s*\)\=+\==\%(=\)\@!"
syn match quernDefinition "\]\s\+\zs[a-z_][a-z0-9_]*\ze\s*\%(\[\%([^][]\|\[\%([^][]\|\[[^][]*\]\)*\]\)*\]\)\=\s*\%(:\s*\w\+\s*\)\=+\==\%(=\)\@!"

syn keyword quernDeclare kernel nextgroup=quernName skipwhite
syn keyword quernDeclare fn nextgroup=quernName skipwhite
syn keyword quernDeclare const import
syn match quernName "\<[a-z_][a-z0-9_]*\>" contained

syn keyword quernStatement return
syn keyword quernRepeat for
syn keyword quernConditional if else
syn keyword quernLogical and or not
syn keyword quernModifier inout dyn
syn keyword quernConstant true false inf nan
syn keyword quernType f64 f32 f16 bf16 f8e4m3 f8e5m2 f8e8m0 f4e2m1
syn keyword quernType i64 i32 i16 i8 i4 u32 u8 u4 bool

syn match quernComment "#.*$" contains=@Spell

hi def link quernComment Comment
hi def link quernDeclare Keyword
hi def link quernName Function
hi def link quernStatement Statement
hi def link quernRepeat Repeat
hi def link quernConditional Conditional
hi def link quernLogical Operator
hi def link quernModifier StorageClass
hi def link quernConstant Constant
hi def link quernType Type
hi def link quernReduction Statement
hi def link quernFunction Function
hi def link quernPrelude Function
hi def link quernCall Function
hi def link quernDefinition Identifier
hi def link quernDimension Constant
hi def link quernNumber Number
hi def link quernFloat Float
hi def link quernOperator Operator

let b:current_syntax = "quern"
