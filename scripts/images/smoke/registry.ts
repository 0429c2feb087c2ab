/** A registry of npm packages on loopback, for the package managers of an image that has no way out. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen, type Listening } from '../../../proof/listen.ts';

interface Packed {
  manifest: { name: string; version: string };
  tarball: Buffer;
}

/** Holds a greeting in C, compiled when it is installed: with make alone, or by way of node-gyp. */
const source = `
#include <node_api.h>
static napi_value greet(napi_env env, napi_callback_info info) {
  napi_value text;
  napi_create_string_utf8(env, "hello", NAPI_AUTO_LENGTH, &text);
  return text;
}
NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "greet", NAPI_AUTO_LENGTH, greet, NULL, &function);
  return function;
}
`;

const makefile = `
headers := $(shell node -p "require('path').join(process.execPath, '../../include/node')")
all:
\tmkdir -p build/Release
\tcc -shared -fPIC -I$(headers) -o build/Release/greeting.node greeting.c
`;

const compiled = {
  'made-greeting': 'make',
  'gyp-greeting': 'node-gyp rebuild',
} as const;
export type CompiledPackage = keyof typeof compiled;

function writeCompiled(folder: string, name: CompiledPackage): void {
  const manifest = {
    name,
    version: '1.0.0',
    main: 'index.js',
    scripts: { install: compiled[name] },
  };
  const files = {
    'package.json': JSON.stringify(manifest),
    'index.js': "module.exports = require('./build/Release/greeting.node');",
    'greeting.c': source,
    Makefile: makefile,
    ...(name === 'gyp-greeting'
      ? { 'binding.gyp': '{"targets":[{"target_name":"greeting","sources":["greeting.c"]}]}' }
      : {}),
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
}

function pack(folder: string): Packed {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    optionalDependencies?: unknown;
  };
  // They are for other systems.
  delete manifest.optionalDependencies;
  const tarball = execFileSync('tar', ['cz', '--transform', 's,^\\.,package,', '-C', folder, '.'], {
    maxBuffer: 64 * 1_048_576,
  });
  return { manifest, tarball };
}

function packCompiled(name: CompiledPackage): Packed {
  const folder = mkdtempSync(join(tmpdir(), 'smoke-package-'));
  try {
    writeCompiled(folder, name);
    return pack(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function documentOf({ manifest, tarball }: Packed, url: string): object {
  const { name, version } = manifest;
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const shasum = createHash('sha1').update(tarball).digest('hex');
  const dist = { tarball: `${url}/-/${encodeURIComponent(name)}.tgz`, integrity, shasum };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
}

/** Serves the packages in these folders, and two that are compiled. */
export async function openRegistry(folders: readonly string[]): Promise<Listening> {
  const names = Object.keys(compiled) as CompiledPackage[];
  const packages = new Map(
    [...folders.map(pack), ...names.map(packCompiled)].map((each) => [each.manifest.name, each]),
  );
  let url = '';
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1);
    const file = /^-\/(.+)\.tgz$/.exec(path)?.[1];
    const found = packages.get(file ?? path);
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}');
    } else if (file !== undefined) {
      response.end(found.tarball);
    } else {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(documentOf(found, url)));
    }
  });
  const listening = await listen(server);
  url = listening.url;
  return listening;
}
