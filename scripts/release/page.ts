/** The commands of a page: fenced `sh` blocks below a comment that says how they run. */

/** A command that goes on is started in a terminal of its own; one that waits is repeated until it succeeds. */
export type CommandKind = 'once' | 'background' | 'until';

export interface PageCommand {
  heading: string;
  kind: CommandKind;
  script: string;
}

const kinds: Readonly<Record<string, CommandKind>> = {
  run: 'once',
  'run: in the background': 'background',
  'run: until it succeeds': 'until',
};
const pattern = /^#+ (.+)$|^<!-- (run\b.*?) -->\n+```sh\n([\s\S]*?)^```$/gm;

export function commandsOf(page: string): PageCommand[] {
  let heading = '';
  return [...page.matchAll(pattern)].flatMap(([, title, marker = '', script = '']) => {
    if (title !== undefined) {
      heading = title;
      return [];
    }
    const kind = kinds[marker];
    if (kind === undefined)
      throw new Error(`"${marker}" is none of ${Object.keys(kinds).join(', ')}`);
    return [{ heading, kind, script }];
  });
}
