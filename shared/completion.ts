/** What a shell offers when Tab is pressed on a command line of one of the programs. */
import { registerNamed, type NamedCommand, type Outlined } from './named-commands.ts';

/** The parts of a commander option that a shell offers. */
interface CompletedOption {
  readonly long?: string | undefined;
  readonly short?: string | undefined;
  readonly hidden: boolean;
  readonly description: string;
  /** Takes a value. */
  readonly required: boolean;
  readonly argChoices?: readonly string[] | undefined;
}

/** The parts of a commander command that a shell offers. */
export interface Completed {
  name(): string;
  description(): string;
  readonly commands: readonly Completed[];
  readonly options: readonly CompletedOption[];
  readonly registeredArguments: readonly { readonly argChoices?: readonly string[] | undefined }[];
}

const help: CompletedOption = {
  ...{ long: '--help', description: 'show help', hidden: false, required: false },
};

interface Offer {
  value: string;
  description: string;
}

/** What may stand in the place of the last word. Without any, shells offer names of files. */
function offers(program: Completed, words: readonly string[]): Offer[] {
  let command = program;
  let awaited: CompletedOption | undefined;
  for (const word of words.slice(0, -1)) {
    if (awaited !== undefined) {
      awaited = undefined;
      continue;
    }
    const option = command.options.find(({ long, short }) => word === long || word === short);
    if (option?.required === true) awaited = option;
    command = command.commands.find((each) => each.name() === word) ?? command;
  }
  const plain = (value: string): Offer => ({ value, description: '' });
  if (awaited !== undefined) return (awaited.argChoices ?? []).map(plain);
  if (words.at(-1)?.startsWith('-') === true) {
    return [...command.options, help].flatMap(({ long, hidden, description }) =>
      long === undefined || hidden ? [] : [{ value: long, description }],
    );
  }
  return [
    ...command.commands.map((each) => ({ value: each.name(), description: each.description() })),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []).map(plain),
  ];
}

/**
 * The words that may stand in the place of the last one, each with its description after a tab.
 * Only the command that is named is loaded, as for any other command line.
 */
export async function complete<Program extends Outlined & Completed>(
  program: Program,
  commands: Readonly<Record<string, NamedCommand<Program>>>,
  words: readonly string[],
): Promise<string[]> {
  await registerNamed(program, commands, words.slice(0, -1));
  const typed = words.at(-1) ?? '';
  return offers(program, words)
    .filter(({ value }) => value.startsWith(typed))
    .map(({ value, description }) => `${value}\t${description.replaceAll(/\s+/g, ' ')}`);
}

// The words are given as they were typed: none of them is evaluated by the shell.
const scripts: Readonly<Record<string, (name: string, id: string) => string>> = {
  bash: (name, id) => `_${id}() {
  local IFS=$'\\n'
  COMPREPLY=($(${name} complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _${id} ${name}`,
  zsh: (name, id) => `#compdef ${name}
_${id}() {
  local -a lines offers
  local line
  lines=("\${(@f)$(${name} complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    offers+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#offers} )); then _describe '${name}' offers; else _files; fi
}
if [[ $funcstack[1] == _${id} ]]; then _${id}; else compdef _${id} ${name}; fi`,
  fish: (name, id) => `function __${id}_complete
  set -l given (commandline -opc)
  set -l offers (${name} complete -- $given[2..-1] (commandline -ct) 2>/dev/null)
  if test (count $offers) -gt 0
    printf '%s\\n' $offers
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c ${name} -f -a '(__${id}_complete)'`,
};

const homes = (name: string): string => `
Examples, of folders in which shells look:
  ${name} completion bash \\
    > ~/.local/share/bash-completion/completions/${name}
  ${name} completion zsh > ~/.zfunc/_${name}
    with fpath+=~/.zfunc before compinit in ~/.zshrc
  ${name} completion fish > ~/.config/fish/completions/${name}.fish`;

/** The parts of commander that the command needs. */
interface Registered {
  command(name: string): Registered;
  description(text: string): Registered;
  addHelpText(position: 'after', text: string): Registered;
  action(act: () => void): Registered;
}

/** `completion bash`: prints the script that a shell reads once. */
export function registerCompletion(
  program: Registered & { name(): string },
  print: (script: string) => void,
): void {
  const name = program.name();
  const command = program
    .command('completion')
    .description('generate shell completions for bash, zsh or fish')
    .addHelpText('after', homes(name));
  for (const [shell, script] of Object.entries(scripts)) {
    command
      .command(shell)
      .description(`print the script for ${shell}`)
      .action(() => {
        print(`${script(name, name.replaceAll('-', '_'))}\n`);
      });
  }
}
