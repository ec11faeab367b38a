# Completion for quern in bash. Needs nothing but bash: source it, or put it where bash-completion looks.

# The kernels of a file, one a line, read from its text: completing must not depend on the file being right.
_quern_kernels() {
    [[ -r $1 && -f $1 ]] && sed -n 's/^[[:space:]]*kernel[[:space:]]\{1,\}\([a-z_][a-z0-9_]*\).*/\1/p' -- "$1"
}

# Replies for the file part of FILE[:kernel]. $1 is the word without the quoting of ':' by bash; $2 is 1 for kernels.
_quern_files() {
    local word=$1 kernels=$2 file
    if [[ $kernels == 1 && $word == *:* ]]; then
        file=${word%%:*}
        mapfile -t COMPREPLY < <(compgen -W "$(_quern_kernels "$file")" -- "${word#*:}")
        # Readline replaces what follows the last ':' when that is among its word breaks, and else the whole word.
        if [[ $COMP_WORDBREAKS != *:* ]]; then
            COMPREPLY=("${COMPREPLY[@]/#/$file:}")
        fi
        return
    fi
    local entry
    COMPREPLY=()
    while IFS= read -r entry; do
        [[ -d $entry ]] && entry+=/
        COMPREPLY+=("$entry")
    done < <(compgen -d -- "$word"; compgen -f -X '!*.qn' -- "$word")
    if [[ ${COMPREPLY[*]} == */ || $kernels == 1 ]]; then
        compopt -o nospace 2>/dev/null
    fi
    compopt -o filenames 2>/dev/null
}

_quern() {
    local commands='run check format list emit derive bench devices exec'
    local types='f64 f32 f16 bf16 f8e4m3 f8e5m2 f8e8m0 f4e2m1'
    local line=${COMP_LINE:0:COMP_POINT} word previous command='' target='' i
    COMPREPLY=()
    # Split at blanks only: COMP_WORDS is also cut at ':' and '='.
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    word=${words[-1]}
    previous=''
    ((${#words[@]} > 1)) && previous=${words[-2]}
    for ((i = 1; i < ${#words[@]} - 1; ++i)); do
        case ${words[i]} in
            --color | --dim | --type | --seed | --on | --threads | --at | -o | --checks | --operands | --schedule | --vectors | --cases | --chip | --order | --devices | --timeout | --grid | --block | --shared)
                ((++i))
                ;;
            -*) ;;
            *)
                if [[ -z $command ]]; then
                    command=${words[i]}
                elif [[ -z $target ]]; then
                    target=${words[i]}
                fi
                ;;
        esac
    done

    local given=''  # the part of `word` that readline keeps as it is
    case $word in
        --*=*)
            previous=${word%%=*}
            word=${word#*=}
            ;;
    esac
    [[ $COMP_WORDBREAKS != *=* && $word != "${words[-1]}" ]] && given=$previous=

    case $previous in
        --color) mapfile -t COMPREPLY < <(compgen -P "$given" -W 'auto always never' -- "$word"); return ;;
        --on) mapfile -t COMPREPLY < <(compgen -P "$given" -W 'cpu interpreter virtual:a100 virtual:h100 virtual:4090' -- "$word"); return ;;
        --at) mapfile -t COMPREPLY < <(compgen -P "$given" -W 'expr lowered tiled placed laid llvm asm ptx' -- "$word"); return ;;
        --type)
            if [[ $word == *=* ]]; then
                local prefix=
                [[ $COMP_WORDBREAKS != *=* ]] && prefix=$given${word%%=*}=
                mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$types" -- "${word#*=}")
            fi
            return
            ;;
        --checks) mapfile -t COMPREPLY < <(compgen -P "$given" -W 'trust keep' -- "$word"); return ;;
        --operands) mapfile -t COMPREPLY < <(compgen -P "$given" -W 'exact round' -- "$word"); return ;;
        --vectors) mapfile -t COMPREPLY < <(compgen -P "$given" -W 'sse2 avx2 avx512' -- "$word"); return ;;
        --chip) mapfile -t COMPREPLY < <(compgen -P "$given" -W 'a100 a6000 4090 h100 h200 b200 b300 5090' -- "$word"); return ;;
        --dim | --seed | --threads | --schedule | --cases | --order | --devices | --timeout | --grid | --block | --shared) return ;;
        -o) mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null; return ;;
    esac

    if [[ $word == -* ]]; then
        local options='--help --color'
        local compiler=' --dim --type --checks --operands --deterministic --schedule --vectors'
        case $command in
            '') options+=' --version' ;;
            run) options+="$compiler --seed --on --threads -o --bounds --remarks --json" ;;
            check) options+=' --dim --type --language-only --cases --seed --vectors --verbose --remarks --json' ;;
            format) options+=' --check' ;;
            list) options+=' --json' ;;
            emit) options+="$compiler --at --on --json" ;;
            derive) options+="$compiler --json" ;;
            bench) options+="$compiler --seed --threads --json" ;;
            devices) options+=' --json' ;;
            exec) options+=' --chip --check --order --devices --threads --timeout --grid --block --shared --json' ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
        return
    fi

    case $command in
        '') mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word") ;;
        run | bench)
            if [[ -z $target ]]; then
                _quern_files "$word" 1
            else
                local prefix=  # a bare word is an archive
                [[ $word == *=* && $COMP_WORDBREAKS != *=* ]] && prefix=${word%%=*}=
                local path
                while IFS= read -r path; do
                    if [[ -d $path ]]; then
                        COMPREPLY+=("$prefix$path/")
                    else
                        case $path in *.npy | *.npz | *.safetensors) COMPREPLY+=("$prefix$path") ;; esac
                    fi
                done < <(compgen -f -- "${word#*=}")
                [[ ${COMPREPLY[*]} == */ ]] && compopt -o nospace 2>/dev/null
            fi
            ;;
        check) _quern_files "$word" 1 ;;
        emit | derive) [[ -z $target ]] && _quern_files "$word" 1 ;;
        format | list) _quern_files "$word" 0 ;;
        exec) mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null ;;
    esac
}

complete -F _quern quern
