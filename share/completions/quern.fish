# Completion for quern in fish: put the file into ~/.config/fish/completions.

set -l commands run check format list emit derive bench devices exec

# FILE[:kernel]; kernels are read from the files' text, so that completing doesn't depend on a file being right.
function __quern_targets
    set -l word (commandline -ct)
    if string match -q '*:*' -- $word
        set -l file (string split -m 1 : -- $word)[1]
        test -r $file; or return
        for kernel in (string replace -rf '^\s*kernel\s+([a-z_][a-z0-9_]*).*' '$1' <$file)
            echo $file:$kernel
        end
    else
        __fish_complete_suffix .qn
    end
end

function __quern_types
    set -l name (string split -m 1 = -- (commandline -ct))[1]
    string match -q '*=*' -- (commandline -ct); or return
    for type in f64 f32 f16 bf16 f8e4m3 f8e5m2 f8e8m0 f4e2m1
        echo $name=$type
    end
end

# The number of words after the command that are neither options nor their values.
function __quern_needs_target
    set -l words (commandline -opc)
    set -l count 0
    set -l skip 0
    for word in $words[2..]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --dim --type --seed --on --threads --at --color -o --checks --operands --schedule --vectors --cases
                set skip 1
            case '-*'
            case '*'
                set count (math $count + 1)
        end
    end
    test $count = 1
end

complete -c quern -f
complete -c quern -l help -d 'Print a summary'
complete -c quern -l color -x -a 'auto always never' -d 'Color messages'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -l version -d 'Print the version'

complete -c quern -n "not __fish_seen_subcommand_from $commands" -a run -d 'Compute a kernel'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -a check -d 'Look for mistakes'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -a format -d 'Write files in canonical form'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -a list -d 'List kernels'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -a emit -d 'Print a kernel at a level'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -a derive -d 'Show how reductions became one pass'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -a bench -d 'Measure a kernel'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -a devices -d 'List devices'
complete -c quern -n "not __fish_seen_subcommand_from $commands" -a exec -d 'Run a CUDA program, or one kernel of PTX'

complete -c quern -n '__fish_seen_subcommand_from run emit derive bench; and __quern_needs_target' -a '(__quern_targets)'
complete -c quern -n '__fish_seen_subcommand_from check' -a '(__quern_targets)'
complete -c quern -n '__fish_seen_subcommand_from run bench; and not __quern_needs_target' -F
complete -c quern -n '__fish_seen_subcommand_from format list' -k -a '(__fish_complete_suffix .qn)'
complete -c quern -n '__fish_seen_subcommand_from run check emit derive bench' -l dim -x -d 'NAME=size'
complete -c quern -n '__fish_seen_subcommand_from run check emit derive bench' -l type -x -a '(__quern_types)' -d 'NAME=type'
complete -c quern -n '__fish_seen_subcommand_from run check bench' -l seed -x -d 'The seed of random arrays'
complete -c quern -n '__fish_seen_subcommand_from run emit' -l on -x -a 'cpu interpreter virtual:a100 virtual:h100 virtual:4090' -d 'The device'
complete -c quern -n '__fish_seen_subcommand_from run bench' -l threads -x -d 'Threads to compute with'
complete -c quern -n '__fish_seen_subcommand_from run' -s o -r -F -d 'Write the results'
complete -c quern -n '__fish_seen_subcommand_from run' -l bounds -d 'Also write error bounds'
complete -c quern -n '__fish_seen_subcommand_from run check' -l remarks -d 'Show remarks'
complete -c quern -n '__fish_seen_subcommand_from check' -s v -l verbose -d 'Show every subscript and case'
complete -c quern -n '__fish_seen_subcommand_from check' -l language-only -d 'Compare no compiled code'
complete -c quern -n '__fish_seen_subcommand_from check' -l cases -x -d 'Sizes and types to compare at'
complete -c quern -n '__fish_seen_subcommand_from run check list emit derive bench devices exec' -l json -d 'Print JSON'
complete -c quern -n '__fish_seen_subcommand_from format' -l check -d 'Only look'
complete -c quern -n '__fish_seen_subcommand_from emit' -l at -x -a 'expr lowered tiled placed laid llvm asm ptx' -d 'The level'
complete -c quern -n '__fish_seen_subcommand_from run emit derive bench' -l checks -x -a 'trust keep' -d 'Subscripts from data'
complete -c quern -n '__fish_seen_subcommand_from run emit derive bench' -l operands -x -a 'exact round' -d 'Operands of contractions'
complete -c quern -n '__fish_seen_subcommand_from run emit derive bench' -l deterministic -d 'The same bits in every run'
complete -c quern -n '__fish_seen_subcommand_from run emit derive bench' -l schedule -x -d 'Tile sizes and walks'
complete -c quern -n '__fish_seen_subcommand_from run check emit derive bench' -l vectors -x -a 'sse2 avx2 avx512' -d 'Vectors to compile for'
complete -c quern -n '__fish_seen_subcommand_from exec' -F
complete -c quern -n '__fish_seen_subcommand_from exec' -l chip -x -a 'a100 a6000 4090 h100 h200 b200 b300 5090' -d 'The GPU to be'
complete -c quern -n '__fish_seen_subcommand_from exec' -l check -x -a 'all memory no-init none continue' -d 'What is checked'
complete -c quern -n '__fish_seen_subcommand_from exec' -l order -x -d 'Seed of the order of blocks and warps'
complete -c quern -n '__fish_seen_subcommand_from exec' -l devices -x -d 'How many GPUs'
complete -c quern -n '__fish_seen_subcommand_from exec' -l timeout -x -d 'Seconds that a kernel may take'
complete -c quern -n '__fish_seen_subcommand_from exec' -l threads -x -d 'Threads to run on'
complete -c quern -n '__fish_seen_subcommand_from exec' -l grid -x -d 'Blocks'
complete -c quern -n '__fish_seen_subcommand_from exec' -l block -x -d 'Threads of a block'
complete -c quern -n '__fish_seen_subcommand_from exec' -l shared -x -d 'Bytes of dynamic shared memory'
