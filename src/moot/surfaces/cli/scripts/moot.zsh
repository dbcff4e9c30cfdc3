#compdef moot
# Completion of moot for zsh, made by `moot completion zsh`. Save it as _moot in a directory of your
# $fpath, such as ~/.zfunc (`fpath+=~/.zfunc` before compinit), or: source <(moot completion zsh)

_moot() {
  local cur=${words[CURRENT]} word verb='' before='' known='' options='' alone='' kind='' ended=''
  local -a where rest described reply
  integer i n=0

  # What stands in front of the cursor: options for every verb, and the rest.
  for ((i = 2; i < CURRENT; i++)); do
    word=${words[i]}
    case $word in
    @VALUES@)
      if ((i + 1 < CURRENT)); then
        where+=("$word" "${words[i + 1]}")
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
  _moot_options "${rest[1]} ${rest[2]}"
  if ((${#rest} > 1)) && [[ -n $known ]]; then
    verb="${rest[1]} ${rest[2]}"
    rest=("${(@)rest[3,-1]}")
  else
    _moot_options "${rest[1]}"
    if [[ -n $known ]]; then
      verb=${rest[1]}
      rest=("${(@)rest[2,-1]}")
    fi
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

  if [[ -n $before ]]; then
    _moot_kind "$verb $before"
  elif [[ -z $ended && $cur == -* ]]; then
    reply=(${=options} @GLOBALS@)
  else
    if [[ -z $verb && ${#rest} -eq 0 ]]; then
      described=(
@DESCRIBED@
      )
      _describe -t verbs 'verb' described
      return
    fi
    if ((${#rest} == 0)) || [[ -z $verb ]]; then
      _moot_seconds "${verb:-${rest[1]}}"
    fi
    local -a also=("${reply[@]}")
    [[ -n $verb ]] && _moot_kind "$verb $((n + 1))"
    reply+=("${also[@]}")
  fi

  case $kind in
  '' | words) ;;
  files) _files ;;
  *) reply+=(${(f)"$(moot "${where[@]}" complete $kind 2>/dev/null)"}) ;;
  esac
  ((${#reply})) && compadd -- "${reply[@]}"
}

_moot_seconds() {
  local said=''
  case $1 in
@SECONDS@
  esac
  reply=(${=said})
}

_moot_options() {
  known=yes options='' alone=''
  case $1 in
@OPTIONS@
    *) known='' ;;
  esac
}

_moot_kind() {
  local said=''
  kind=''
  case $1 in
@KINDS@
  esac
  reply=(${=said})
}

if [[ $funcstack[1] == _moot ]]; then
  _moot "$@"
else
  compdef _moot moot
fi
