/** Playwright suites as bundles: one with the packages of the image, one for each package manager. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { World } from './world.ts';

export interface Suite {
  name: string;
  installCommand: string;
  files: Readonly<Record<string, string>>;
}

const configuration = 'module.exports = { testDir: ".", use: { video: "on" } };';
/** The packages of the image stand in for those that an installation would bring. */
const packagesOfImage = '/opt/monitor-agent/node_modules';
const linkPlaywright = [
  'mkdir -p node_modules/.bin',
  `ln -s ${packagesOfImage}/@playwright ${packagesOfImage}/playwright* node_modules/`,
  `ln -s ${packagesOfImage}/.bin/playwright node_modules/.bin/`,
].join(' && ');

export function plainSuite(test: string): Suite {
  return {
    name: 'suite',
    installCommand: `ln -s ${packagesOfImage} node_modules`,
    files: {
      'package.json': '{"name":"suite","private":true}',
      'playwright.config.js': configuration,
      'shop.spec.js': test,
    },
  };
}

/** A greeting in C, compiled when it is installed: with make alone, or by way of node-gyp. */
const compiled: Readonly<Record<string, string>> = {
  'made-greeting': 'make',
  'gyp-greeting': 'node-gyp rebuild',
};
const greeting = `
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

function compiledFiles(name: string): Record<string, string> {
  const manifest = {
    ...{ name, version: '1.0.0', main: 'index.js' },
    scripts: { install: compiled[name] },
  };
  const files = {
    'package.json': JSON.stringify(manifest),
    'index.js': "module.exports = require('./build/Release/greeting.node');",
    'greeting.c': greeting,
    ...(name === 'gyp-greeting'
      ? { 'binding.gyp': '{"targets":[{"target_name":"greeting","sources":["greeting.c"]}]}' }
      : { Makefile: makefile }),
  };
  return Object.fromEntries(
    Object.entries(files).map(([file, text]) => [`packages/${name}/${file}`, text]),
  );
}

/** As a registry would give it: of a folder, some only make a link. */
const pack = (name: string): string =>
  `tar czf ${name}.tgz --transform 's,^[.],package,' -C packages/${name} .`;

/** node-gyp comes with npm and pnpm; the others would fetch it. */
const managers: Readonly<Record<string, readonly string[]>> = {
  'npm install': ['made-greeting', 'gyp-greeting'],
  'pnpm install': ['made-greeting', 'gyp-greeting'],
  'yarn install --non-interactive': ['made-greeting'],
  'bun install': ['made-greeting'],
};

/** One suite for each package manager, with packages that are compiled when they are installed. */
export function managedSuites(test: string): Suite[] {
  return Object.entries(managers).map(([command, names]) => {
    const manager = command.split(' ')[0] ?? '';
    const tests = names.map(
      (name) => `test('${name} was compiled', () => expect(require('${name}')()).toBe('hello'));`,
    );
    return {
      name: `suite by ${manager}`,
      installCommand: [...names.map(pack), command, linkPlaywright].join(' && '),
      files: {
        'package.json': JSON.stringify({
          ...{ name: `suite-by-${manager}`, private: true },
          dependencies: Object.fromEntries(names.map((name) => [name, `file:./${name}.tgz`])),
          // Each asks in its own way whose scripts may run.
          allowScripts: Object.fromEntries(names.map((name) => [name, true])),
          pnpm: { onlyBuiltDependencies: names.map((name) => `${name}@file:${name}.tgz`) },
          trustedDependencies: names,
        }),
        'playwright.config.js': configuration,
        'shop.spec.js': `${test}\n${tests.join('\n')}\n`,
        ...Object.assign({}, ...names.map(compiledFiles)),
      },
    };
  });
}

/** Uploads a suite as a bundle, and gives its path. */
export async function uploadSuite({ files }: Suite, { baseUrl, apiKey }: World): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'smoke-suite-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, 'suite', name)), { recursive: true });
      writeFileSync(join(folder, 'suite', name), text);
    }
    const bundle = join(folder, 'suite.tgz');
    execFileSync('tar', ['czf', bundle, '-C', join(folder, 'suite'), '.']);
    const response = await fetch(`${baseUrl}/v1/code-bundles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/gzip' },
      body: readFileSync(bundle),
    });
    if (!response.ok) throw new Error(`the suite was refused: ${await response.text()}`);
    return ((await response.json()) as { codeBundlePath: string }).codeBundlePath;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
