import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { imageTargets } from '../../../scripts/images/targets.ts';
import { inForce, lineage, readDockerfile } from '../../support/dockerfile.ts';

const files = ['Dockerfile.agent', 'Dockerfile.control-plane', 'Dockerfile.dev'];
const dockerfiles = new Map(files.map((file) => [file, readDockerfile(file)]));
const agent = dockerfiles.get('Dockerfile.agent') ?? [];

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  devDependencies: Record<string, string>;
};

test('the agent has the targets uptime, full and migration, and each image a stage', () => {
  const stages = agent.filter(({ name }) => name === 'FROM').map(({ stage }) => stage);
  for (const target of ['uptime', 'full', 'migration']) assert.ok(stages.includes(target), target);
  for (const { file, stage } of imageTargets) {
    const instructions = dockerfiles.get(file) ?? [];
    assert.ok(instructions.some(({ name, stage: each }) => name === 'FROM' && each === stage));
  }
});

test('what is copied exists: files of the repository, or an earlier stage', () => {
  for (const [file, instructions] of dockerfiles) {
    const earlier = new Set<string>();
    let copied = 0;
    for (const { name, stage, words } of instructions) {
      if (name === 'FROM') earlier.add(stage);
      if (name !== 'COPY') continue;
      copied += 1;
      const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
      if (from !== undefined) {
        assert.ok(earlier.has(from) && from !== stage, `${file}: ${from} in ${stage}`);
        continue;
      }
      for (const source of words.slice(0, -1)) assert.ok(existsSync(source), `${file}: ${source}`);
    }
    assert.ok(copied > 0, file);
  }
});

test('builds see what they copy and nothing that is private', () => {
  const rules = readFileSync('.dockerignore', 'utf8').split('\n');
  assert.ok(rules.includes('*'), 'everything is left out at first');
  const seen = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
  for (const instructions of dockerfiles.values()) {
    for (const { name, words } of instructions) {
      if (name !== 'COPY' || words[0]?.startsWith('--from=') === true) continue;
      for (const source of words.slice(0, -1)) {
        assert.ok(
          seen.some((rule) => source === rule || source.startsWith(`${rule}/`)),
          source,
        );
      }
    }
  }
  assert.ok(rules.includes('**/node_modules'));
  for (const secret of ['.git', '.data', '.env', 'test']) assert.ok(!seen.includes(secret));
});

test('every image runs as a user that is not root, with tini as process 1, and says how it is', () => {
  for (const { file, stage, after } of imageTargets) {
    const instructions = dockerfiles.get(file) ?? [];
    assert.match(inForce(instructions, stage, 'USER')[0]?.text ?? '', /^[1-9]\d*:0$/, stage);
    // The dev image has the rest from the full one, which is another file.
    if (after !== undefined) continue;
    assert.match(
      inForce(instructions, stage, 'ENTRYPOINT')[0]?.text ?? '',
      /^\["\/usr\/bin\/tini", "--"/,
    );
    const health = inForce(instructions, stage, 'HEALTHCHECK')[0]?.text ?? '';
    assert.match(health, /CMD \["node"/);
    assert.equal(inForce(instructions, stage, 'STOPSIGNAL')[0]?.text, 'SIGTERM');
    const labels = inForce(instructions, stage, 'LABEL')
      .map(({ text }) => text)
      .join(' ');
    for (const label of ['title', 'description', 'version', 'revision', 'created', 'licenses']) {
      assert.match(labels, new RegExp(`org\\.opencontainers\\.image\\.${label}=`), stage);
    }
  }
});

test('no image installs devDependencies: one script installs packages, and omits them', () => {
  for (const instructions of dockerfiles.values()) {
    for (const { name, text } of instructions) {
      if (name === 'RUN') assert.doesNotMatch(text, /npm (ci|i|install)\b(?! --global)/);
    }
  }
  const script = readFileSync('scripts/images/inside/install-packages.sh', 'utf8');
  assert.match(script, /^npm ci --omit=dev "\$@" --workspace/m);
  assert.match(script, /^npm pkg delete devDependencies optionalDependencies$/m);
  assert.equal(script.match(/npm (ci|install)/g)?.length, 1);
});

test('the uptime image takes monitors only, and nothing of what the others need', () => {
  const stages = lineage(agent, 'uptime');
  const reached = new Set(stages);
  for (const { name, stage, words } of agent) {
    const from = words[0]?.startsWith('--from=') === true ? words[0].slice(7) : null;
    if (name === 'COPY' && reached.has(stage) && from !== null) reached.add(from);
  }
  for (const stage of ['system-full', 'packages-full', 'runtimes']) assert.ok(!reached.has(stage));
  const types = inForce(agent, 'uptime', 'ENV')[0]?.text;
  assert.equal(types, 'AGENT_CHECK_TYPES=MONITORS');
  const install = agent.find(({ name, stage }) => name === 'RUN' && stage === 'packages-uptime');
  assert.match(
    install?.text ?? '',
    /install-packages\.sh agent +--without playwright --without @playwright\/test --without tsx/,
  );
});

/** The files that one of the repository loads, itself included. */
function loadedBy(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/^import (?!type )[^;]*? from '([^']+)';/gm);
  for (const [, from = ''] of imports) {
    if (from.startsWith('.')) loadedBy(join(dirname(file), from), found);
    else if (from.startsWith('@monitor/shared/')) {
      loadedBy(from.replace('@monitor/shared', 'shared'), found);
    }
  }
  return found;
}

test('a stage that runs a program of the repository has every file that this loads', () => {
  const programs = [...dockerfiles].flatMap(([file, instructions]) =>
    instructions
      .filter(({ name }) => name === 'RUN')
      .flatMap(({ stage, text }) =>
        [...text.matchAll(/\bnode (scripts\/\S+\.ts)/g)].map(([, program = '']) => ({
          ...{ file, program, stages: lineage(instructions, stage), instructions },
        })),
      ),
  );
  assert.deepEqual(
    programs.map(({ program }) => program).filter((each) => each.includes('build/main')).length,
    2,
  );
  for (const { file, program, stages, instructions } of programs) {
    const copied = instructions
      .filter(({ name, stage, words }) => {
        return name === 'COPY' && stages.includes(stage) && !words[0]?.startsWith('--from');
      })
      .flatMap(({ words }) => words.slice(0, -1));
    const missing = [...loadedBy(program)].filter(
      (each) => !copied.some((one) => each === one || each.startsWith(`${one}/`)),
    );
    assert.deepEqual(missing, [], `${file}: ${program}`);
  }
});

test('the full image has 2026.04 and 2025.04, the migration image 2024.09 too', () => {
  const runtimes = (stage: string) =>
    agent.find((each) => each.name === 'ARG' && each.stage === stage)?.text;
  assert.equal(runtimes('runtimes'), 'RUNTIMES="2026.04 2025.04"');
  assert.equal(runtimes('runtimes-migration'), 'MIGRATION_RUNTIMES="2024.09"');
  assert.deepEqual(lineage(agent, 'migration').slice(0, 2), ['migration', 'full']);
});

test('the dev image adds compilers and package managers to the full one', () => {
  const dev = dockerfiles.get('Dockerfile.dev') ?? [];
  const runs = dev
    .filter(({ name }) => name === 'RUN')
    .map(({ text }) => text)
    .join(' ');
  for (const tool of ['gcc', 'g++', 'make', 'python3', 'git', 'pnpm@', 'yarn@', 'bun@']) {
    assert.ok(runs.includes(tool), tool);
  }
  const from = dev.find(({ name, stage }) => name === 'FROM' && stage === 'dev');
  assert.equal(from?.words[0], '${FULL_IMAGE}');
});

test('images are made by package managers, for every architecture, without traces of where', () => {
  for (const [file, instructions] of dockerfiles) {
    for (const { name, text } of instructions) {
      assert.notEqual(name, 'ADD', file);
      if (name === 'RUN') assert.doesNotMatch(text, /curl|wget|https?:\/\/|\| *(ba)?sh\b/);
      if (name === 'ENV') assert.doesNotMatch(text, /proxy|extra_ca|token|registry/i);
      assert.doesNotMatch(text, /amd64|arm64|x86_64|aarch64|linux-x64/, file);
    }
  }
});

test('images run the Node that the tests run', () => {
  for (const file of files) {
    const version = dockerfiles.get(file)?.find(({ text }) => text.startsWith('NODE_VERSION='));
    assert.equal(version?.text, `NODE_VERSION=${manifest.devDependencies['node'] ?? ''}`);
  }
});
