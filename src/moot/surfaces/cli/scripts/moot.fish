# Completion of moot for fish, made by `moot completion fish`. Save it as ~/.config/fish/completions/moot.fish

# The words in front of the cursor that are neither `moot` nor an option for every verb.
function __moot_rest
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip -eq 1
            set skip 0
        else if contains -- $word @VALUES@
            set skip 1
        else if not contains -- $word --json --help -h --version
            echo -- $word
        end
    end
end

# Whether exactly these words of a verb were given so far.
function __moot_at
    set -l rest (__moot_rest)
    test "$rest" = "$argv"
end

# Whether this verb was given. One of one word is not meant where one of two words was.
function __moot_in
    set -l rest (__moot_rest)
    set -l n (count $argv)
    test (count $rest) -ge $n; or return 1
    test "$rest[1..$n]" = "$argv"; or return 1
    if test $n -eq 1 -a (count $rest) -ge 2
        contains -- "$rest[1..2]" @VERBS@; and return 1
    end
    return 0
end

# The options of a verb that stand alone: all others take the next word.
function __moot_alone
    switch "$argv"
@ALONE@
    end
end

# How many free words follow the verb.
function __moot_free
    set -l alone (__moot_alone $argv)
    set -l rest (__moot_rest)
    set -l free 0
    set -l skip 0
    set -l ended 0
    for word in $rest[(math (count $argv) + 1)..-1]
        if test $skip -eq 1
            set skip 0
        else if test $ended -eq 0 -a "$word" = --
            set ended 1
        else if test $ended -eq 0; and string match -q -- '--*' $word
            contains -- $word $alone; or string match -q -- '*=*' $word; or set skip 1
        else
            set free (math $free + 1)
        end
    end
    echo $free
end

# `__moot_place VERB -- LEAST [MOST]`: whether so many free words follow the verb.
function __moot_place
    set -l mark (contains -i -- -- $argv)
    set -l verb $argv[1..(math $mark - 1)]
    set -l bounds $argv[(math $mark + 1)..-1]
    __moot_in $verb; or return 1
    set -l free (__moot_free $verb)
    test $free -ge $bounds[1]; or return 1
    test (count $bounds) -lt 2; or test $free -le $bounds[2]
end

function __moot_names
    set -l where
    set -l typed (commandline -opc)
    set -l before ''
    for word in $typed[2..-1]
        if contains -- "$before" @VALUES@
            set -a where $before $word
            set before ''
        else
            set before $word
        end
    end
    command moot $where complete $argv[1] 2>/dev/null
end

complete -c moot -f
@LINES@
