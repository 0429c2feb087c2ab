/**
 * A folder that looks like a machine with Node and npm alone: the Node of this machine, npm, a shell, the
 * few programs that the page names, and the libraries that these are linked with.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const programs = ['sh', 'env', 'cat', 'sed', 'grep', 'curl', 'mkdir', 'rm', 'touch', 'sleep'];
const files = ['resolv.conf', 'hosts', 'nsswitch.conf', 'ssl/certs/ca-certificates.crt'];
/** Read when names are looked up, by a C library that has them in files of their own. */
const nameServices = ['libnss_dns.so.2', 'libnss_files.so.2'];
const devices = { null: 3, zero: 5, random: 8, urandom: 9 };

/** The program of this machine, not one that this project brings. */
export function ownProgram(name: string): string {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the program ${name} is missing on this machine`);
  return found;
}

function copyInto(root: string, path: string): void {
  const target = join(root, path);
  if (existsSync(target) || !existsSync(path)) return;
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(realpathSync(path), target);
}

/** Copies a program to `/usr/bin` of the root, with what it is linked with. */
function copyProgram(root: string, name: string): void {
  const source = realpathSync(ownProgram(name));
  copyFileSync(source, join(root, 'usr/bin', name));
  const linked = execFileSync('ldd', [source], { encoding: 'utf8' });
  for (const [, path = ''] of linked.matchAll(/(\/\S+) \(0x/g)) {
    copyInto(root, path);
    if (!/\/libc\.so/.test(path)) continue;
    for (const each of nameServices) copyInto(root, join(dirname(path), each));
  }
}

/** Settings with which npm reaches its registry from this machine; no credentials. */
export function registrySettings(root: string): Record<string, string> {
  const of = (key: string): string =>
    execFileSync('npm', ['config', 'get', key], { encoding: 'utf8' }).trim();
  const [registry, cafile] = [of('registry'), of('cafile')];
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].flatMap((name) => {
    const value = process.env[name] ?? process.env[name.toLowerCase()];
    return value === undefined ? [] : [[name, value] as const];
  });
  const settings = { npm_config_registry: registry, ...Object.fromEntries(proxies) };
  if (cafile === 'null' || cafile === '') return settings;
  copyFileSync(cafile, join(root, 'etc/ssl/authorities.pem'));
  return { ...settings, npm_config_cafile: '/etc/ssl/authorities.pem' };
}

export function makeBareRoot(root: string): void {
  const folders = ['usr/bin', 'usr/lib/node_modules', 'etc/ssl', 'dev', 'proc', 'root', 'tmp'];
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  for (const folder of ['bin', 'sbin']) symlinkSync('usr/bin', join(root, folder));
  for (const name of ['node', ...programs]) copyProgram(root, name);
  const npm = dirname(dirname(realpathSync(ownProgram('npm'))));
  cpSync(npm, join(root, 'usr/lib/node_modules/npm'), { recursive: true });
  for (const name of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/bin', name));
  }
  for (const file of files) copyInto(root, join('/etc', file));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  for (const [name, minor] of Object.entries(devices)) {
    execFileSync('mknod', ['-m', '666', join(root, 'dev', name), 'c', '1', String(minor)]);
  }
}
