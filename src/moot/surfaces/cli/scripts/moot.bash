# Completion of moot for bash, made by `moot completion bash`. Put it into
# ~/.local/share/bash-completion/completions/moot, or: source <(moot completion bash)

_moot() {
  local line=${COMP_LINE:0:COMP_POINT} known='' cur='' word verb='' before='' options='' alone='' kind='' said='' ended='' i n=0
  local -a typed=() where=() rest=()
  read -ra typed <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    cur=${typed[${#typed[@]} - 1]}
    unset "typed[${#typed[@]} - 1]"
  fi

  # What stands in front of the cursor: options for every verb, and the rest.
  for ((i = 1; i < ${#typed[@]}; i++)); do
    word=${typed[i]}
    case $word in
    @VALUES@)
      if ((i + 1 < ${#typed[@]})); then
        where+=("$word" "${typed[i + 1]}")
        ((i += 1))
      else
        before=$word
      fi
      ;;
    --json | --help | -h | --version) ;;
    *) rest+=("$word") ;;
    esac
  done

  # The verb has two words, or one.
  _moot_options "${rest[0]} ${rest[1]}"
  if ((${#rest[@]} > 1)) && [[ -n $known ]]; then
    verb="${rest[0]} ${rest[1]}" rest=("${rest[@]:2}")
  else
    _moot_options "${rest[0]}"
    if [[ -n $known ]]; then verb=${rest[0]} rest=("${rest[@]:1}"); fi
  fi

  # Options with a value take the next word; free words are counted.
  if [[ -z $before ]]; then
    for word in "${rest[@]}"; do
      if [[ -n $before ]]; then
        before=''
      elif [[ -z $ended && $word == -- ]]; then
        ended=yes
      elif [[ -z $ended && $word == --* ]]; then
        [[ " $alone " == *" $word "* || $word == *=* ]] || before=$word
      else
        ((n += 1))
      fi
    done
  fi

  said=''
  if [[ -n $before ]]; then
    _moot_kind "$verb $before"
  elif [[ -z $ended && $cur == -* ]]; then
    said="$options @GLOBALS@" kind=words
  else
    if [[ -z $verb ]] || ((${#rest[@]} == 0)); then
      _moot_verbs "${verb:-${rest[0]}}"
    fi
    local also=$said
    said=''
    [[ -n $verb ]] && _moot_kind "$verb $((n + 1))"
    if [[ -n $also ]]; then said="$said $also" kind=${kind:-words}; fi
  fi

  local IFS=$' \t\n'
  [[ $kind == files ]] && IFS=$'\n'
  case $kind in
  '') ;;
  words) ;;
  files)
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
    return
    ;;
  *) said+=" $(moot "${where[@]}" complete "$kind" 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$said" -- "$cur"))

  # bash replaces only what follows the last character that parts words.
  local part head
  for part in : = @; do
    if [[ $cur == *$part* && $COMP_WORDBREAKS == *$part* ]]; then
      head=${cur%"${cur##*"$part"}"}
      COMPREPLY=("${COMPREPLY[@]#"$head"}")
    fi
  done
}

_moot_verbs() {
  said=''
  case $1 in
@VERBS@
  esac
}

_moot_options() {
  known=yes options='' alone=''
  case $1 in
@OPTIONS@
    *) known='' ;;
  esac
}

_moot_kind() {
  kind='' said=''
  case $1 in
@KINDS@
  esac
}

complete -F _moot moot
