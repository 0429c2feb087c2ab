/** What can be said of an image without running it. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildah } from '../buildah.ts';
import { configOf } from '../container.ts';
import type { ImageTarget } from '../targets.ts';
import { helperPath } from '../../../agent/system/shed-rights.ts';

/** Most bytes of packages and source in the uptime image. */
export const uptimeMaxBytes = 25_000_000;

const bannedEverywhere = ['typescript', 'eslint', 'prettier', 'knip', 'autocannon', 'fast-check'];
const bannedInUptime = ['playwright', 'playwright-core', '@playwright/test', 'tsx', 'esbuild'];
const bannedInAgents = ['express', 'better-sqlite3', 'kysely'];
const wantedLabels = [
  ...['title', 'description', 'version', 'revision', 'created', 'licenses', 'base.name'],
];

export interface Look {
  /** Of `node_modules` and source. */
  ownBytes: number;
  /** What is wrong; empty when nothing is. */
  problems: string[];
}

function bytesOf(path: string): number {
  const facts = lstatSync(path);
  if (!facts.isDirectory()) return facts.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}

function found(root: string, ...expression: string[]): string[] {
  const text = execFileSync('find', [root, '-xdev', ...expression], { encoding: 'utf8' });
  return text.split('\n').flatMap((path) => (path === '' ? [] : [path.slice(root.length)]));
}

/** Agents have one helper that may open raw sockets; nothing else has a right. */
function rightsProblems(root: string, application: string): string[] {
  const setuid = found(root, '-type', 'f', '-perm', '/6000');
  const capable = execFileSync('getcap', ['-r', root], { encoding: 'utf8' }).trim();
  const expected = application === 'monitor-agent' ? `${root}${helperPath} cap_net_raw=ep` : '';
  const written = '( -type f -o -type d ) -perm -0002 ! -perm -1000';
  const writable = found(root, ...written.split(' '));
  return [
    ...setuid.map((path) => `${path} is setuid or setgid`),
    ...(capable === expected ? [] : [`files have capabilities: ${capable}`]),
    ...writable.map((path) => `${path} can be written by everybody`),
  ];
}

function packageProblems(modules: string, name: string): string[] {
  const banned = [
    ...bannedEverywhere,
    ...(name === 'uptime' ? bannedInUptime : []),
    ...(name === 'control-plane' ? [] : bannedInAgents),
  ];
  return banned
    .filter((each) => existsSync(join(modules, each)))
    .map((each) => `the package ${each} is in it`);
}

function leftovers(root: string, name: string): string[] {
  const traces = ['root/.npm', 'tmp/inside', 'var/lib/apt/lists/lock', 'opt/yarn-v1.22.22'];
  const tools = name === 'uptime' || name === 'control-plane' ? ['usr/local/bin/npm'] : [];
  return [...traces, ...tools, 'usr/bin/curl', 'usr/bin/wget', 'usr/bin/perl']
    .filter((path) => existsSync(join(root, path)))
    .map((path) => `/${path} is in it`)
    .concat(readdirSync(join(root, 'tmp')).map((path) => `/tmp/${path} was left`));
}

function billProblems(root: string, application: string): string[] {
  const file = join(root, 'usr/share', application, 'sbom.cdx.json');
  if (!existsSync(file)) return ['there is no bill of materials'];
  const { bomFormat, components } = JSON.parse(readFileSync(file, 'utf8')) as {
    bomFormat: string;
    components: { purl: string }[];
  };
  const wanted = ['pkg:generic/node@', 'pkg:deb/debian/tini@', 'pkg:npm/zod@'];
  const missing = wanted.filter((start) => !components.some(({ purl }) => purl.startsWith(start)));
  return [
    ...(bomFormat === 'CycloneDX' ? [] : ['the bill of materials is not CycloneDX']),
    ...missing.map((start) => `the bill of materials lacks ${start}…`),
  ];
}

/** Looks at the files and the settings of an image. */
export async function lookAt({ name, image }: ImageTarget): Promise<Look> {
  const config = await configOf(image);
  const working = await buildah('from', '--pull-never', image);
  try {
    const root = await buildah('mount', working);
    const application = name === 'control-plane' ? 'control-plane' : 'monitor-agent';
    const home = join(root, 'opt', application);
    const runtimes = join(home, 'runtimes');
    const ownBytes = bytesOf(home) - (existsSync(runtimes) ? bytesOf(runtimes) : 0);
    const problems = [
      ...rightsProblems(root, application),
      ...packageProblems(join(home, 'node_modules'), name),
      ...leftovers(root, name),
      ...billProblems(root, application),
      ...wantedLabels
        .filter((label) => !config.Labels[`org.opencontainers.image.${label}`])
        .map((label) => `the label ${label} is missing`),
    ];
    if (!/^[1-9]\d*:0$/.test(config.User)) problems.push(`its user is "${config.User}"`);
    if (!config.Healthcheck) problems.push('there is no health check');
    if (!config.Entrypoint[0]?.endsWith('/tini')) problems.push('process 1 is not tini');
    if (config.Env.some((entry) => /proxy|ca_certs|token/i.test(entry))) {
      problems.push('settings of the build are in its environment');
    }
    if (name === 'uptime' && ownBytes > uptimeMaxBytes) {
      problems.push(`packages and source have ${ownBytes} bytes, above ${uptimeMaxBytes}`);
    }
    return { ownBytes, problems };
  } finally {
    await buildah('umount', working);
    await buildah('rm', working);
  }
}
