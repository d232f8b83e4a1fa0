// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/completion.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "supervisor/ctl/invocation.h"

namespace cohost::supervisor {
namespace {

// Names are the first column of the tables, which end at an empty line. A host that does not run
// completes nothing. What is no name is left out: compgen -W would run a $(...) in it.
constexpr const char* kBash =
    R"script(# bash completion of cohostctl: source <(cohostctl completion bash)
_cohostctl_names() {
  local list
  for list in "$@"; do cohostctl --timeout 1s "$list" 2>/dev/null | awk '!NF { exit } NR > 1 && $1 ~ "^[A-Za-z0-9_./-]+$" { print $1 }'; done
}
_cohostctl() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' word
  local words=''
  case $previous in
    --socket|--key|--modules-to) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    -o|--output) mapfile -t COMPREPLY < <(compgen -W "table json" -- "$current"); return ;;
    --kind) mapfile -t COMPREPLY < <(compgen -W "mini heap full" -- "$current"); return ;;
    --timeout|--last|--slot|--duration|--interval|--provider) COMPREPLY=(); return ;;
  esac
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " @COMMANDS@ " in
      *" $word "*) command=$word; break ;;
    esac
  done
  if [[ $current == -* ]]; then
    words="--socket --output --timeout --help"
    case $command in
      events|logs) words="$words --follow --last" ;;
      modules) words="$words --key" ;;
      export) words="$words --modules" ;;
      import) words="$words --yes --dry-run --modules-to" ;;
      dump) words="$words --slot --kind" ;;
      trace) words="$words --slot --duration --provider" ;;
      counters) words="$words --slot --duration --interval" ;;
    esac
  else
    case $command in
      '') words="@COMMANDS@" ;;
      services|stop|start|dump|trace|counters) words=$(_cohostctl_names services) ;;
      groups|workers) words=$(_cohostctl_names groups) ;;
      recycle) words=$(_cohostctl_names groups workers) ;;
      logs) words=$(_cohostctl_names services groups workers) ;;
      completion) words="bash zsh fish" ;;
      modules)
        words="@MODULES@"
        for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
          case " @MODULES@ " in
            *" $word "*) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
          esac
        done ;;
      plan|validate|check|export|import) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _cohostctl cohostctl
)script";

constexpr const char* kZsh =
    R"script(#compdef cohostctl
# zsh completion of cohostctl: source <(cohostctl completion zsh)
_cohostctl_names() {
  local list
  for list in "$@"; do cohostctl --timeout 1s "$list" 2>/dev/null | awk '!NF { exit } NR > 1 && $1 ~ "^[A-Za-z0-9_./-]+$" { print $1 }'; done
}
_cohostctl() {
  local -a commands names
  local command='' word
  commands=(@COMMANDS@)
  for word in ${words[2,CURRENT-1]}; do
    if (( ${commands[(Ie)$word]} )); then command=$word; break; fi
  done
  case $command in
    '') names=($commands) ;;
    services|stop|start|dump|trace|counters) names=(${(f)"$(_cohostctl_names services)"}) ;;
    groups|workers) names=(${(f)"$(_cohostctl_names groups)"}) ;;
    recycle) names=(${(f)"$(_cohostctl_names groups workers)"}) ;;
    logs) names=(${(f)"$(_cohostctl_names services groups workers)"}) ;;
    completion) names=(bash zsh fish) ;;
    modules)
      names=(@MODULES@)
      for word in ${words[2,CURRENT-1]}; do
        if (( ${names[(Ie)$word]} )); then _files; return; fi
      done ;;
    plan|validate|check|export|import) _files; return ;;
  esac
  compadd -a names
}
compdef _cohostctl cohostctl
)script";

constexpr const char* kFish =
    R"script(# fish completion of cohostctl: cohostctl completion fish | source
function __cohostctl_names
    for list in $argv
        cohostctl --timeout 1s $list 2>/dev/null | awk '!NF { exit } NR > 1 && $1 ~ "^[A-Za-z0-9_./-]+$" { print $1 }'
    end
end
set -l commands @COMMANDS@
complete -c cohostctl -f
complete -c cohostctl -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c cohostctl -l socket -r -F -d "admin socket of the host"
complete -c cohostctl -s o -l output -x -a "table json" -d "output format"
complete -c cohostctl -l timeout -x -d "how long the host may take"
complete -c cohostctl -n "__fish_seen_subcommand_from services stop start dump trace counters" -a "(__cohostctl_names services)"
complete -c cohostctl -n "__fish_seen_subcommand_from groups workers" -a "(__cohostctl_names groups)"
complete -c cohostctl -n "__fish_seen_subcommand_from recycle" -a "(__cohostctl_names groups workers)"
complete -c cohostctl -n "__fish_seen_subcommand_from logs" -a "(__cohostctl_names services groups workers)"
complete -c cohostctl -n "__fish_seen_subcommand_from plan validate check export import" -F
complete -c cohostctl -n "__fish_seen_subcommand_from export" -l modules -d "with the modules themselves"
complete -c cohostctl -n "__fish_seen_subcommand_from import" -s y -l yes -d "without asking"
complete -c cohostctl -n "__fish_seen_subcommand_from import" -s n -l dry-run -d "only show what would change"
complete -c cohostctl -n "__fish_seen_subcommand_from import" -l modules-to -r -F -d "folder of module files"
complete -c cohostctl -n "__fish_seen_subcommand_from modules; and not __fish_seen_subcommand_from @MODULES@" -a "@MODULES@"
complete -c cohostctl -n "__fish_seen_subcommand_from modules; and __fish_seen_subcommand_from @MODULES@" -F
complete -c cohostctl -n "__fish_seen_subcommand_from modules" -l key -r -F -d "signing key"
complete -c cohostctl -n "__fish_seen_subcommand_from dump trace counters" -l slot -x -d "which worker of the group"
complete -c cohostctl -n "__fish_seen_subcommand_from dump" -l kind -x -a "mini heap full" -d "what it holds"
complete -c cohostctl -n "__fish_seen_subcommand_from trace counters" -l duration -x -d "how long"
complete -c cohostctl -n "__fish_seen_subcommand_from counters" -l interval -x -d "between two looks"
complete -c cohostctl -n "__fish_seen_subcommand_from trace" -l provider -x -d "NAME[:KEYWORDS[:LEVEL]]"
complete -c cohostctl -n "__fish_seen_subcommand_from completion" -a "bash zsh fish"
complete -c cohostctl -n "__fish_seen_subcommand_from events logs" -s f -l follow -d "go on with new ones"
complete -c cohostctl -n "__fish_seen_subcommand_from events logs" -l last -x -d "begin with the last N"
)script";

}  // namespace

std::string CompletionScript(std::string_view shell) {
  std::string script = kBash;
  if (shell == "zsh") script = kZsh;
  if (shell == "fish") script = kFish;
  return absl::StrReplaceAll(script,
                             {{"@COMMANDS@", absl::StrJoin(CommandNames(), " ")},
                              {"@MODULES@", absl::StrJoin(SubcommandNames("modules"), " ")}});
}

}  // namespace cohost::supervisor
