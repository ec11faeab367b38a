#!/usr/bin/env bash
# Do the shells complete quern's command line? Bash is exercised through the function that `complete` registers, fish
# through `complete -C`; zsh's file is parsed. A shell that is not installed is skipped, visibly.
# Usage: completion_test.sh [ROOT]
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
completions=$root/share/completions
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
mkdir sub
printf '# kernel hidden(\nkernel gemm(a: T[M]) -> b: T[M] {\n  b[m] = a[m]\n}\n\nkernel gelu_rows[W](a: T[M]) -> b: T[M] {\n}\n' >two.qn
touch other.txt left.npy weights.npz sub/one.qn

passed=0
failed=0
check() {  # what, found, expected: words in any order, as lines
    if [[ $2 == "$3" ]]; then
        ((++passed))
    else
        ((++failed))
        printf '%s\n  found:    %s\n  expected: %s\n' "$1" "${2//$'\n'/ }" "${3//$'\n'/ }"
    fi
}

# shellcheck source=/dev/null
source "$completions/quern.bash"
registered=$(complete -p quern 2>/dev/null)
check 'bash: registered' "$registered" 'complete -F _quern quern'
read -r _ _ function _ <<<"$registered"

# Completes LINE as readline would: splits it at COMP_WORDBREAKS, calls the registered function.
bash_replies() {
    local line=$1 word='' i c
    COMP_LINE=$line
    COMP_POINT=${#line}
    COMP_WORDS=()
    for ((i = 0; i < ${#line}; ++i)); do
        c=${line:i:1}
        if [[ $c == ' ' ]]; then
            [[ -n $word ]] && COMP_WORDS+=("$word")
            word=''
        elif [[ $COMP_WORDBREAKS == *"$c"* ]]; then
            [[ -n $word ]] && COMP_WORDS+=("$word")
            COMP_WORDS+=("$c")
            word=''
        else
            word+=$c
        fi
    done
    COMP_WORDS+=("$word")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    local previous=''
    ((COMP_CWORD > 0)) && previous=${COMP_WORDS[COMP_CWORD - 1]}
    "$function" quern "$word" "$previous"
    printf '%s\n' "${COMPREPLY[@]}" | sort
}
bash_case() {  # line, expected words in order
    local line=$1
    shift
    check "bash: '$line'" "$(bash_replies "$line")" "$(printf '%s\n' "$@")"
}

for breaks in $' \t\n"'"'"'><=;|&(:' $' \t\n"'"'"'><;|&('; do
    COMP_WORDBREAKS=$breaks
    kept_file='' kept_type='' kept_name='' kept_option=''
    if [[ $breaks != *:* ]]; then
        kept_file=two.qn: kept_type=T= kept_name=a= kept_option=--color=
    fi
    bash_case 'quern ' bench check derive devices emit exec format list run
    bash_case 'quern f' format
    bash_case 'quern --v' --version
    bash_case 'quern run t' two.qn
    bash_case 'quern run s' sub/
    bash_case 'quern run sub/' sub/one.qn
    bash_case 'quern run two.qn:' "${kept_file}gelu_rows" "${kept_file}gemm"
    bash_case 'quern check two.qn:ge' "${kept_file}gelu_rows" "${kept_file}gemm"
    bash_case 'quern emit --at expr two.qn:gem' "${kept_file}gemm"
    bash_case 'quern emit --at ' asm expr laid llvm lowered placed tiled
    bash_case 'quern derive two.qn:gem' "${kept_file}gemm"
    bash_case 'quern bench two.qn:gemm a=l' "${kept_name}left.npy"
    bash_case 'quern run two.qn --checks ' keep trust
    bash_case 'quern devices --j' --json
    bash_case 'quern run none.qn:' ''
    bash_case 'quern run two.qn:gemm a=l' "${kept_name}left.npy"
    bash_case 'quern run two.qn:gemm l' left.npy
    bash_case 'quern run two.qn:gemm w' weights.npz
    bash_case 'quern run two.qn:gemm --type T=bf' "${kept_type}bf16"
    bash_case 'quern run two.qn --on ' cpu interpreter
    bash_case 'quern run two.qn --d' --deterministic --dim
    bash_case 'quern check two.qn --d' --dim
    bash_case 'quern check --dim M=4 two.qn:gem' "${kept_file}gemm"
    bash_case 'quern check two.qn --s' --seed
    bash_case 'quern check two.qn sub/' sub/one.qn
    bash_case 'quern check two.qn --v' --vectors --verbose
    bash_case 'quern run two.qn --th' --threads
    bash_case 'quern run --threads 2 t' two.qn
    bash_case 'quern format --' --check --color --help
    bash_case 'quern format t' two.qn
    bash_case 'quern list two.qn --j' --json
    bash_case 'quern --color=a' "${kept_option}always" "${kept_option}auto"
    bash_case 'quern --color never r' run
done

if command -v zsh >/dev/null; then
    check 'zsh: syntax' "$(zsh -n "$completions/_quern" 2>&1)" ''
    check 'zsh: first line' "$(head -n 1 "$completions/_quern")" '#compdef quern'
else
    echo 'skipped: zsh is not installed'
fi

if command -v fish >/dev/null; then
    check 'fish: syntax' "$(fish -n "$completions/quern.fish" 2>&1)" ''
    fish_case() {
        local line=$1
        shift
        local found
        found=$(HOME=$folder fish --no-config -c "source '$completions/quern.fish'; complete -C '$line'" 2>&1 | cut -f1 | sort)
        check "fish: '$line'" "$found" "$(printf '%s\n' "$@")"
    }
    fish_case 'quern ' bench check derive devices emit exec format list run
    fish_case 'quern run two.qn:' two.qn:gelu_rows two.qn:gemm
    fish_case 'quern check two.qn:gem' two.qn:gemm
    fish_case 'quern run two.qn --type T=bf' T=bf16
    fish_case 'quern emit --at ' asm expr laid llvm lowered placed tiled
    fish_case 'quern --color ' always auto never
    fish_case 'quern format --ch' --check
else
    echo 'skipped: fish is not installed'
fi

echo "$passed passed, $failed failed"
((failed == 0))
