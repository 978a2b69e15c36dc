# Completion of simfleet in fish. Save it: simfleet completion fish > ~/.config/fish/completions/simfleet.fish
function __simfleet_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] completion words --current "$current" -- $words[2..-1] 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c simfleet -f -a '(__simfleet_words)'
