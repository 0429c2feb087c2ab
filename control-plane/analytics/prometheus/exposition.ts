/**
 * The Prometheus text format 0.0.4. This is own code because the values come from the database: a
 * client library counts events of its own process, and its summaries do not accept quantiles.
 */

import type { Family, Sample } from '../../core/metric-family.ts';

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function lineOf(name: string, { labels, value, suffix }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  const braces = pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
  return `${name}${suffix ?? ''}${braces} ${value}`;
}

/** Families that have samples, each under its help and type. */
export function exposition(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, type, help, samples }) => [
      `# HELP ${name} ${escapeHelp(help)}`,
      `# TYPE ${name} ${type}`,
      ...samples.map((sample) => lineOf(name, sample)),
    ])
    .map((line) => `${line}\n`)
    .join('');
}
