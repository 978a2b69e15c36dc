# Completion of simfleet in fish. Save it: simfleet completion fish > ~/.config/fish/completions/simfleet.fish
function __simfleet_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] completion words --current "$current" -- $words[2..-1] 2>/dev/null | string match '*'
    or __fish_complete_path "$current"
end
complete -c simfleet -f -a '(__simfleet_words)'
