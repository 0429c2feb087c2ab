/**
 * All environments in which `doctor` is tried. `ENVIRONMENTS.md` is the table of what doctor has to say
 * in each; the files beside this one say how each is made.
 */
import { readFileSync } from 'node:fs';
import type { Environment, Making } from './environment.ts';
import { keyEnvironments } from './key-environments.ts';
import { machineEnvironments } from './machine-environments.ts';
import { networkEnvironments } from './network-environments.ts';
import { proxyEnvironments } from './proxy-environments.ts';
import { tlsEnvironments } from './tls-environments.ts';

const made: Readonly<Record<string, Making>> = {
  ...machineEnvironments,
  ...networkEnvironments,
  ...proxyEnvironments,
  ...tlsEnvironments,
  ...keyEnvironments,
};

const words = (cell: string): string[] => (cell === '' ? [] : cell.split(' … '));

function environmentOf(row: string): Environment {
  const [name = '', said = '', evidence = '', fix = ''] = row
    .slice(2, -2)
    .split(' | ')
    .map((cell) => cell.trim());
  const [, id, verdict] = /^`(.+)` \((warn|fail)\)$/.exec(said) ?? [];
  const making = made[name];
  if (making === undefined) throw new Error(`nothing makes the environment "${name}"`);
  if (id === undefined && said !== 'nothing is wrong') throw new Error(`${name}: ${said}`);
  const first = id === undefined ? null : { id, verdict: verdict as 'warn' | 'fail' };
  return { ...making, name, first, evidence: words(evidence), fix: words(fix) };
}

const [, ...groups] = readFileSync('agent/doctor/ENVIRONMENTS.md', 'utf8').split(/^## /m);

export const environments: Readonly<Record<string, readonly Environment[]>> = Object.fromEntries(
  groups.map((group) => {
    const [title = '', ...lines] = group.split('\n');
    const [, , ...rows] = lines.filter((line) => line.startsWith('|'));
    return [title, rows.map(environmentOf)];
  }),
);

const onPage = Object.values(environments).flat();
const missing = Object.keys(made).filter((name) => onPage.every((row) => row.name !== name));
if (missing.length > 0) throw new Error(`ENVIRONMENTS.md lacks ${missing.join('; ')}`);
