/**
 * Runs as the suite, after its installation: asks the suite's own Playwright where it expects its
 * browsers, and puts there what this machine has. So every version finds a browser, however it is
 * started, without a download. Says on descriptor 3 what it found.
 */
const fs = require('fs');
const path = require('path');
const { createRequire } = require('module');

const { folder, own, chromium } = JSON.parse(process.env.MONITOR_BROWSERS);

/** @playwright/test has playwright, which has playwright-core; strict installers hide the inner ones. */
function findCore(from) {
  for (const name of ['playwright-core', 'playwright', '@playwright/test']) {
    let found;
    try {
      found = from.resolve(name + '/package.json');
    } catch {
      continue;
    }
    return name === 'playwright-core' ? found : findCore(createRequire(found));
  }
  return null;
}

function registryOf(core) {
  const candidates = ['lib/coreBundle.js', 'lib/server/registry/index.js'];
  const file = candidates.map((name) => path.join(core, name)).find((name) => fs.existsSync(name));
  const { registry } = require(file);
  return registry.registry || registry;
}

const quoted = (text) => "'" + text.replace(/'/g, "'\\''") + "'";

function writeProgram(file, lines) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
}

/** Browsers that were installed for exactly this version. */
function linkOwn(executable, file) {
  const inside = path.relative(folder, file);
  const source = own.find((candidate) => fs.existsSync(path.join(candidate, inside)));
  if (source === undefined) return false;
  const [directory] = inside.split(path.sep);
  fs.mkdirSync(folder, { recursive: true });
  fs.symlinkSync(path.join(source, directory), path.join(folder, directory));
  return true;
}

function onPath(name) {
  return (process.env.PATH || '')
    .split(path.delimiter)
    .map((directory) => path.join(directory, name))
    .find((file) => fs.existsSync(file));
}

function provide(executable, file, answer) {
  if (fs.existsSync(file) || linkOwn(executable, file)) return true;
  if (/^chromium(-headless-shell)?$/.test(executable.name) && chromium !== null) {
    const exports = Object.entries(chromium.environment).map(
      ([name, value]) => 'export ' + name + '=' + quoted(value),
    );
    const words = [chromium.executablePath, ...chromium.args].map(quoted).join(' ');
    writeProgram(file, [...exports, 'exec ' + words + ' "$@"']);
    // Its libraries are those of this machine, and the agent has seen it work.
    fs.writeFileSync(path.join(executable.directory, 'DEPENDENCIES_VALIDATED'), '');
    return true;
  }
  if (executable.name === 'ffmpeg') {
    const ffmpeg = onPath('ffmpeg');
    // Recording is an extra: a suite that asks for videos must not fail for want of them.
    writeProgram(file, [ffmpeg ? 'exec ' + quoted(ffmpeg) + ' "$@"' : 'exec cat >/dev/null']);
    answer.hasVideo = ffmpeg !== undefined;
    return true;
  }
  return false;
}

const answer = { playwright: null, ready: [], hasVideo: true };
const core = findCore(createRequire(path.join(process.cwd(), 'suite.js')));
if (core !== null) {
  answer.playwright = require(core).version;
  const wanted = ['chromium', 'chromium-headless-shell', 'firefox', 'webkit', 'ffmpeg'];
  for (const executable of registryOf(path.dirname(core)).executables()) {
    if (!wanted.includes(executable.name)) continue;
    const file = executable.executablePath('javascript');
    if (file && provide(executable, file, answer)) answer.ready.push(executable.name);
  }
}
fs.writeSync(3, JSON.stringify(answer) + '\n');
