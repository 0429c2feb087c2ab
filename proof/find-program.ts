/** Finds the programs of this product where users have installed them. */
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export const programs = {
  agent: {
    ...{ command: 'monitor-agent', package: '@monitor/agent', folder: 'agent' },
    ...{ file: 'monitor-agent.js', option: '--agent' },
  },
  controlPlane: {
    ...{ command: 'control-plane', package: '@monitor/control-plane', folder: 'control-plane' },
    ...{ file: 'control-plane.js', option: '--control-plane' },
  },
} as const;

/** The file that starts a program: beside the package of the other one, or on the PATH; null without it. */
export function findProgram(
  { folder, file, command }: (typeof programs)[keyof typeof programs],
  besides: string,
): string | null {
  const sibling = join(besides, '..', folder, file);
  const onPath = (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((path) => (path === '' ? [] : [join(path, command)]));
  const found = [sibling, ...onPath].find((path) => existsSync(path));
  if (found === undefined) return null;
  const real = realpathSync(found);
  // Packages put a shell script of that name on the PATH.
  return existsSync(`${real}.js`) ? `${real}.js` : real;
}
