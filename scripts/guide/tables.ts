/**
 * Tables of the guide that are read from the sources: settings of both programs, and what `doctor` says.
 * `npm run guide:tables` writes them; a test fails while a page has another one.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { settingsTable as agentSettings } from '../../agent/config.ts';
import { steps } from '../../agent/doctor/steps.ts';
import { settingsTable as controlPlaneSettings } from '../../control-plane/core/config.ts';
import { source } from './contents.ts';
import { doctorMessages, type DoctorMessage } from './doctor-messages.ts';

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replaceAll('*', '\\*');
}

/** What a step can say, by its id; empty for one that only ever says that all is well. */
export function doctorTable(id: string): string {
  const rows = doctorMessages()
    .filter(({ step }) => step === id)
    // The same words may be a failure or a warning.
    .reduce<DoctorMessage[]>((all, message) => {
      const twin = all.find(
        ({ evidence, fix }) => evidence === message.evidence && fix === message.fix,
      );
      if (twin === undefined) all.push(message);
      else if (twin.verdict !== message.verdict) twin.verdict = 'fail or warn';
      return all;
    }, [])
    .map(({ verdict, evidence, fix }) => {
      const todo = fix.replaceAll('…', '').trim() === '' ? 'The line itself says it.' : cell(fix);
      return `| ${verdict} | ${cell(evidence)} | ${todo} |`;
    });
  if (rows.length === 0) return '';
  return ['| verdict | doctor says | what to do |', '| --- | --- | --- |', ...rows].join('\n');
}

/** What the tests of `doctor` make go wrong for real, where this step is the first to say so. */
function causesTable(id: string): string {
  const page = readFileSync('agent/doctor/ENVIRONMENTS.md', 'utf8');
  const row = new RegExp(`^\\| (.+?) +\\| \`${id}\` \\(\\w+\\) *\\| (.*) \\|$`, 'gm');
  const rows = [...page.matchAll(row)].map(([, cause = '', rest = '']) => `| ${cause} | ${rest} |`);
  if (rows.length === 0) return '';
  return ['| cause | words of the line | what helps |', '| --- | --- | --- |', ...rows].join('\n');
}

/** By the page and the name in its markers. */
const tables: readonly [page: string, name: string, table: () => string][] = [
  ['agent-settings.md', 'settings', agentSettings],
  ['control-plane-settings.md', 'settings', controlPlaneSettings],
  ...steps.map(({ id }): [string, string, () => string] => [
    'troubleshooting.md',
    `doctor ${id}`,
    () => `${causesTable(id)}\n\n${doctorTable(id)}`,
  ]),
];

/** The pages as they should be, by their paths. Throws where a page has no place for a table. */
export async function pagesWithTables(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  for (const [page, name, table] of tables) {
    const path = join(source, page);
    const text = pages.get(path) ?? readFileSync(path, 'utf8');
    const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
    const [before, rest] = text.split(begin);
    const after = rest?.split(end)[1];
    if (before === undefined || after === undefined) {
      throw new Error(`${path} has no place for a table between ${begin} and ${end}`);
    }
    pages.set(path, `${before}${begin}\n\n${table()}\n\n${end}${after}`);
  }
  for (const [path, text] of pages) {
    pages.set(path, await format(text, { ...(await resolveConfig(path)), parser: 'markdown' }));
  }
  return pages;
}
