"""Ruby source as data: what the packs `rspec-v1` and `rspec` know about a Ruby file.

Pure functions over bytes. tree-sitter stays inside this package: callers see records, byte offsets and line numbers.
All offsets refer to the bytes that were parsed, so a caller can cut and replace without touching anything else.
All lines are counted from 1.

| module | what it answers |
|---|---|
| `syntax` | `parse(data) -> RubySource`: the tree; `source.problems`: syntax errors with line and column |
| `declarations` | `declarations(source)`: classes with namespaces, methods with kind and visibility |
| `methods` | the records that `declarations` returns: `Class`, `Method`, `Unclear` |
| `targets` | `find_method(source, found, "#name", "A::B")`: the method that is meant, or an error |
| `conditionals` | `conditionals(method)`: the tree of conditionals, their branches, guards, how branches leave |
| `expressions` | conditions and statements as records |
| `factories` | `factories(data)`: factories and traits of a file; `detect_factories(files)`: of a project |
| `factory_additions` | `factory_findings(before, after)`: what changed in factory files, apart from additions |
| `spec_tree` | `parse_spec(data)`: groups, examples, definitions and hooks of a spec file |
| `sentinel` | `try_spec(…)`: whether the examples of a method pass, and test it; `rspec_runs` runs RSpec |
| `calls` | the calls in a node |

    source = parse(data)                                  # raises for a binary file and for one over 8 MB
    found = declarations(source)
    [one.id for one in found.methods if one.visibility == "public"]
    method = find_method(source, found, "process_payment")
    data[method.start:method.end], method.first_line      # the bytes from `def` to `end`
"""
