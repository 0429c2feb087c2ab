/**
 * Makes the Playwright of a runtime use the agent's browser and tell what it sees, over its public
 * objects alone, so that it works from 1.28 on.
 */
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');
const { emit, bounded } = require('./events.cjs');
const { unsearched, watchRun } = require('./pictures/watch-browsers.cjs');

/**
 * Playwright names the line of a script that made a call by the first frame that is not its own. Code
 * of ours between script and Playwright must count as its own, so it is compiled under its folder.
 */
function loadAsPlaywrights(name, coreFolder) {
  const file = path.join(__dirname, name);
  const compile = require('node:vm').compileFunction;
  const module = { exports: {} };
  const nested = (request) =>
    request.startsWith('./') && request !== './events.cjs'
      ? loadAsPlaywrights(request.slice(2), coreFolder)
      : require(request);
  compile(fs.readFileSync(file, 'utf8'), ['module', 'exports', 'require', '__dirname'], {
    filename: path.join(coreFolder, 'lib', `monitor-${name}`),
  })(module, module.exports, nested, __dirname);
  return module.exports;
}

/** The folders of all Playwright cores that scripts of a runtime can reach. */
function coresOf(runtimeFolder) {
  const found = new Set();
  const visit = (from, names) => {
    for (const name of names) {
      let manifest;
      try {
        manifest = createRequire(from).resolve(`${name}/package.json`);
      } catch {
        continue;
      }
      if (name === 'playwright-core') found.add(path.dirname(manifest));
      else
        visit(
          manifest,
          ['playwright', 'playwright-core'].filter((other) => other !== name),
        );
    }
  };
  visit(path.join(runtimeFolder, 'package.json'), [
    '@playwright/test',
    'playwright',
    'playwright-core',
  ]);
  return [...found];
}

/** A core for newer Nodes, as npm puts it beside an old test runner, would end this process. */
function runsHere(coreFolder) {
  const { engines } = require(path.join(coreFolder, 'package.json'));
  const oldest = /\d+/.exec((engines && engines.node) || '');
  return oldest === null || Number.parseInt(process.versions.node, 10) >= Number(oldest[0]);
}

/** Reports what scripts assign to variables of such names, so that it is removed from all output. */
function watchSecrets() {
  const secretName = /^(SERVICE_SECRET_|CHECKLY_SECRET_)/; // compatibility: the second one
  const report = (value) => {
    const text = String(value);
    if (text !== '' && text.length <= 131072) emit({ type: 'secret', value: text });
  };
  const environment = process.env;
  process.env = new Proxy(environment, {
    set(target, name, value) {
      if (typeof name === 'string' && secretName.test(name)) report(value);
      target[name] = value;
      return true;
    },
    defineProperty(target, name, descriptor) {
      if (typeof name === 'string' && secretName.test(name)) report(descriptor.value);
      return Reflect.defineProperty(target, name, descriptor);
    },
  });
  // compatibility: helper packages of the field add the secrets they create to this list
  const list = [];
  list.push = (...values) => {
    values.forEach(report);
    return Array.prototype.push.apply(list, values);
  };
  list.add = (value) => {
    list.push(value);
    return list;
  };
  process.checklySecrets = list;
}

function instrumentBrowser(browser, recorder, settings) {
  if (browser.__monitorWatched) return browser;
  browser.__monitorWatched = true;
  let isClosing = false;
  const close = browser.close.bind(browser);
  browser.close = async (...args) => {
    isClosing = true;
    // Each by itself: what its pages still have to say is lost otherwise.
    await Promise.all(browser.contexts().map((context) => context.close().catch(() => undefined)));
    return close(...args);
  };
  browser.on('disconnected', () => {
    if (!isClosing) emit({ type: 'browserGone' });
  });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options = {}) => {
    const context = await newContext(withDefaults(withProxy(options, settings), browser, recorder));
    await recorder.watchContext(context);
    if (settings.traceScripts) await traceContext(context);
    return context;
  };
  // Playwright's own newPage opens its context by itself, without our newContext.
  browser.newPage = async (options = {}) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const closePage = page.close.bind(page);
    page.close = async (closing) => {
      await closePage(closing);
      await context.close();
    };
    return page;
  };
  if (browser.newBrowserCDPSession) {
    const newSession = browser.newBrowserCDPSession.bind(browser);
    browser.newBrowserCDPSession = () => {
      emit({ type: 'rawProtocol' });
      return newSession();
    };
  }
  return browser;
}

/** The way out that the agent gives, unless the script has one of its own. */
function withProxy(options, settings) {
  if (!settings.proxyServer || options.proxy) return options;
  return { ...options, proxy: { server: settings.proxyServer } };
}

function withDefaults(options, browser, recorder) {
  const version = browser.version().split('.')[0];
  const agent =
    options.userAgent ||
    `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/${version}.0.0.0 Safari/537.36`;
  return {
    ...options,
    userAgent: `${agent} monitor-agent/1.0`,
    extraHTTPHeaders: { ...recorder.traceHeaders(), ...options.extraHTTPHeaders },
  };
}

/** Plain scripts have no test runner that would keep a trace and a screenshot for them. */
const tracedContexts = new Set();
async function traceContext(context) {
  tracedContexts.add(context);
  await context.tracing.start({ screenshots: true, snapshots: true }).catch(() => undefined);
  const close = context.close.bind(context);
  context.close = async (options) => {
    tracedContexts.delete(context);
    return close(options);
  };
}

/** Saves traces and screenshots of what is still open after a plain script failed. */
async function saveEvidence(folder) {
  let number = 0;
  for (const context of tracedContexts) {
    number += 1;
    const trace = `results/trace-${number}.zip`;
    for (const [index, page] of context.pages().entries()) {
      const file = `results/failed-${number}-${index + 1}.png`;
      await page
        .screenshot({ path: path.join(folder, file), timeout: 3000 })
        .then(() =>
          emit({ type: 'attachment', name: 'screenshot', path: file, contentType: 'image/png' }),
        )
        .catch(() => undefined);
    }
    await context.tracing
      .stop({ path: path.join(folder, trace) })
      .then(() =>
        emit({ type: 'attachment', name: 'trace', path: trace, contentType: 'application/zip' }),
      )
      .catch(() => undefined);
    await context.close().catch(() => undefined);
  }
}

/** What a warm browser cannot give, since it is already running. */
function needsOwnBrowser(options) {
  const known = [
    ...[
      'headless',
      'timeout',
      'slowMo',
      'executablePath',
      'channel',
      'handleSIGINT',
      'handleSIGTERM',
    ],
    ...['handleSIGHUP', 'tracesDir', 'logger', 'artifactsDir', 'downloadsPath'],
  ];
  return Object.entries(options).some(
    ([name, value]) =>
      value !== undefined &&
      !name.startsWith('_') &&
      !known.includes(name) &&
      !(Array.isArray(value) && value.length === 0),
  );
}

function instrumentChromium(chromium, recorder, settings, pictures) {
  const { launch, connect, connectOverCDP, launchPersistentContext } = chromium;
  const own = (options = {}) => ({
    ...options,
    channel: undefined,
    headless: true,
    executablePath: settings.browser.executablePath,
    args: [...settings.browser.args, ...(options.args || [])],
    env: { ...process.env, ...settings.browser.environment, ...options.env },
  });
  const failing = async (work) => {
    try {
      return await work();
    } catch (error) {
      emit({ type: 'browserUnavailable', message: bounded((error && error.message) || error) });
      throw error;
    }
  };
  const watch = (browser) => instrumentBrowser(browser, recorder, settings);
  // A remote browser cannot reach the gateway of the agent; a proxy of the script has priority.
  const watchAsItIs = (browser) =>
    instrumentBrowser(browser, recorder, { ...settings, proxyServer: null });
  chromium.launch = async (options = {}) => {
    if (!settings.browser) throw new Error('this check makes requests only: no browser is started');
    if (settings.endpoint && !needsOwnBrowser(options)) {
      return watch(
        await failing(() =>
          connect.call(chromium, settings.endpoint, { timeout: 10000, slowMo: options.slowMo }),
        ),
      );
    }
    // Options of the script can make the start fail: then it is not for us to answer for.
    const start = () => launch.call(chromium, own(options));
    const keep = options.proxy ? watchAsItIs : watch;
    return keep(await (needsOwnBrowser(options) ? start() : failing(start)));
  };
  const openRemote = async (open, args) => {
    pictures.note({ what: 'browser', reason: unsearched });
    return watchAsItIs(await open.apply(chromium, args));
  };
  chromium.connect = (...args) => openRemote(connect, args);
  chromium.connectOverCDP = (...args) => openRemote(connectOverCDP, args);
  chromium.launchPersistentContext = async (folder, options = {}) => {
    const given = own(withProxy(options, settings));
    const context = await launchPersistentContext.call(chromium, folder, given);
    return recorder.watchContext(context);
  };
}

/**
 * Instruments every Playwright of the runtime in this process. `settings` may be filled later, before
 * the script is loaded.
 */
function instrument(settings) {
  const pictures = watchRun(process.env.MONITOR_FOLDER);
  for (const coreFolder of coresOf(settings.runtimeFolder).filter(runsHere)) {
    const playwright = require(coreFolder);
    const requests = loadAsPlaywrights('requests.cjs', coreFolder);
    const pages = loadAsPlaywrights('pages.cjs', coreFolder);
    const masks = loadAsPlaywrights('pictures/masks.cjs', coreFolder);
    const watchContext = async (context) => {
      const watched = await pages.watchContext(context);
      masks.maskContext(watched, settings.masks);
      return watched;
    };
    const recorder = { watchContext, traceHeaders: requests.traceHeaders };
    instrumentChromium(playwright.chromium, recorder, settings, pictures);
    requests.watchSockets();
    const { newContext } = playwright.request;
    playwright.request.newContext = async (options = {}) => {
      const context = await newContext.call(playwright.request, withProxy(options, settings));
      return settings.recordRequests ? requests.watchRequests(context) : context;
    };
  }
}

module.exports = { instrument, watchSecrets, saveEvidence, coresOf };
