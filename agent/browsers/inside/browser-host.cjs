/**
 * Keeps one browser open for runs to use one after another, with the runtime's own server: the same
 * version speaks at both ends, what a run has opened is closed when its connection ends, and the run
 * needs no code for the protocol of browsers. Told what to do on descriptor 4, answers on 3.
 */
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const net = require('node:net');
const { createRequire } = require('node:module');
const { watchBrowsers } = require('./pictures/watch-browsers.cjs');

const say = (message) => fs.writeSync(3, `${JSON.stringify(message)}\n`);

const leavingMs = 3000;
const newPath = () => `/${crypto.randomBytes(24).toString('hex')}`;

/**
 * A server whose path changes: a client that knows that of an earlier run reaches nothing, and what is still
 * connected is cut off. Null when this version of Playwright does not show its server.
 */
async function launchGuarded(chromium, options) {
  const { createServer } = http;
  const servers = [];
  http.createServer = (...args) => {
    const server = createServer(...args);
    servers.push(server);
    return server;
  };
  const fixed = newPath();
  const browser = await chromium.launchServer({ ...options, wsPath: fixed });
  http.createServer = createServer;
  const endpoint = browser.wsEndpoint();
  const port = Number(new URL(endpoint).port);
  const server = servers.find((one) => one.address() && one.address().port === port);
  if (server === undefined) return { browser, endpoint, change: null };
  const handlers = server.listeners('upgrade');
  const connected = new Set();
  let current = newPath();
  server.removeAllListeners('upgrade');
  server.on('upgrade', (request, socket, head) => {
    if (request.url !== current) {
      socket.destroy();
      return;
    }
    connected.add(socket);
    socket.once('close', () => connected.delete(socket));
    request.url = fixed;
    for (const handle of handlers) handle.call(server, request, socket, head);
  });
  const change = () => {
    for (const socket of connected) socket.destroy();
    current = newPath();
    return endpoint.replace(fixed, current);
  };
  return { browser, endpoint: change(), change };
}

/** What the browser has from the start; null until it was looked at. */
let ownTargets = null;

/** Pages that a run has opened past its connection would still be there, and could look around. */
async function assertNothingIsLeft(browser) {
  const session = await browser.newBrowserCDPSession();
  const until = Date.now() + leavingMs;
  for (;;) {
    const { targetInfos } = await session.send('Target.getTargets');
    const { browserContextIds } = await session.send('Target.getBrowserContexts');
    ownTargets ??= new Set(targetInfos.map(({ targetId }) => targetId));
    const left = targetInfos.filter(({ targetId }) => !ownTargets.has(targetId));
    if (left.length === 0 && browserContextIds.length === 0) break;
    if (Date.now() > until) throw new Error('a run has left pages open in it');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await session.detach();
}

/** Traces and downloads of a run stay on the disk until the browser ends; pages can read files. */
function deleteFilesOfRuns() {
  const temporary = os.tmpdir();
  for (const folder of fs.readdirSync(temporary)) {
    if (!folder.startsWith('playwright-artifacts-')) continue;
    for (const name of fs.readdirSync(path.join(temporary, folder))) {
      fs.rmSync(path.join(temporary, folder, name), { recursive: true, force: true });
    }
  }
}

/** A page of our own: if it cannot be opened or does not answer, the browser is of no use. */
async function check(chromium, endpoint) {
  const browser = await chromium.connect(endpoint, { timeout: 5000 });
  try {
    await assertNothingIsLeft(browser);
    deleteFilesOfRuns();
    const page = await browser.newPage();
    const answer = await page.evaluate(() => 6 * 7);
    if (answer !== 42) throw new Error('a page does not compute');
  } finally {
    await browser.close();
  }
}

const nothing = { forms: [], isStrict: true };

async function main() {
  const pictures = watchBrowsers(
    () => nothing,
    (note) => say({ type: 'picture', note }),
  );
  const settings = JSON.parse(process.env.MONITOR_BROWSER);
  // By way of `playwright`, as scripts do: another package may have brought a newer core beside it.
  const { chromium } = createRequire(path.join(settings.runtimeFolder, 'package.json'))(
    'playwright',
  );
  const { browser: server, ...guarded } = await launchGuarded(chromium, {
    executablePath: settings.executablePath,
    args: settings.args,
    env: { ...process.env, ...settings.environment },
    host: '127.0.0.1',
    timeout: 30000,
  });
  let { endpoint } = guarded;
  server.on('close', () => {
    say({ type: 'closed' });
    process.exit(0);
  });
  const report = async () => {
    try {
      await check(chromium, endpoint);
      say({ type: 'ready', endpoint });
    } catch (error) {
      say({ type: 'broken', message: String((error && error.message) || error) });
    }
  };
  const input = new net.Socket({ fd: 4, readable: true, writable: false });
  readline.createInterface({ input }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.type === 'watch') {
      pictures.setWatched(message.pictures ?? nothing);
      say({ type: 'ready', endpoint });
      return;
    }
    if (guarded.change === null) {
      // Its last run would know the way in.
      void server.kill();
      return;
    }
    pictures.setWatched(nothing);
    endpoint = guarded.change();
    void report();
  });
  input.on('close', () => void server.kill().finally(() => process.exit(0)));
  await report();
}

main().catch((error) => {
  say({ type: 'broken', message: String((error && error.message) || error) });
  process.exit(1);
});
