# Completion of simfleet in bash. Add to ~/.bashrc: source <(simfleet completion bash)
_simfleet() {
  local current="${COMP_WORDS[COMP_CWORD]}" line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      [[ $current == = ]] && current=
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done < <("${COMP_WORDS[0]}" completion words --current "$current" -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}
complete -F _simfleet simfleet
