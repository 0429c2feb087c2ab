import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import { release } from 'node:os';
import { version } from '../../version.ts';
import { ok } from '../finding.ts';
import type { Machine } from '../machine.ts';
import type { Check } from '../step.ts';

/** `Debian GNU/Linux 13 (trixie)`, and the flavour of our own image where it says so. */
export function systemName(machine: Machine): string | null {
  const text = machine.read('/etc/os-release') ?? machine.read('/usr/lib/os-release') ?? '';
  const field = (name: string): string | null =>
    new RegExp(`^${name}="?([^"\\n]*)"?$`, 'm').exec(text)?.[1] ?? null;
  const name = field('PRETTY_NAME');
  const variant = field('VARIANT');
  return name === null || variant === null ? name : `${name}, ${variant}`;
}

/** What one would ask first. Cannot fail. */
export function describeVersions(machine: Machine): string {
  const isContainer =
    machine.stat('/.dockerenv') !== null || machine.stat('/run/.containerenv') !== null;
  return [
    `monitor-agent ${version}`,
    `protocol ${protocolVersion}`,
    `Node ${process.versions.node}`,
    `${process.platform} ${release()} ${process.arch}`,
    ...[systemName(machine)].filter((name) => name !== null),
    ...(isContainer ? ['in a container'] : []),
    `uid ${process.getuid?.() ?? 'unknown'}`,
  ].join(', ');
}

export const checkVersions: Check = ({ machine }) => ok(describeVersions(machine));
