/** The images themselves: built, looked at, and run as anybody. Needs buildah, debootstrap and getcap. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';

const packageOf = { buildah: 'buildah', debootstrap: 'debootstrap', getcap: 'libcap2-bin' };

function images(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['run', '--silent', 'images', '--', ...words],
    {
      encoding: 'utf8',
      maxBuffer: 64 * 1_048_576,
    },
  );
  assert.equal(
    status,
    0,
    `images ${words.join(' ')}:\n${stdout.slice(-4000)}\n${stderr.slice(-4000)}`,
  );
  return stdout;
}

test('the uptime image and that of the control plane are built and run as anybody', (t) => {
  for (const [program, name] of Object.entries(packageOf)) {
    const { error } = spawnSync(program, ['--version'], { stdio: 'ignore' });
    assert.equal(error, undefined, `${program} is missing: apt-get install ${name}`);
  }
  images('build', 'control-plane', 'uptime');
  const report = images('smoke', 'uptime');
  t.diagnostic(report);
  assert.equal(report.match(/^uptime {2}/gm)?.length, 5);
});
