/**
 * Writes what an image is made of, as CycloneDX 1.5: Node, the packages of Debian and those of npm, as
 * they are there and not as they were asked for. The same contents give the same bytes.
 *
 *   node bill-of-materials.ts --name NAME --dpkg /var/lib/dpkg/status --npm FOLDER [--npm FOLDER …]
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packagesIn } from './strip-packages.ts';

export interface Component {
  type: 'library' | 'application';
  'bom-ref': string;
  name: string;
  version: string;
  purl: string;
  licenses?: [{ expression: string }] | [{ license: { name: string } }];
}

interface Manifest {
  name?: string;
  version?: string;
  license?: unknown;
}

function licensesOf(license: unknown): Pick<Component, 'licenses'> {
  if (typeof license !== 'string') return {};
  // What is not an SPDX expression ("SEE LICENSE IN …") may only be a name.
  const isExpression = /^[\w.+() -]+$/.test(license) && !/^(see|unlicensed)/i.test(license);
  return { licenses: isExpression ? [{ expression: license }] : [{ license: { name: license } }] };
}

function componentOf(purl: string, name: string, version: string): Component {
  return { type: 'library', 'bom-ref': purl, name, version, purl };
}

/** A package by its manifest; none where that is no package. */
export function npmComponent({ name, version, license }: Manifest): Component[] {
  if (name === undefined || version === undefined) return [];
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return [{ ...componentOf(purl, name, version), ...licensesOf(license) }];
}

function readIfThere<T>(file: string): T | null {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : null;
}

/** The npm packages below a folder, nested ones and those in bundles included. */
export function npmComponents(folder: string): Component[] {
  const roots = [folder, join(folder, 'agent'), join(folder, 'control-plane')];
  const installed = roots
    .flatMap((root) => packagesIn(join(root, 'node_modules')))
    .flatMap((path) => readIfThere<Manifest>(join(path, 'package.json')) ?? []);
  const bundled = roots.flatMap(
    (root) => readIfThere<Manifest[]>(join(root, 'bundled-packages.json')) ?? [],
  );
  return [...installed, ...bundled].flatMap(npmComponent);
}

/** The installed packages of a dpkg status file. */
export function debianComponents(status: string): Component[] {
  return status.split('\n\n').flatMap((stanza) => {
    const field = (name: string): string | undefined =>
      new RegExp(`^${name}: (.+)$`, 'm').exec(stanza)?.[1];
    const [name, version] = [field('Package'), field('Version')];
    if (name === undefined || version === undefined) return [];
    if (field('Status') !== 'install ok installed') return [];
    const arch = field('Architecture') ?? 'all';
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${arch}&distro=bookworm`;
    return [componentOf(purl, name, version)];
  });
}

/** A version 5-like UUID of some bytes. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}

/** The whole document. `epoch` is when the contents were made, in seconds. */
export function billOf(
  name: string,
  epoch: number,
  found: readonly Component[],
  type: 'container' | 'application' = 'container',
): object {
  const byPurl = new Map(found.map((component) => [component.purl, component]));
  const components = [...byPurl.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([name, components]))}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: { type, name, 'bom-ref': name },
    },
    components,
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      name: { type: 'string', default: '' },
      dpkg: { type: 'string', default: '/var/lib/dpkg/status' },
      npm: { type: 'string', multiple: true, default: [] },
    },
  });
  const node = process.versions.node;
  const components = [
    { ...componentOf(`pkg:generic/node@${node}`, 'node', node), type: 'application' as const },
    ...debianComponents(readFileSync(values.dpkg, 'utf8')),
    ...values.npm.flatMap(npmComponents),
  ];
  const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? 0);
  console.log(JSON.stringify(billOf(values.name, epoch, components), null, 1));
}
