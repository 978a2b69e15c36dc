#compdef simfleet
# Completion of simfleet in zsh. Add to ~/.zshrc, below compinit: source <(simfleet completion zsh)
_simfleet() {
  local line
  local -a answers described
  answers=("${(@f)$("${words[1]}" completion words --current "$PREFIX" -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  for line in "${answers[@]}"; do
    [[ -n $line ]] && described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#described )); then _describe -V simfleet described; else _files; fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _simfleet "$@"
else
  compdef _simfleet simfleet
fi
