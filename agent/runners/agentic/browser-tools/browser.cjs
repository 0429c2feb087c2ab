/** One browser with one fresh context; the page that was opened last is the current one. */
'use strict';
const path = require('node:path');
const { isMetadataAddress, refusalOf, resolverRules } = require('./addresses.cjs');
const { problem } = require('./problem.cjs');

const startMs = 30_000;
const actionMs = 10_000;
const navigationMs = 30_000;
/** How long the page may stay busy after an action before we look at it anyway. */
const settleMs = 3_000;
const quietMs = 120;

/** True for the request of a page, rather than of a frame in one. */
function opensPage(request) {
  if (!request.isNavigationRequest()) return false;
  try {
    return request.frame().parentFrame() === null;
  } catch {
    // A window that is not there yet.
    return true;
  }
}

async function openBrowser(chromium, { executablePath, args, proxy }) {
  const browser = await chromium.launch({
    executablePath,
    args: [...args, `--host-resolver-rules=${resolverRules}`],
    timeout: startMs,
    ...(proxy === null ? {} : { proxy }),
  });
  const major = browser.version().split('.')[0];
  const context = await browser.newContext({
    acceptDownloads: false,
    serviceWorkers: 'block',
    viewport: { width: 1280, height: 800 },
    userAgent: `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0 Safari/537.36 monitor-agent/1.0`,
  });
  context.setDefaultTimeout(actionMs);
  context.setDefaultNavigationTimeout(navigationMs);
  // Pictures are left out of the trace: a secret on the screen cannot be removed from them.
  await context.tracing.start({ screenshots: false, snapshots: true });

  const notes = [];
  const pages = [];
  const busy = new Set();
  let crash = null;
  let forbidden = null;

  function track(page) {
    pages.push(page);
    if (pages.length > 1) notes.push('A new window was opened; it is the current one now.');
    page.on('close', () => {
      pages.splice(pages.indexOf(page), 1);
      if (pages.length > 0) notes.push('The window was closed; the one before it is current now.');
    });
    page.on('crash', () => (crash = 'PAGE_CRASHED'));
    page.on('dialog', (dialog) => {
      notes.push(`The page showed a ${dialog.type()}: "${dialog.message()}". It was accepted.`);
      dialog.accept().catch(() => undefined);
    });
    page.on('download', (download) => {
      notes.push(`The download of ${download.suggestedFilename()} was refused.`);
    });
  }
  const isAwaited = (request) =>
    ['document', 'xhr', 'fetch', 'script', 'stylesheet'].includes(request.resourceType());
  context.on('page', track);
  context.on('request', (request) => isAwaited(request) && busy.add(request));
  context.on('requestfinished', (request) => busy.delete(request));
  context.on('requestfailed', (request) => busy.delete(request));
  context.on('response', async (response) => {
    const remote = await response.serverAddr().catch(() => null);
    if (remote !== null && isMetadataAddress(remote.ipAddress)) forbidden = response.url();
  });
  await context.route(
    (url) => refusalOf(url.href) !== null && /^(https?|file|ftp):$/.test(url.protocol),
    (route) => route.abort('blockedbyclient'),
  );
  browser.on('disconnected', () => (crash = 'BROWSER_GONE'));
  await context.newPage();

  return {
    context,
    notes,
    page() {
      const page = pages.at(-1);
      if (page === undefined) throw problem('MISSING', 'there is no open page; navigate first');
      return page;
    },
    async reopen() {
      if (pages.length === 0) await context.newPage();
      return pages.at(-1);
    },
    get windows() {
      return pages.length;
    },
    deathCode: () => crash,
    takeNotes: () => notes.splice(0).join('\n'),
    /** Waits until what an action set off has come to rest, and leaves forbidden ground. */
    async settle() {
      const deadline = performance.now() + settleMs;
      // Timed by the page itself too: where the browser gets no processor for a moment, what an action
      // set off has not begun when our own time is over.
      const inPage = pages
        .at(-1)
        ?.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), quietMs)
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, quietMs));
      const longest = new Promise((resolve) => setTimeout(resolve, actionMs - quietMs).unref());
      await Promise.race([inPage, longest]);
      // A new page is waited for as long as any other; what a page loads beside itself is not.
      const isOpening = () => [...busy].some(opensPage);
      const lastMoment = deadline - settleMs + navigationMs;
      while (busy.size > 0 && performance.now() < (isOpening() ? lastMoment : deadline)) {
        await new Promise((resolve) => setTimeout(resolve, quietMs / 4));
      }
      busy.clear();
      await pages
        .at(-1)
        ?.waitForLoadState('domcontentloaded')
        .catch(() => undefined);
      if (forbidden !== null) {
        const url = forbidden;
        forbidden = null;
        await pages.at(-1)?.goto('about:blank');
        throw problem('REFUSED', `${url} was left: it leads to a cloud metadata service`);
      }
    },
    async close({ keepTrace }) {
      const trace = path.resolve('trace.zip');
      await context.tracing.stop(keepTrace ? { path: trace } : {}).catch(() => undefined);
      await browser.close().catch(() => undefined);
      return keepTrace ? { trace } : {};
    },
  };
}

module.exports = { openBrowser };
