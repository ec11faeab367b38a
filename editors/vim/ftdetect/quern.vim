autocmd BufRead,BufNewFile *.qn setfiletype quern
