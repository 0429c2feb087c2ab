/** Playwright suites as bundles: one with the packages of the image, one for each package manager. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CompiledPackage } from './registry.ts';
import type { World } from './world.ts';

export interface Suite {
  name: string;
  installCommand: string;
  files: Readonly<Record<string, string>>;
}

const configuration = 'module.exports = { testDir: ".", use: { video: "on" } };';

/** The packages of the image stand in for those that an installation would bring. */
export function plainSuite(test: string): Suite {
  return {
    name: 'suite',
    installCommand: 'ln -s /opt/monitor-agent/node_modules node_modules',
    files: {
      'package.json': '{"name":"suite","private":true}',
      'playwright.config.js': configuration,
      'shop.spec.js': test,
    },
  };
}

interface Manager {
  command: string;
  compiles: readonly CompiledPackage[];
}

/** node-gyp comes with npm and pnpm; the others would fetch it. */
const managers: Readonly<Record<string, Manager>> = {
  npm: { command: 'npm install', compiles: ['made-greeting', 'gyp-greeting'] },
  pnpm: { command: 'pnpm install', compiles: ['made-greeting', 'gyp-greeting'] },
  yarn: { command: 'yarn install --non-interactive', compiles: ['made-greeting'] },
  bun: { command: 'bun install', compiles: ['made-greeting'] },
};

/** One suite for each package manager, with packages that are compiled when they are installed. */
export function managedSuites(test: string, registry: string, playwright: string): Suite[] {
  return Object.entries(managers).map(([name, { command, compiles }]) => ({
    name: `suite by ${name}`,
    installCommand: command,
    files: {
      'package.json': JSON.stringify({
        name: `suite-by-${name}`,
        private: true,
        dependencies: {
          '@playwright/test': playwright,
          ...Object.fromEntries(compiles.map((each) => [each, '1.0.0'])),
        },
        // Each asks in its own way whose scripts may run.
        allowScripts: Object.fromEntries(compiles.map((each) => [each, true])),
        pnpm: { onlyBuiltDependencies: compiles },
        trustedDependencies: compiles,
      }),
      '.npmrc': `registry=${registry}/\n`,
      'playwright.config.js': configuration,
      'shop.spec.js': `${test}
${compiles.map((each) => `test('${each} was compiled', () => expect(require('${each}')()).toBe('hello'));`).join('\n')}
`,
    },
  }));
}

/** Uploads a suite as a bundle, and gives its path. */
export async function uploadSuite({ files }: Suite, { baseUrl, apiKey }: World): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'smoke-suite-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const bundle = join(folder, 'suite.tgz');
    execFileSync('tar', ['czf', bundle, '-C', folder, ...Object.keys(files)]);
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
