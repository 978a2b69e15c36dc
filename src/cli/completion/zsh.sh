#compdef simfleet
# Completion of simfleet in zsh. Add to ~/.zshrc, below compinit: source <(simfleet completion zsh)
_simfleet() {
  local line word
  local -a answers described
  answers=("${(@f)$("${words[1]}" completion words --current "$PREFIX" -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  for line in "${answers[@]}"; do
    if [[ $line == :files ]]; then
      _files
    elif [[ -n $line ]]; then
      word="${line%%$'\t'*}"
      if [[ $line == *$'\t'?* ]]; then
        described+=("${word//:/\\:}:${line#*$'\t'}")
      else
        described+=("${word//:/\\:}")
      fi
    fi
  done
  (( $#described )) && _describe -V simfleet described
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _simfleet "$@"
else
  compdef _simfleet simfleet
fi
