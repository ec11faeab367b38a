" Settings that match `quern format`: two blanks a level, lines of up to 120 columns.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s
setlocal comments=:#
setlocal formatoptions-=t formatoptions+=croql
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal textwidth=120
if exists("+colorcolumn")
  setlocal colorcolumn=121
endif

let b:undo_ftplugin = "setlocal commentstring< comments< formatoptions< expandtab< shiftwidth< softtabstop< textwidth<"
      \ . (exists("+colorcolumn") ? " colorcolumn<" : "")
