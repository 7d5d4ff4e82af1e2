import type { Candidate, Completion } from "./list-completions.ts";

/** In each script, the commands typed so far are joined to a path such as `hermes config set`; other words are skipped. */
export function bashScript(completions: readonly Completion[]): string {
  const cases = completions.map(
    ({ path, verbs, options, values }) =>
      `    ${quote(path)}) words=${quote(wordsOf(verbs, options, values))} ;;`,
  );
  const optionCases = completions.flatMap(({ path, optionValues }) =>
    [...optionValues].map(
      ([flag, values]) => `    ${quote(`${path} ${flag}`)}) words=${quote(values.join(" "))} ;;`,
    ),
  );
  return `# Completion of hermes for bash
_hermes() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" at=hermes words= index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
      -p|--profile) ((index++)); continue ;;
      -*) continue ;;
    esac
    case "$at \${COMP_WORDS[index]}" in
      ${knownPaths(completions)}) at="$at \${COMP_WORDS[index]}" ;;
    esac
  done
  case "$at" in
${cases.join("\n")}
  esac
  case "$at $previous" in
${optionCases.join("\n")}
  esac
  # There are many options, so they are listed only after the user has typed a dash.
  [[ $current == -* ]] || words=" $words" words="\${words// -+([^ ])/}"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
shopt -s extglob
complete -o default -F _hermes hermes`;
}

export function zshScript(completions: readonly Completion[]): string {
  const cases = completions.map(({ path, verbs, options, values }) => {
    const described = [...verbs, ...values.map((word) => ({ word, meaning: "" }))].map(zshWord).join(" ");
    return `    ${quote(path)}) candidates=(${described}); flags=(${options.map(zshWord).join(" ")}) ;;`;
  });
  const optionCases = completions.flatMap(({ path, optionValues }) =>
    [...optionValues].map(
      ([flag, values]) =>
        `    ${quote(`${path} ${flag}`)}) candidates=(${values.map(quote).join(" ")}); flags=() ;;`,
    ),
  );
  return `#compdef hermes
# Completion of hermes for zsh
_hermes() {
  local at=hermes word index
  local -a candidates flags
  for ((index = 2; index < CURRENT; index++)); do
    word=\${words[index]}
    case "$word" in
      -p|--profile) ((index++)); continue ;;
      -*) continue ;;
    esac
    case "$at $word" in
      ${knownPaths(completions)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases.join("\n")}
  esac
  case "$at \${words[CURRENT-1]}" in
${optionCases.join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe -o option flags
  elif (( \${#candidates} > 0 )); then
    _describe command candidates
  else
    _files
  fi
}
compdef _hermes hermes`;
}

export function fishScript(completions: readonly Completion[]): string {
  const lines = completions.flatMap(({ path, verbs, options, values, optionValues }) => {
    const at = `complete -c hermes -n '__hermes_at "${path}"'`;
    const choices = new Map(optionValues);
    return [
      ...verbs.map(({ word, meaning }) => `${at} -f -a ${quote(word)} -d ${fishText(meaning)}`),
      ...values.map((word) => `${at} -f -a ${quote(word)}`),
      ...options.map(({ word, meaning }) => {
        const given = choices.get(word);
        const argument = given === undefined ? "" : ` -x -a ${quote(given.join(" "))}`;
        return `${at} -l ${quote(word.slice(2))} -d ${fishText(meaning)}${argument}`;
      }),
    ];
  });
  return `# Completion of hermes for fish
function __hermes_at
    set -l at hermes
    set -l tokens (commandline -opc)
    set -l skip 0
    for word in $tokens[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        if contains -- $word -p --profile
            set skip 1
            continue
        end
        contains -- "$at $word" ${completions.map(({ path }) => quote(path)).join(" ")}; and set at "$at $word"
    end
    test "$at" = "$argv[1]"
end
${lines.join("\n")}`;
}

function knownPaths(completions: readonly Completion[]): string {
  return completions.map(({ path }) => quote(path)).join("|");
}

function wordsOf(
  verbs: readonly Candidate[],
  options: readonly Candidate[],
  values: readonly string[],
): string {
  return [...verbs.map(({ word }) => word), ...values, ...options.map(({ word }) => word)].join(" ");
}

/** A word for _describe of zsh: its description follows a colon. */
function zshWord({ word, meaning }: Candidate): string {
  const name = word.replaceAll(":", "\\:");
  return quote(meaning === "" ? name : `${name}:${meaning}`);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Quotes for fish, where \\' and \\\\ are the escapes inside quotes. */
function fishText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
