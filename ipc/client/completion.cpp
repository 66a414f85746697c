// lockstep completion: scripts for shells, made from the table of commands.
#include "ipc/client/commands.h"
#include "ipc/client/input.h"
#include "ipc/client/terminal.h"

namespace lockstep::ipc::client {

namespace {

// What completes the argument of an option, or an operand.
enum class Source { nothing, files, folders, words };
Source source_of(const std::string& argument) {
  if (argument == "FILE" || argument == "PATH") return Source::files;
  if (argument == "DIR") return Source::folders;
  return argument.find('|') == std::string::npos ? Source::nothing : Source::words;
}

// "bash|zsh|fish" as "bash zsh fish".
std::string words_of(std::string alternatives) {
  for (char& c : alternatives)
    if (c == '|') c = ' ';
  return alternatives;
}

// In single quotes, as these shells read them; `quote` stands for a single quote in the text.
std::string quoted(const std::string& text, const char* quote) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? quote : std::string(1, c);
  return out + "'";
}

template <class Take>
void each_option(const Command& command, Take take) {
  for (const auto options : {command.options, common_options()})
    for (const Option& option : options) take(option);
}

const char bash_begin[] =
    "_lockstep() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
    "  COMPREPLY=()\n"
    "  if [ \"$cur\" = = ]; then cur=\n"  // --option=value is three words here
    "  elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
const char bash_files[] =
    "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n";
const char bash_folders[] =
    "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;\n";
const char bash_end[] =
    "  esac\n"
    "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "}\n"
    "complete -F _lockstep lockstep\n";

// Patterns of "command previous-word current-word", then the words that are left.
std::string bash() {
  std::string names, arguments, words;
  for (const Command& command : commands()) {
    const std::string name = command.name;
    names += name + " ";
    std::string options;
    each_option(command, [&](const Option& option) {
      options += std::string(option.name) + " ";
      if (!option.argument) return;
      const Source source = source_of(option.argument);
      arguments += "    " + name + "\\ " + option.name + "\\ *) ";
      arguments += source == Source::files     ? bash_files
                   : source == Source::folders ? bash_folders
                                               : "return ;;\n";
    });
    const Source source = source_of(command.operands);
    if (source == Source::folders) arguments += "    " + name + "\\ *\\ [!-]*) " + bash_folders;
    if (source == Source::files) arguments += "    " + name + "\\ *\\ [!-]*) " + bash_files;
    if (source == Source::words) options += words_of(command.operands);
    words += "    " + name + ") words='" + options + "' ;;\n";
  }
  return bash_begin + ("    COMPREPLY=($(compgen -W '" + names + "--help --version' -- \"$cur\"))\n") +
         "    return\n  fi\n  case \"${COMP_WORDS[1]} $prev $cur\" in\n" + arguments +
         "  esac\n  case ${COMP_WORDS[1]} in\n" + words + bash_end;
}

// An explanation in brackets.
std::string zsh_explained(const std::string& name, const std::string& help) {
  std::string out = name + "[";
  for (const char c : help) out += c == '[' || c == ']' ? std::string("\\") + c : std::string(1, c);
  return out + "]";
}

std::string zsh_action(const std::string& argument) {
  switch (source_of(argument)) {
    case Source::files: return argument + ":_files";
    case Source::folders: return argument + ":_files -/";
    case Source::words: return "word:(" + words_of(argument) + ")";
    default: return argument + ": ";
  }
}

std::string zsh() {
  std::string names, cases;
  for (const Command& command : commands()) {
    const std::string name = command.name;
    names += "    " + quoted(name + ":" + command.summary, "'\\''") + "\n";
    cases += "    " + name + ")\n      _arguments";
    each_option(command, [&](const Option& option) {
      std::string text = zsh_explained(option.name + std::string(option.argument ? "=" : ""), option.help);
      if (option.argument) text += ":" + zsh_action(option.argument);
      cases += " \\\n        " + quoted(text, "'\\''");
    });
    if (source_of(command.operands) != Source::nothing)
      cases += " \\\n        " + quoted("*:" + zsh_action(command.operands), "'\\''");
    cases += "\n      ;;\n";
  }
  return "#compdef lockstep\n"
         "_lockstep() {\n"
         "  local -a names\n"
         "  names=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command names\n"
         "    return\n"
         "  fi\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $words[1] in\n" +
         cases + "  esac\n}\n_lockstep \"$@\"\n";
}

std::string fish() {
  std::string text =
      "complete -c lockstep -f\n"
      "complete -c lockstep -n __fish_use_subcommand -l help -d 'show the commands'\n"
      "complete -c lockstep -n __fish_use_subcommand -l version -d 'show the version'\n";
  for (const Command& command : commands()) {
    const std::string name = command.name;
    text += "complete -c lockstep -n __fish_use_subcommand -a " + name + " -d " +
            quoted(command.summary, "\\'") + "\n";
    const std::string seen = "complete -c lockstep -n '__fish_seen_subcommand_from " + name + "' ";
    each_option(command, [&](const Option& option) {
      text += seen + "-l " + (option.name + 2);
      if (option.argument) {
        const Source source = source_of(option.argument);
        text += source == Source::files     ? " -rF"
                : source == Source::folders ? " -xa '(__fish_complete_directories)'"
                                            : " -x";
      }
      text += " -d " + quoted(option.help, "\\'") + "\n";
    });
    const Source source = source_of(command.operands);
    if (source == Source::folders) text += seen + "-a '(__fish_complete_directories)'\n";
    if (source == Source::files) text += seen + "-F\n";
    if (source == Source::words) text += seen + "-a '" + words_of(command.operands) + "'\n";
  }
  return text;
}

}  // namespace

int completion(const Arguments& arguments) {
  const std::string shell = joined(arguments.operands());
  if (shell != "bash" && shell != "zsh" && shell != "fish")
    throw UsageError("the shell must be bash, zsh or fish");
  write_answer(shell == "bash" ? bash() : shell == "zsh" ? zsh() : fish());
  return exit_ok;
}

}  // namespace lockstep::ipc::client
