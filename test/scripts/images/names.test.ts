/** Names of images are written in many places: each is one of the table. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { parse } from 'yaml';
import { imageTargets, publishedAs } from '../../../scripts/images/targets.ts';

const { version } = JSON.parse(readFileSync('agent/package.json', 'utf8')) as { version: string };
const agents = imageTargets.filter(({ repository }) => repository === 'monitor-agent');
const names = new Set(
  imageTargets.flatMap((target) => {
    const { repository, image } = target;
    const { reference } = publishedAs(target, version);
    const ofAnyFlavour = reference.replace(/-[a-z-]+$/, '-ANY');
    return [
      image,
      image.replace('localhost/', ''),
      reference,
      repository === 'monitor-agent' ? ofAnyFlavour : reference,
    ];
  }),
);

/** The names in a text that the table does not have. */
function strangers(text: string): string[] {
  const written =
    text.match(
      /(?:localhost\/[\w-]*(?:agent|control-plane)|(?<![\w/.-])monitor-(?:agent|control-plane)):[\w.<>{}$-]*[\w>}]/g,
    ) ?? [];
  return written.filter((name) => {
    const plain = name.replace(/<version>|\$\{version\}/, version).replace(/<flavour>/, 'ANY');
    // A port, or the name of a field.
    return !/:\d+$/.test(plain) && !names.has(plain);
  });
}

test('every name of an image that is written down is in the table', () => {
  const listed = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n');
  const files = listed.filter(
    (file) =>
      /\.(md|ya?ml|tpl|txt|[jt]s|sh|json)$|Dockerfile/.test(file) &&
      !/^test\/|CHANGELOG|lock|images\/targets/.test(file),
  );
  const found = files.flatMap((file) =>
    strangers(readFileSync(file, 'utf8')).map((name) => `${file}: ${name}`),
  );
  assert.deepEqual(found, []);
});

for (const [text, found] of [
  [`image: monitor-agent:${version}-uptime`, []],
  ['`monitor-agent:<version>-<flavour>`, `monitor-control-plane:<version>`', []],
  ['-t monitor-agent:full .', []],
  ['http://monitor-agent:9464/health', []],
  [`image: monitor-agent:${version}`, [`monitor-agent:${version}`]],
  ['image: monitor-agent:6.0.0-full', ['monitor-agent:6.0.0-full']],
  [`monitor-agent:${version}-tiny`, [`monitor-agent:${version}-tiny`]],
  ['localhost/control-plane:latest', ['localhost/control-plane:latest']],
] as const) {
  test(`in "${text}" ${found.length} names are unknown`, () => {
    assert.deepEqual(strangers(text), found);
  });
}

test('the chart of agents takes flavours of the table, and its repository', () => {
  const chart = (name: string) => readFileSync(`deploy/charts/${name}`, 'utf8');
  const schema = JSON.parse(chart('monitor-agent/values.schema.json')) as {
    properties: { flavour: { enum: string[] } };
  };
  const flavours = schema.properties.flavour.enum;
  assert.deepEqual(flavours, ['uptime', 'full', 'migration']);
  assert.ok(flavours.every((flavour) => agents.some(({ name }) => name === flavour)));
  for (const { repository } of imageTargets) {
    const { image } = parse(chart(`${repository}/values.yaml`)) as {
      image: { repository: string };
    };
    assert.equal(image.repository, repository);
  }
});

test('the guide has a row for each image of agents', () => {
  const guide = readFileSync('docs/agent-docker.md', 'utf8');
  for (const { name, file } of agents) {
    const row = file === 'Dockerfile.agent' ? `| \`${name}\`` : `| \`${file}\``;
    assert.ok(guide.includes(row), row);
  }
});
