/** The page about the environments, from the same data as the tests. */
import { environments } from './environments.ts';

const cell = (words: readonly string[]): string => words.join(' … ').replaceAll('|', '\\|');

const head = `# Environments in which \`monitor-agent doctor\` is tried

Each is made for real by the tests, which run the command in it. The first finding is the one to act on.
Words that the finding contains are given, not the whole sentence.

`;

/** Markdown, before it is laid out by prettier. */
export function environmentsPage(): string {
  const groups = Object.entries(environments).map(([group, list]) => {
    const rows = list.map(({ name, first, evidence, fix }) => {
      const says = first === null ? 'nothing is wrong' : `\`${first.id}\` (${first.verdict})`;
      return `| ${name} | ${says} | ${cell(evidence)} | ${cell(fix)} |`;
    });
    const top = '| environment | first finding | evidence | fix |\n| --- | --- | --- | --- |';
    return `## ${group}\n\n${top}\n${rows.join('\n')}\n`;
  });
  return head + groups.join('\n');
}
